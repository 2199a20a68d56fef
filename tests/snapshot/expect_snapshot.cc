#include "tests/snapshot/expect_snapshot.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string_view>

namespace webnnd::test {
namespace {

bool update_snapshots = false;  // --update

}  // namespace

void ExpectSnapshot(const std::string& name, const std::string& text) {
  const std::string path = WEBNND_SOURCE_DIR "/tests/snapshot/" + name + ".txt";
  if (update_snapshots) {
    std::ofstream file(path, std::ios::trunc);
    file << text;
    ASSERT_TRUE(file.flush().good()) << path << " cannot be written";
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path << " is missing; --update writes it";
  std::string expected(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, expected) << name << " has changed; --update writes the new one, for review";
}

}  // namespace webnnd::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--update") webnnd::test::update_snapshots = true;
  }
  return RUN_ALL_TESTS();
}

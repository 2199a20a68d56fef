#include "tests/examples/test_models.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace webnnd::generate {

namespace fs = std::filesystem;

fs::path TinyTalesFolder() { return fs::path(WEBNND_SOURCE_DIR) / "examples/models/tiny-tales"; }

std::optional<fs::path> SharedFolder() {
  const char* named = std::getenv("WEBNND_SHARED");
  fs::path folder = named != nullptr ? fs::path(named) : fs::path(WEBNND_SOURCE_DIR) / "../shared";
  if (!fs::is_directory(folder / "models")) return std::nullopt;
  return folder;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.is_open());
  return std::string(std::istreambuf_iterator<char>(file), {});
}

nlohmann::json ReadJson(const fs::path& path) {
  auto json = nlohmann::json::parse(ReadFile(path), nullptr, /*allow_exceptions=*/false);
  CHECK(!json.is_discarded());
  return json;
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CHECK(file.good());
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "webnnd-test-XXXXXX").string();
  CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string MakeSafetensors(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i)));
  }
  bytes += header;
  bytes += data;
  return bytes;
}

}  // namespace webnnd::generate

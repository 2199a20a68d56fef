// What a real daemon keeps of compiled kernels, and what becomes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"

namespace webnnd {
namespace {

using testing::HasSubstr;
using testing::Not;
using webnn::Connect;

constexpr char kCompiles[] = "are compiled for the cache";
constexpr char kIsReplaced[] = "is replaced";

bool Eventually(const std::function<bool()>& condition) {
  for (const double end = NowMs() + 30000; NowMs() < end; usleep(5000)) {
    if (condition()) return true;
  }
  return false;
}

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class CachedKernels : public testing::Test {
 protected:
  CachedKernels() { EXPECT_NE(mkdtemp(directory_.data()), nullptr); }
  ~CachedKernels() override { std::filesystem::remove_all(directory_); }

  std::string image() const { return directory_ + "/cache/kernels"; }

  // A daemon with the cache and a client. What it logs, once it has nothing to do any more.
  std::string Serve() {
    const std::string log = directory_ + "/log";
    {
      DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
      Count(daemon);
      // A spare that knows what was compiled has taken the other's place; or nothing was.
      EXPECT_TRUE(Eventually([&] {
        const std::string text = TextOf(log);
        return text.rfind(kIsReplaced) != std::string::npos
                   ? text.rfind(kIsReplaced) > text.rfind(kCompiles)
                   : text.find(kCompiles) == std::string::npos && IsIdle(daemon);
      })) << TextOf(log);
    }
    return TextOf(log);
  }
  static void Count(const DaemonProcess& daemon) {
    CountingClient client(Connect::ToSocket(daemon.socket()));
    client.Open();
    for (int i = 0; i < 3; ++i) {
      auto status = client.Step();
      ASSERT_TRUE(status.ok()) << status.error().ToString();
    }
  }
  // For as long as it would take to begin.
  static bool IsIdle(const DaemonProcess& daemon) {
    for (const double end = NowMs() + 700; NowMs() < end; usleep(5000)) {
      if (daemon.Workers().size() > 1) return false;
    }
    return true;
  }

  std::string directory_ = "/tmp/webnnd-cache-XXXXXX";
};

TEST_F(CachedKernels, WhatOneWorkerCompiles_LaterOnesHave) {
  EXPECT_THAT(Serve(), HasSubstr(kCompiles));
  ASSERT_TRUE(std::filesystem::exists(image()));
  const auto size = std::filesystem::file_size(image());
  EXPECT_GT(size, 1000u);
  EXPECT_FALSE(std::filesystem::exists(image() + ".new"));
  // Nothing new, in a daemon of its own.
  EXPECT_THAT(Serve(), Not(HasSubstr(kCompiles)));
  EXPECT_EQ(std::filesystem::file_size(image()), size);
}

TEST_F(CachedKernels, ImageThatIsSpoilt_IsMadeAgain) {
  Serve();
  const auto size = std::filesystem::file_size(image());
  for (const std::string& text : {std::string("no image"), TextOf(image()).substr(0, size / 2)}) {
    std::ofstream(image(), std::ios::trunc) << text;
    const std::string log = Serve();
    EXPECT_THAT(log, HasSubstr("cached kernels are compiled again"));
    EXPECT_THAT(log, HasSubstr(kCompiles));
    EXPECT_THAT(Serve(), Not(HasSubstr(kCompiles)));
  }
}

TEST_F(CachedKernels, DirectoryThatCannotBeUsed_CostsOnlyTheCache) {
  std::ofstream(directory_ + "/cache") << "a file";
  const std::string log = Serve();
  EXPECT_THAT(log, HasSubstr("kernels are not cached"));
  EXPECT_THAT(log, Not(HasSubstr(kCompiles)));
}

TEST_F(CachedKernels, AnotherDaemonAtIt_IsWaitedFor) {
  std::filesystem::create_directory(directory_ + "/cache");
  ASSERT_EQ(chmod((directory_ + "/cache").c_str(), 0700), 0);
  const int other = open((directory_ + "/cache").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const std::string log = directory_ + "/log";
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  Count(daemon);
  usleep(700'000);
  EXPECT_THAT(TextOf(log), Not(HasSubstr(kCompiles)));
  close(other);
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(image()); })) << TextOf(log);
}

// It ends with the daemon.
TEST_F(CachedKernels, DaemonThatEnds_LeavesNoCompiler) {
  const std::string log = directory_ + "/log";
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  Count(daemon);
  ASSERT_TRUE(Eventually([&] { return TextOf(log).find(kCompiles) != std::string::npos; }));
  const std::vector<pid_t> children = daemon.Workers();
  EXPECT_EQ(daemon.Stop(SIGTERM), 0);
  for (const pid_t child : children) EXPECT_NE(kill(child, 0), 0);
  EXPECT_FALSE(std::filesystem::exists(image() + ".new"));
}

}  // namespace
}  // namespace webnnd

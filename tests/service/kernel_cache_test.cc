// The broker's side of the kernel cache, but for its compiler (fault/kernel_cache has that).
#include "service/broker/kernel_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/limits.h"

namespace webnnd::service {
namespace {

class KernelCacheTest : public testing::Test {
 protected:
  ~KernelCacheTest() override { std::filesystem::remove_all(parent_); }

  static std::string MakeDirectory() {
    std::string directory = "/tmp/webnnd-kernels-XXXXXX";
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    return directory;
  }
  const std::string parent_ = MakeDirectory();
  const std::string directory_ = parent_ + "/a/webnnd";
};

TEST_F(KernelCacheTest, DirectoryThatIsMissing_IsMadeForItsOwnerAlone) {
  auto cache = KernelCache::Open(directory_);
  ASSERT_TRUE(cache.ok()) << cache.error().ToString();
  struct stat status;
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_FALSE(cache->OpenImage().valid());
}

TEST_F(KernelCacheTest, DirectoryThatOthersMayWriteTo_IsRefused) {
  for (const mode_t mode : {0770, 0702}) {
    std::filesystem::create_directories(directory_);
    ASSERT_EQ(chmod(directory_.c_str(), mode), 0);
    EXPECT_FALSE(KernelCache::Open(directory_).ok()) << mode;
  }
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  EXPECT_TRUE(KernelCache::Open(directory_).ok());
  std::filesystem::create_directory_symlink(directory_, parent_ + "/link");
  EXPECT_FALSE(KernelCache::Open(parent_ + "/link").ok());
  std::ofstream(parent_ + "/file") << "text";
  EXPECT_FALSE(KernelCache::Open(parent_ + "/file").ok());
  EXPECT_FALSE(KernelCache::Open(parent_ + "/file/webnnd").ok());
}

TEST_F(KernelCacheTest, Image_IsWhatLiesThereAndNoLink) {
  auto cache = KernelCache::Open(directory_).value();
  std::ofstream(parent_ + "/elsewhere") << "image";
  std::filesystem::create_symlink(parent_ + "/elsewhere", directory_ + "/kernels");
  EXPECT_FALSE(cache.OpenImage().valid());
  std::filesystem::remove(directory_ + "/kernels");
  std::ofstream(directory_ + "/kernels") << "image";
  EXPECT_TRUE(cache.OpenImage().valid());
}

TEST_F(KernelCacheTest, WhatIsNoFile_IsNoImage) {
  auto cache = KernelCache::Open(directory_ + "//").value();
  ASSERT_EQ(mkfifo((directory_ + "/kernels").c_str(), 0600), 0);
  EXPECT_FALSE(cache.OpenImage().valid());
  cache.DropImage();
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/kernels"));
}

// Nothing can be made where a directory is in the way: it is tried ever less often, whatever comes.
TEST_F(KernelCacheTest, CompilerThatCannotBeStarted_IsTriedEverLessOften) {
  auto cache = KernelCache::Open(directory_).value();
  std::filesystem::create_directory(directory_ + "/kernels.new");
  int64_t now_ms = 1000, pause_ms = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    cache.Add(1, {.shader = i}, now_ms);
    now_ms = cache.deadline_ms();
    ASSERT_TRUE(cache.is_due(now_ms));
    cache.StartCompiler({}, now_ms);
    EXPECT_EQ(cache.pidfd(), -1);
    const int64_t next_ms = cache.deadline_ms();
    EXPECT_GT(next_ms - now_ms, pause_ms);
    pause_ms = next_ms - now_ms;
    cache.Add(1, {.shader = 1000 + i}, now_ms);
    EXPECT_EQ(cache.deadline_ms(), next_ms);
  }
  // The lock is not kept.
  auto other = KernelCache::Open(directory_).value();
  other.Add(1, {}, 0);
  other.StartCompiler({}, 1000);
  EXPECT_GE(other.deadline_ms(), 2000) << "it waits for its turn";
}

TEST_F(KernelCacheTest, Kernels_AreGatheredUntilNoneComesOrThereAreEnough) {
  auto cache = KernelCache::Open(directory_).value();
  EXPECT_EQ(cache.deadline_ms(), INT64_MAX);
  EXPECT_FALSE(cache.is_due(INT64_MAX - 1));
  cache.Add(1, {.shader = 1}, 1000);
  const int64_t first = cache.deadline_ms();
  EXPECT_GT(first, 1000);
  EXPECT_FALSE(cache.is_due(first - 1));
  EXPECT_TRUE(cache.is_due(first));
  cache.Add(1, {.shader = 2}, 1100);
  EXPECT_EQ(cache.deadline_ms(), first + 100);
  // One that it knows.
  cache.Add(1, {.shader = 2}, 1200);
  EXPECT_EQ(cache.deadline_ms(), first + 100);
  for (uint32_t i = 2; i < limits::kKernelsPerCompilerMax; ++i) {
    EXPECT_FALSE(cache.is_due(1100));
    cache.Add(1, {.shader = 1 + i}, 1100);
  }
  EXPECT_TRUE(cache.is_due(1100));
}

// How a fetch is kept waiting, fault/kernel_cache shows with a compiler.
TEST_F(KernelCacheTest, FetchThatNothingIsCompiledFor_IsAnsweredOnce) {
  auto cache = KernelCache::Open(directory_).value();
  EXPECT_TRUE(cache.TakeAnswers().empty());
  cache.Fetch(7, 3, 1000);
  EXPECT_EQ(cache.deadline_ms(), INT64_MAX) << "there is nothing to compile";
  cache.Fetch(8, 1, 1000);
  cache.Fetch(8, 2, 1000);
  const std::vector<KernelCache::Answer> answers = cache.TakeAnswers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].worker, 7u);
  EXPECT_EQ(answers[0].sequence, 3u);
  EXPECT_EQ(answers[1].worker, 8u);
  EXPECT_EQ(answers[1].sequence, 2u);
  EXPECT_TRUE(cache.TakeAnswers().empty());
}

TEST_F(KernelCacheTest, FetchedKernels_AreNotGathered) {
  auto cache = KernelCache::Open(directory_).value();
  cache.Add(1, {.shader = 1}, 1000);
  EXPECT_FALSE(cache.is_due(1000));
  cache.Fetch(1, 1, 1000);
  EXPECT_TRUE(cache.is_due(1000));
  // Where no compiler can be started nobody waits, nor does a fetch shorten the pause.
  std::filesystem::create_directory(directory_ + "/kernels.new");
  cache.StartCompiler({}, 1000);
  ASSERT_EQ(cache.pidfd(), -1);
  EXPECT_EQ(cache.TakeAnswers().size(), 1u);
  const int64_t next_ms = cache.deadline_ms();
  EXPECT_GT(next_ms, 1000);
  cache.Add(1, {.shader = 2}, 1001);
  cache.Fetch(1, 2, 1001);
  EXPECT_EQ(cache.deadline_ms(), next_ms);
  EXPECT_EQ(cache.TakeAnswers().size(), 1u);
}

TEST_F(KernelCacheTest, FetchWhileAnotherDaemonCompiles_IsAnswered) {
  auto cache = KernelCache::Open(directory_).value();
  const int other = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  cache.Add(1, {.shader = 1}, 1000);
  cache.Fetch(1, 1, 1000);
  cache.StartCompiler({}, 1000);
  EXPECT_EQ(cache.TakeAnswers().size(), 1u);
  close(other);
}

}  // namespace
}  // namespace webnnd::service

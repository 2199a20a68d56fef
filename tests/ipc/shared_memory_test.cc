#include "ipc/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/limits.h"
#include "tests/ipc/random.h"

namespace webnnd::ipc {
namespace {

UniqueFd Memfd(uint64_t bytes, int seals, unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING) {
  UniqueFd fd(memfd_create("test", flags));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  if (seals != 0) {
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  }
  return fd;
}

UniqueFd TemporaryFile(size_t bytes) {
  std::string path = testing::TempDir() + "webnnd_XXXXXX";
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  EXPECT_TRUE(fd.valid());
  unlink(path.c_str());
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

std::pair<UniqueFd, UniqueFd> Pipe() {
  std::array<int, 2> fds{};
  EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST(SealedMemfd, Create_PassesItsOwnCheckAndCannotChangeSize) {
  UniqueFd fd = std::move(CreateSealedMemfd("arena", 8192)).value();
  EXPECT_TRUE(CheckSealedMemfd(fd.get(), 8192).ok());
  EXPECT_TRUE(CheckSealedMemfd(fd.get(), 1).ok());
  EXPECT_NE(ftruncate(fd.get(), 4096), 0);
  EXPECT_NE(ftruncate(fd.get(), 16384), 0);
  EXPECT_NE(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_NE(fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SealedMemfd, Create_RefusesAnImpossibleSize) {
  EXPECT_FALSE(CreateSealedMemfd("arena", ~0ull).ok());
}

TEST(SealedMemfd, Check_RefusesTooSmall) {
  UniqueFd fd = std::move(CreateSealedMemfd("arena", 4096)).value();
  EXPECT_FALSE(CheckSealedMemfd(fd.get(), 4097).ok());
  EXPECT_FALSE(CheckSealedMemfd(fd.get(), ~0ull).ok());
}

TEST(SealedMemfd, Check_RefusesMissingSeals) {
  EXPECT_FALSE(CheckSealedMemfd(Memfd(4096, 0).get(), 4096).ok());
  EXPECT_FALSE(CheckSealedMemfd(Memfd(4096, F_SEAL_SHRINK).get(), 4096).ok());
  EXPECT_FALSE(CheckSealedMemfd(Memfd(4096, F_SEAL_SHRINK | F_SEAL_SEAL).get(), 4096).ok());
  EXPECT_FALSE(CheckSealedMemfd(Memfd(4096, F_SEAL_SHRINK | F_SEAL_GROW).get(), 4096).ok());
  EXPECT_FALSE(CheckSealedMemfd(Memfd(4096, 0, MFD_CLOEXEC).get(), 4096).ok());
}

TEST(SealedMemfd, Check_RefusesEverythingElse) {
  EXPECT_FALSE(CheckSealedMemfd(-1, 0).ok());
  EXPECT_FALSE(CheckSealedMemfd(TemporaryFile(4096).get(), 4096).ok());
  EXPECT_FALSE(CheckSealedMemfd(Pipe().first.get(), 0).ok());
  EXPECT_FALSE(CheckSealedMemfd(UniqueFd(open("/", O_RDONLY | O_CLOEXEC)).get(), 0).ok());
  EXPECT_FALSE(
      CheckSealedMemfd(UniqueFd(open("/proc/self/status", O_RDONLY | O_CLOEXEC)).get(), 0).ok());
  EXPECT_FALSE(CheckSealedMemfd(UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC)).get(), 0).ok());
}

TEST(SealedMemfd, Check_RefusesHugePages) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!fd.valid()) GTEST_SKIP() << "the kernel has no huge pages";
  if (ftruncate(fd.get(), 2 << 20) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    GTEST_SKIP() << "the kernel does not seal huge pages";
  }
  EXPECT_FALSE(CheckSealedMemfd(fd.get(), 4096).ok());
}

TEST(FileRange, Check_AcceptsRangesOfFilesAndSealedMemfds) {
  UniqueFd file = TemporaryFile(1000);
  EXPECT_TRUE(CheckFileRange(file.get(), 0, 1000).ok());
  EXPECT_TRUE(CheckFileRange(file.get(), 999, 1).ok());
  EXPECT_TRUE(CheckFileRange(file.get(), 1000, 0).ok());
  UniqueFd memory = std::move(CreateSealedMemfd("payload", 1000)).value();
  EXPECT_TRUE(CheckFileRange(memory.get(), 10, 990).ok());
}

TEST(FileRange, Check_RefusesRangesOutsideAndOverflow) {
  UniqueFd file = TemporaryFile(1000);
  EXPECT_FALSE(CheckFileRange(file.get(), 0, 1001).ok());
  EXPECT_FALSE(CheckFileRange(file.get(), 1000, 1).ok());
  EXPECT_FALSE(CheckFileRange(file.get(), 1001, 0).ok());
  EXPECT_FALSE(CheckFileRange(file.get(), ~0ull, 2).ok());
  EXPECT_FALSE(CheckFileRange(file.get(), 2, ~0ull).ok());
}

TEST(FileRange, Check_RefusesWhatIsNotAFileToRead) {
  EXPECT_FALSE(CheckFileRange(-1, 0, 0).ok());
  EXPECT_FALSE(CheckFileRange(Pipe().first.get(), 0, 0).ok());
  EXPECT_FALSE(CheckFileRange(UniqueFd(open("/", O_RDONLY | O_CLOEXEC)).get(), 0, 0).ok());
  EXPECT_FALSE(CheckFileRange(UniqueFd(open("/dev/zero", O_RDONLY | O_CLOEXEC)).get(), 0, 0).ok());
  EXPECT_FALSE(
      CheckFileRange(UniqueFd(open("/proc/self/status", O_RDONLY | O_CLOEXEC)).get(), 0, 0).ok());
  EXPECT_FALSE(CheckFileRange(UniqueFd(socket(AF_UNIX, SOCK_STREAM, 0)).get(), 0, 0).ok());
  EXPECT_FALSE(CheckFileRange(Memfd(100, 0).get(), 0, 100).ok());
  UniqueFd file = TemporaryFile(100);
  std::string path = "/proc/self/fd/" + std::to_string(file.get());
  EXPECT_FALSE(CheckFileRange(UniqueFd(open(path.c_str(), O_WRONLY)).get(), 0, 100).ok());
  EXPECT_FALSE(CheckFileRange(UniqueFd(open(path.c_str(), O_PATH)).get(), 0, 100).ok());
}

TEST(SharedMapping, Map_SharesBytesBothWays) {
  UniqueFd fd = std::move(CreateSealedMemfd("arena", 8192)).value();
  SharedMapping ours =
      std::move(SharedMapping::Map(fd.get(), 8192, SharedMapping::Access::kReadWrite)).value();
  SharedMapping theirs =
      std::move(SharedMapping::Map(fd.get(), 8192, SharedMapping::Access::kRead)).value();
  ours.data()[5000] = std::byte{42};
  EXPECT_EQ(theirs.Range(5000, 1).value()[0], std::byte{42});
  SharedMapping moved = std::move(ours);
  EXPECT_EQ(moved.size(), 8192u);
  EXPECT_EQ(ours.data(), nullptr);  // NOLINT(bugprone-use-after-move): what is being tested
}

TEST(SharedMapping, Map_RefusesNothingAndForbiddenAccess) {
  UniqueFd fd = std::move(CreateSealedMemfd("arena", 4096)).value();
  EXPECT_FALSE(SharedMapping::Map(fd.get(), 0, SharedMapping::Access::kRead).ok());
  EXPECT_FALSE(SharedMapping::Map(-1, 4096, SharedMapping::Access::kRead).ok());
  UniqueFd sealed = Memfd(4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  EXPECT_FALSE(SharedMapping::Map(sealed.get(), 4096, SharedMapping::Access::kReadWrite).ok());
}

TEST(SharedMapping, DiscardPages_GivesThemBackAndLeavesZeros) {
  constexpr size_t kBytes = 1 << 20;
  UniqueFd fd = std::move(CreateSealedMemfd("arena", kBytes)).value();
  auto blocks = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(fd.get(), &status), 0);
    return status.st_blocks;
  };
  SharedMapping ours =
      std::move(SharedMapping::Map(fd.get(), kBytes, SharedMapping::Access::kReadWrite)).value();
  SharedMapping theirs =
      std::move(SharedMapping::Map(fd.get(), kBytes, SharedMapping::Access::kRead)).value();
  std::memset(ours.data(), 42, kBytes);
  ASSERT_GE(blocks(), static_cast<blkcnt_t>(kBytes / 512));
  EXPECT_EQ(theirs.data()[kBytes - 1], std::byte{42});
  ours.DiscardPages();
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(theirs.data()[0], std::byte{0});
  EXPECT_EQ(ours.data()[kBytes - 1], std::byte{0});
  ours.data()[5000] = std::byte{7};
  EXPECT_EQ(theirs.data()[5000], std::byte{7});
  SharedMapping().DiscardPages();
}

TEST(SharedMapping, Range_RefusesOutsideAndOverflow) {
  UniqueFd fd = std::move(CreateSealedMemfd("arena", 4096)).value();
  SharedMapping mapping =
      std::move(SharedMapping::Map(fd.get(), 4096, SharedMapping::Access::kRead)).value();
  EXPECT_EQ(mapping.Range(0, 4096)->size(), 4096u);
  EXPECT_EQ(mapping.Range(4096, 0)->size(), 0u);
  EXPECT_FALSE(mapping.Range(1, 4096).ok());
  EXPECT_FALSE(mapping.Range(4097, 0).ok());
  EXPECT_FALSE(mapping.Range(~0ull, 1).ok());
  EXPECT_FALSE(mapping.Range(1, ~0ull).ok());
  EXPECT_FALSE(SharedMapping().Range(0, 1).ok());
}

TEST(RangeAllocator, Allocate_AlignsAndIsFirstFit) {
  RangeAllocator allocator(1024);
  EXPECT_EQ(allocator.Allocate(1), 0u);
  EXPECT_EQ(allocator.Allocate(65), 64u);
  EXPECT_EQ(allocator.Allocate(0), 192u);
  EXPECT_EQ(allocator.bytes_in_use(), 256u);
  allocator.Free(64);
  EXPECT_EQ(allocator.Allocate(64), 64u);
  EXPECT_EQ(allocator.Allocate(128), 256u);
}

TEST(RangeAllocator, Allocate_RefusesWhatDoesNotFit) {
  RangeAllocator allocator(1000);  // 960 usable
  EXPECT_EQ(allocator.Allocate(961), std::nullopt);
  EXPECT_EQ(allocator.Allocate(~0ull), std::nullopt);
  EXPECT_EQ(allocator.Allocate(960), 0u);
  EXPECT_EQ(allocator.Allocate(1), std::nullopt);
  EXPECT_EQ(RangeAllocator(0).Allocate(0), std::nullopt);
}

TEST(RangeAllocatorDeathTest, Free_OfNothing_Aborts) {
  RangeAllocator allocator(1024);
  EXPECT_DEATH(allocator.Free(0), "CHECK failed");
}

// The model is a map of 64-byte blocks: a range must be free, and refused only when no run fits.
TEST(RangeAllocator, RandomOperations_AgreeWithTheModel) {
  Random random;
  constexpr uint64_t kBlocks = 256;
  RangeAllocator allocator(kBlocks * 64);
  std::vector<bool> taken(kBlocks);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // offset, blocks
  for (int i = 0; i < 20000; ++i) {
    if (ranges.empty() || random.Between(0, 99) < 52) {
      uint64_t bytes = random.Between(0, random.Between(0, 3) == 0 ? 4096 : 512);
      uint64_t blocks = std::max<uint64_t>(1, (bytes + 63) / 64);
      uint64_t run = 0;
      std::optional<uint64_t> want;
      for (uint64_t b = 0; b < kBlocks && !want; ++b) {
        run = taken[b] ? 0 : run + 1;
        if (run == blocks) want = (b + 1 - blocks) * 64;
      }
      ASSERT_EQ(allocator.Allocate(bytes), want);
      if (!want) continue;
      std::fill_n(taken.begin() + static_cast<ptrdiff_t>(*want / 64), blocks, true);
      ranges.emplace_back(*want, blocks);
    } else {
      size_t index = random.Between(0, ranges.size() - 1);
      auto [offset, blocks] = ranges[index];
      ranges.erase(ranges.begin() + static_cast<ptrdiff_t>(index));
      allocator.Free(offset);
      std::fill_n(taken.begin() + static_cast<ptrdiff_t>(offset / 64), blocks, false);
    }
    uint64_t blocks_in_use = std::count(taken.begin(), taken.end(), true);
    ASSERT_EQ(allocator.bytes_in_use(), blocks_in_use * 64);
  }
  for (auto [offset, blocks] : ranges) allocator.Free(offset);
  EXPECT_EQ(allocator.Allocate(kBlocks * 64), 0u);
}

}  // namespace
}  // namespace webnnd::ipc

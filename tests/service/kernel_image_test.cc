// What drivers keep of compiled kernels, packed to one file and unpacked again.
#include "service/worker/kernel_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/fnv1a.h"
#include "base/limits.h"
#include "tests/service/mesa_archive_files.h"

namespace webnnd::service {
namespace {

using std::filesystem::path;

class KernelImageTest : public testing::Test {
 protected:
  KernelImageTest() { std::filesystem::create_directory(from_); }
  ~KernelImageTest() override { std::filesystem::remove_all(directory_); }

  void Make(const path& name, const std::string& text) {
    std::filesystem::create_directories((from_ / name).parent_path());
    std::ofstream(from_ / name) << text;
  }
  static std::string TextOf(const path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static UniqueFd MakeFile(const std::string& bytes = "") {
    UniqueFd file(memfd_create("image", MFD_CLOEXEC));
    EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return file;
  }
  static std::string BytesOf(const UniqueFd& file) {
    struct stat status {};
    EXPECT_EQ(fstat(file.get(), &status), 0);
    std::string bytes(static_cast<size_t>(status.st_size), 0);
    EXPECT_EQ(pread(file.get(), bytes.data(), bytes.size(), 0), status.st_size);
    return bytes;
  }
  Status Pack(const KernelHashes& hashes, const UniqueFd& file) const {
    return KernelFiles::Open(from_).Pack(hashes, file.get());
  }
  // Of archives by their directories' names: of what Mesa would write, or of anything.
  UniqueFd Image(const std::map<std::string, std::vector<std::string>>& kernels,
                 const KernelHashes& hashes) const {
    std::map<std::string, ArchiveText> archives;
    for (const auto& [driver, names] : kernels) archives[driver] = MakeArchive(names);
    return ImageOf(archives, hashes);
  }
  UniqueFd ImageOf(const std::map<std::string, ArchiveText>& archives,
                   const KernelHashes& hashes) const {
    std::filesystem::remove_all(to_);
    for (const auto& [driver, archive] : archives) WriteArchive(to_ / driver, archive);
    UniqueFd image = MakeFile();
    EXPECT_TRUE(KernelFiles::Open(to_).Pack(hashes, image.get()).ok());
    return image;
  }
  static constexpr size_t kChecksumAt = 40, kHeaderBytes = 48;
  // With the checksum of what it has become.
  static std::string Mended(std::string bytes) {
    Fnv1a hash;
    hash.Add(std::as_bytes(std::span(bytes)).subspan(kHeaderBytes));
    const uint64_t checksum = hash.value();
    std::memcpy(&bytes[kChecksumAt], &checksum, sizeof checksum);
    return bytes;
  }
  // To an empty directory.
  Result<KernelHashes> Unpack(const std::string& bytes) const {
    std::filesystem::remove_all(to_);
    std::filesystem::create_directory(to_);
    return UnpackKernelImage(MakeFile(bytes).get(), to_);
  }

  static std::string MakeDirectory() {
    std::string directory = "/tmp/webnnd-image-XXXXXX";
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    return directory;
  }
  const std::string directory_ = MakeDirectory();
  const path from_ = directory_ + "/from", to_ = directory_ + "/to";
};

TEST_F(KernelImageTest, PackedAndUnpacked_AreTheFilesAndHashes) {
  const KernelHashes hashes = {1, 2, 0xffffffffffffffff};
  Make("driver/device/cache.foz", "kernels");
  Make("driver/device/cache_idx.foz", std::string("\0index", 6));
  Make("driver/device/index", "made anew");
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack(hashes, image).ok());
  auto unpacked = Unpack(BytesOf(image));
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().ToString();
  EXPECT_EQ(*unpacked, hashes);
  EXPECT_EQ(TextOf(to_ / "driver/device/cache.foz"), "kernels");
  EXPECT_EQ(TextOf(to_ / "driver/device/cache_idx.foz"), std::string("\0index", 6));
  EXPECT_FALSE(std::filesystem::exists(to_ / "driver/device/index"));
}

// Whatever order they were compiled in.
TEST_F(KernelImageTest, KernelsThatFilesLack_AreAdded) {
  for (const char* driver : {"a", "b"}) WriteArchive(from_ / driver, MakeArchive({"own", driver}));
  const KernelFiles files = KernelFiles::Open(from_);
  const UniqueFd image = Image({{"a", {"first", "a", "last"}}, {"b", {"b"}}}, {1, 2});
  // The second time there is nothing to add.
  for (int i = 0; i < 2; ++i) {
    auto extended = files.Extend(image.get());
    ASSERT_TRUE(extended.ok()) << extended.error().ToString();
    EXPECT_EQ(*extended, (KernelHashes{1, 2}));
    EXPECT_EQ(ReadArchive(from_ / "a"), MakeArchive({"own", "a", "first", "last"}));
    EXPECT_EQ(ReadArchive(from_ / "b"), MakeArchive({"own", "b"}));
  }
}

TEST_F(KernelImageTest, FilesThatAreOthers_AreNotAddedTo) {
  const ArchiveText own = MakeArchive({"own"});
  WriteArchive(from_ / "a", own);
  const KernelFiles files = KernelFiles::Open(from_);
  // Of another driver, of one too many, and of none.
  EXPECT_FALSE(files.Extend(Image({{"b", {"more"}}}, {1}).get()).ok());
  EXPECT_FALSE(files.Extend(Image({{"a", {"more"}}, {"b", {"more"}}}, {1}).get()).ok());
  EXPECT_FALSE(files.Extend(Image({}, {1}).get()).ok());
  EXPECT_FALSE(files.Extend(MakeFile("no image").get()).ok());
  // Of another format, or cut off.
  const ArchiveText more = MakeArchive({"more"});
  EXPECT_FALSE(files.Extend(ImageOf({{"a", {"more", "more"}}}, {1}).get()).ok());
  EXPECT_FALSE(files.Extend(ImageOf({{"a", {more.archive, ""}}}, {1}).get()).ok());
  EXPECT_EQ(ReadArchive(from_ / "a"), own);
  EXPECT_TRUE(files.Extend(ImageOf({{"a", more}}, {1}).get()).ok());
  // An archive without its index.
  std::filesystem::remove(from_ / "a/cache_idx.foz");
  EXPECT_FALSE(KernelFiles::Open(from_).Extend(Image({{"a", {"more"}}}, {1}).get()).ok());
}

// Where there is no room for the archive's part, and where there is none for the index's alone.
TEST_F(KernelImageTest, FilesWithoutRoom_KeepAWholeIndex) {
  const ArchiveText own = MakeArchive({"a", "b", "c", "d", "e", "f", "g", "h"});
  ASSERT_LT(own.archive.size() + 60, own.index.size() + 10);
  const UniqueFd image = Image({{"a", {"x"}}}, {1});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = signal(SIGXFSZ, SIG_IGN);
  for (const size_t bytes : {own.archive.size() + 10, own.index.size() + 10}) {
    WriteArchive(from_ / "a", own);
    const KernelFiles files = KernelFiles::Open(from_);
    const rlimit little{.rlim_cur = bytes, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    const bool extended = files.Extend(image.get()).ok();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(extended) << bytes;
    EXPECT_EQ(ReadArchive(from_ / "a").index, own.index) << bytes;
  }
  signal(SIGXFSZ, ignored);
}

TEST_F(KernelImageTest, WithoutFiles_IsEmpty) {
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack({}, image).ok());
  EXPECT_EQ(Unpack(BytesOf(image)).value(), KernelHashes());
  EXPECT_TRUE(std::filesystem::is_empty(to_));
}

TEST_F(KernelImageTest, CutOrLengthened_IsRefused) {
  Make("a/cache.foz", "kernels");
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack({1, 2}, image).ok());
  const std::string bytes = BytesOf(image);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Unpack(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(Unpack(bytes + "x").ok());
  EXPECT_TRUE(Unpack(bytes).ok());
}

// Every number of the head, made larger and smaller.
TEST_F(KernelImageTest, NumbersThatDoNotFit_AreRefused) {
  Make("a/cache.foz", "kernels");
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack({1, 2}, image).ok());
  const std::string bytes = BytesOf(image);
  // Magic, the optimizer, four numbers, two hashes, and two numbers of the file.
  for (const size_t at : {0, 8, 16, 24, 32, 40, 64, 72}) {
    for (const uint64_t change : {uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 63}) {
      std::string changed = bytes;
      uint64_t number;
      std::memcpy(&number, &changed[at], sizeof number);
      number += change;
      std::memcpy(&changed[at], &number, sizeof number);
      EXPECT_FALSE(Unpack(changed).ok()) << at << " " << change;
      // Nor by somebody who mends the checksum.
      if (at != kChecksumAt) {
        EXPECT_FALSE(Unpack(Mended(changed)).ok()) << at << " " << change;
      }
    }
  }
}

TEST_F(KernelImageTest, AnyByteChanged_IsRefused) {
  Make("a/cache.foz", "kernels");
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack({1, 2}, image).ok());
  const std::string bytes = BytesOf(image);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(Unpack(changed).ok()) << at;
  }
  EXPECT_TRUE(Unpack(Mended(bytes)).ok());
}

TEST_F(KernelImageTest, NamesThatLeadOut_AreRefused) {
  Make("abcdef/x.foz", "kernels");
  const UniqueFd image = MakeFile();
  ASSERT_TRUE(Pack({}, image).ok());
  const std::string bytes = BytesOf(image), name = "abcdef/x.foz";
  const size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  // Of the same length, so that the name alone is at fault.
  for (const std::string& other :
       {std::string("../../../a.x"), std::string("/tmp/webnnd1"), std::string("a/../../xfoz"),
        std::string("a//./x//foz/"), std::string("abc\0ef/x.foz", 12)}) {
    ASSERT_EQ(other.size(), name.size());
    std::string changed = bytes;
    changed.replace(at, name.size(), other);
    EXPECT_FALSE(Unpack(Mended(changed)).ok()) << other;
  }
  EXPECT_FALSE(std::filesystem::exists(path(directory_).parent_path() / "a.x"));
}

TEST_F(KernelImageTest, FileThatADriverWritesTo_IsNotPacked) {
  Make("a/cache.foz", "kernels");
  Make("a/cache_idx.foz", "index");
  const UniqueFd driver(open((from_ / "a/cache.foz").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(driver.get(), LOCK_EX), 0);
  const KernelFiles files = KernelFiles::Open(from_);
  const UniqueFd image = MakeFile();
  EXPECT_FALSE(files.Pack({1}, image.get()).ok());
  EXPECT_EQ(BytesOf(image), "");
  ASSERT_EQ(flock(driver.get(), LOCK_UN), 0);
  EXPECT_TRUE(files.Pack({1}, image.get()).ok());
  // It keeps no driver out.
  EXPECT_EQ(flock(driver.get(), LOCK_EX | LOCK_NB), 0);
}

TEST_F(KernelImageTest, TooLarge_IsOverTheQuota) {
  Make("a/cache.foz", std::string(limits::kKernelImageBytesMax, 'x'));
  const UniqueFd image = MakeFile();
  const Status packed = Pack({}, image);
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().cause(), Cause::kQuota);
  EXPECT_EQ(BytesOf(image), "");
}

}  // namespace
}  // namespace webnnd::service

#include "service/worker/kernel_image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "base/fnv1a.h"
#include "base/limits.h"
#include "service/worker/mesa_archive.h"

namespace webnnd::service {
namespace {

// Layout: Header, hashes, and for each file FileHeader, its name and its bytes. Native byte order:
// kernels are of one machine.
constexpr std::string_view kMagic = "webnndk5";
// The version of service/spirv and base/drivers_llvm: drivers do not know of the latter, and hashes of
// kernels of neither (cmake/webnnd.cmake).
constexpr std::string_view kOptimizer = WEBNND_KERNEL_CHANGES;
constexpr uint64_t kHashesMax = 1 << 16;
constexpr uint64_t kFilesMax = 64;
constexpr uint64_t kNameBytesMax = 512;
// Mesa's files are archives, and an index of what they hold beside them. It makes other files anew.
constexpr std::string_view kSuffix = ".foz";

struct Header {
  char magic[8];
  char optimizer[8];
  uint64_t hashes;
  uint64_t files;
  uint64_t bytes;     // Of the whole image.
  uint64_t checksum;  // Fnv1a of what follows.
};
static_assert(kMagic.size() == sizeof Header::magic &&
              kOptimizer.size() == sizeof Header::optimizer);
struct FileHeader {
  uint64_t name_bytes;
  uint64_t bytes;
};

Error BadImage(std::string_view what) {
  return ValidationError("it is no image of kernels ({})", what);
}

Result<std::vector<std::byte>> ReadWhole(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return ErrnoError("fstat");
  if (status.st_size < 0 || static_cast<uint64_t>(status.st_size) > limits::kKernelImageBytesMax) {
    return BadImage("size");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = pread(file, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("reading an image of kernels");
    if (got == 0) return BadImage("it ends early");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

Status WriteWhole(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = write(file, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return ErrnoError("writing an image of kernels");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return {};
}

// Takes bytes off the front of an image.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::span<const std::byte>> Take(uint64_t count) {
    if (count > bytes_.size()) return BadImage("it ends early");
    const std::span<const std::byte> taken = bytes_.first(static_cast<size_t>(count));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  template <typename T>
  Result<T> Take() {
    ASSIGN_OR_RETURN(std::span<const std::byte> bytes, Take(sizeof(T)));
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

uint64_t ChecksumOf(std::span<const std::byte> image) {
  Fnv1a hash;
  hash.Add(image.subspan(sizeof(Header)));
  return hash.value();
}

// "a/b/c.foz", and nothing that leads out of the directory.
bool IsName(const std::filesystem::path& name) {
  if (name.empty() || !name.is_relative() || name.string().find('\0') != std::string::npos)
    return false;
  return std::none_of(name.begin(), name.end(), [](const std::filesystem::path& part) {
    return part.empty() || part == "." || part == "..";
  });
}

// An image, read.
struct ImageContents {
  struct File {
    std::string name;
    std::span<const std::byte> bytes;
  };
  std::vector<std::byte> whole;
  KernelHashes hashes;
  std::vector<File> files;
};

Result<ImageContents::File> TakeFile(Cursor& cursor) {
  ASSIGN_OR_RETURN(const auto header, cursor.Take<FileHeader>());
  if (header.name_bytes > kNameBytesMax) return BadImage("name");
  ASSIGN_OR_RETURN(std::span<const std::byte> text, cursor.Take(header.name_bytes));
  ASSIGN_OR_RETURN(std::span<const std::byte> bytes, cursor.Take(header.bytes));
  std::string name(reinterpret_cast<const char*>(text.data()), text.size());
  if (!IsName(name)) return BadImage("name");
  return ImageContents::File{std::move(name), bytes};
}

Result<ImageContents> ReadImage(int file) {
  ImageContents image;
  ASSIGN_OR_RETURN(image.whole, ReadWhole(file));
  Cursor cursor(image.whole);
  ASSIGN_OR_RETURN(const auto header, cursor.Take<Header>());
  if (std::string_view(header.magic, kMagic.size()) != kMagic) return BadImage("magic");
  if (std::string_view(header.optimizer, kOptimizer.size()) != kOptimizer) {
    return ValidationError("the kernels of the image are optimized in another way");
  }
  if (header.bytes != image.whole.size()) return BadImage("it is not whole");
  if (header.checksum != ChecksumOf(image.whole)) return BadImage("checksum");
  if (header.hashes > kHashesMax || header.files > kFilesMax) return BadImage("counts");
  for (uint64_t i = 0; i < header.hashes; ++i) {
    ASSIGN_OR_RETURN(const auto hash, cursor.Take<uint64_t>());
    image.hashes.insert(hash);
  }
  for (uint64_t i = 0; i < header.files; ++i) {
    ASSIGN_OR_RETURN(image.files.emplace_back(), TakeFile(cursor));
  }
  if (!cursor.at_end()) return BadImage("it goes on");
  return image;
}

Status UnpackFile(const ImageContents::File& file, const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory) / file.name;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  UniqueFd made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made.valid()) return ErrnoError(fmt::format("making {}", path.string()));
  return WriteWhole(made.get(), file.bytes);
}

// Mesa holds the lock of an archive while it writes there and to the index.
class SharedLock {
 public:
  explicit SharedLock(int file) : file_(file), held_(flock(file, LOCK_SH | LOCK_NB) == 0) {}
  ~SharedLock() {
    if (held_) flock(file_, LOCK_UN);
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  bool held() const { return held_; }

 private:
  int file_;
  bool held_;
};

Result<uint64_t> SizeOf(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return ErrnoError("fstat");
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

Result<KernelHashes> UnpackKernelImage(int file, const std::string& directory) {
  ASSIGN_OR_RETURN(ImageContents image, ReadImage(file));
  for (const ImageContents::File& one : image.files) TRY(UnpackFile(one, directory));
  return std::move(image.hashes);
}

std::vector<std::string> KernelFiles::Names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != kSuffix || !it->is_regular_file(error)) continue;
    names.push_back(it->path().string().substr(directory.size() + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

KernelFiles KernelFiles::Open(const std::string& directory) {
  KernelFiles opened;
  for (std::string& name : Names(directory)) {
    UniqueFd file(open(fmt::format("{}/{}", directory, name).c_str(),
                       O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    if (file.valid()) opened.files_.push_back({std::move(name), std::move(file)});
  }
  return opened;
}

Result<KernelHashes> KernelFiles::Extend(int file) const {
  ASSIGN_OR_RETURN(ImageContents image, ReadImage(file));
  const bool are_alike = std::equal(
      files_.begin(), files_.end(), image.files.begin(), image.files.end(),
      [](const File& ours, const ImageContents::File& theirs) { return ours.name == theirs.name; });
  INVALID_IF(!are_alike || files_.size() % 2 != 0, "the image has other files than there are");
  struct Addition {
    int archive;
    int index;
    uint64_t index_bytes;
    MesaArchiveAdditions bytes;
  };
  std::vector<Addition> additions;
  // By name an archive comes right before its index.
  for (size_t i = 0; i < files_.size(); i += 2) {
    const int archive = files_[i].descriptor.get();
    const int index = files_[i + 1].descriptor.get();
    ASSIGN_OR_RETURN(const uint64_t archive_bytes, SizeOf(archive));
    ASSIGN_OR_RETURN(const std::vector<std::byte> entries, ReadWhole(index));
    ASSIGN_OR_RETURN(
        MesaArchiveAdditions found,
        FindAdditions(archive_bytes, entries, {image.files[i].bytes, image.files[i + 1].bytes}));
    additions.push_back({archive, index, entries.size(), std::move(found)});
  }
  for (const Addition& addition : additions) {
    TRY(WriteWhole(addition.archive, addition.bytes.archive));
    Status written = WriteWhole(addition.index, addition.bytes.index);
    if (written.ok()) continue;
    // Mesa would read no further than to an entry that is not whole.
    (void)!ftruncate(addition.index, static_cast<off_t>(addition.index_bytes));
    return std::move(written).error();
  }
  return std::move(image.hashes);
}

Status KernelFiles::Pack(const KernelHashes& hashes, int file) const {
  if (files_.size() > kFilesMax) {
    return QuotaError("drivers keep too many files ({})", files_.size());
  }
  if (hashes.size() > kHashesMax)
    return QuotaError("there are too many kernels ({})", hashes.size());
  Header header{.magic = {},
                .optimizer = {},
                .hashes = hashes.size(),
                .files = files_.size(),
                .bytes = sizeof header + hashes.size() * sizeof(uint64_t)};
  kMagic.copy(header.magic, kMagic.size());
  kOptimizer.copy(header.optimizer, kOptimizer.size());
  std::deque<SharedLock> locks;
  for (const File& one : files_) {
    if (!locks.emplace_back(one.descriptor.get()).held()) {
      return ErrnoError(fmt::format("locking {}, to which no driver may write any more", one.name));
    }
  }
  std::vector<std::vector<std::byte>> contents;
  for (const File& one : files_) {
    ASSIGN_OR_RETURN(const uint64_t size, SizeOf(one.descriptor.get()));
    header.bytes += sizeof(FileHeader) + one.name.size() + size;
    if (header.bytes > limits::kKernelImageBytesMax) {
      return QuotaError("the image of kernels is too large ({} bytes)", header.bytes);
    }
    ASSIGN_OR_RETURN(contents.emplace_back(), ReadWhole(one.descriptor.get()));
    // A driver that writes meanwhile would have spoilt the sum.
    if (contents.back().size() != size) return InternalError("a file grows ({})", one.name);
  }
  std::vector<std::byte> image;
  image.reserve(header.bytes);
  const auto append = [&image](const void* data, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    image.insert(image.end(), bytes, bytes + size);
  };
  append(&header, sizeof header);
  for (const uint64_t hash : hashes) append(&hash, sizeof hash);
  for (size_t i = 0; i < files_.size(); ++i) {
    const FileHeader file_header{files_[i].name.size(), contents[i].size()};
    append(&file_header, sizeof file_header);
    append(files_[i].name.data(), files_[i].name.size());
    append(contents[i].data(), contents[i].size());
  }
  header.checksum = ChecksumOf(image);
  std::memcpy(image.data(), &header, sizeof header);
  return WriteWhole(file, image);
}

}  // namespace webnnd::service

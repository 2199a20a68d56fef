#include "ipc/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/fault.h"

namespace webnnd::ipc {
namespace {

using fault::Kind;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// A cache line, and the strictest alignment of an element or a copy.
constexpr uint64_t kRangeAlignment = 64;

}  // namespace

Result<UniqueFd> CreateSealedMemfd(const char* name, uint64_t bytes) {
  auto length = CheckedCast<off_t>(bytes);
  INVALID_IF(!length, "the shared memory ({} bytes) is larger than a file can be", bytes);
  UniqueFd fd(SYS_CALL(Kind::kMemory, memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!fd.valid()) return ErrnoError("memfd_create");
  if (SYS_CALL(Kind::kMemory, ftruncate(fd.get(), *length)) != 0) return ErrnoError("ftruncate");
  if (SYS_CALL(Kind::kMemory, fcntl(fd.get(), F_ADD_SEALS, kSeals)) != 0) {
    return ErrnoError("fcntl(F_ADD_SEALS)");
  }
  return fd;
}

Result<void, BadMessage> CheckSealedMemfd(int fd, uint64_t bytes) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    return MakeBadMessage("descriptor ({}) is not a memfd", fd);
  }
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return MakeBadMessage("descriptor ({}) is not a memfd", fd);
  if ((seals & kSeals) != kSeals) {
    return MakeBadMessage("the seals ({:#x}) of a memfd are not shrink, grow and seal", seals);
  }
  // Memory of huge pages can be sealed too, and faults when the machine has none left.
  struct statfs system {};
  if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return MakeBadMessage("descriptor ({}) is not a memfd of ordinary pages", fd);
  }
  if (status.st_size < 0 || static_cast<uint64_t>(status.st_size) < bytes) {
    return MakeBadMessage("a memfd ({} bytes) is smaller than announced ({})", status.st_size,
                          bytes);
  }
  return {};
}

Result<void, BadMessage> CheckFileRange(int fd, uint64_t offset, uint64_t length) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    return MakeBadMessage("descriptor ({}) is not a regular file", fd);
  }
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) {
    return MakeBadMessage("descriptor ({}) is not open for reading", fd);
  }
  struct statfs system {};
  if (fstatfs(fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC ||
      system.f_type == SYSFS_MAGIC) {
    return MakeBadMessage("descriptor ({}) is a file of the kernel", fd);
  }
  // Files on tmpfs, and memfds made without sealing, answer with the last seal alone.
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && seals != F_SEAL_SEAL && (seals & kSeals) != kSeals) {
    return MakeBadMessage("the seals ({:#x}) of a memfd are not shrink, grow and seal", seals);
  }
  auto end = CheckedAdd(offset, length);
  if (!end || status.st_size < 0 || *end > static_cast<uint64_t>(status.st_size)) {
    return MakeBadMessage("a range (offset {}, length {}) is outside its file ({} bytes)", offset,
                          length, status.st_size);
  }
  return {};
}

Result<SharedMapping> SharedMapping::Map(int fd, uint64_t bytes, Access access) {
  auto length = CheckedCast<size_t>(bytes);
  INVALID_IF(!length || bytes == 0, "a mapping of ({}) bytes is not possible", bytes);
  int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = SYS_CALL(Kind::kMemory, mmap(nullptr, *length, protection, MAP_SHARED, fd, 0));
  if (data == MAP_FAILED) return ErrnoError("mmap");
  SharedMapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = bytes;
  return mapping;
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) CHECK(munmap(data_, size_) == 0);
}

void SharedMapping::DiscardPages() {
  if (data_ != nullptr) madvise(data_, size_, MADV_REMOVE);
}

Result<std::span<std::byte>, BadMessage> SharedMapping::Range(uint64_t offset,
                                                              uint64_t length) const {
  auto end = CheckedAdd(offset, length);
  if (!end || *end > size_) {
    return MakeBadMessage("a range (offset {}, length {}) is outside its arena ({} bytes)", offset,
                          length, size_);
  }
  return std::span(data_ + offset, length);
}

RangeAllocator::RangeAllocator(uint64_t bytes) {
  uint64_t usable = bytes & ~(kRangeAlignment - 1);
  if (usable > 0) free_.emplace(0, usable);
}

std::optional<uint64_t> RangeAllocator::Allocate(uint64_t bytes) {
  // An empty range takes room too, so that offsets name ranges uniquely.
  auto length = CheckedAlignUp<uint64_t>(std::max<uint64_t>(bytes, 1), kRangeAlignment);
  if (!length) return std::nullopt;
  auto range = std::find_if(free_.begin(), free_.end(),
                            [&](const auto& entry) { return entry.second >= *length; });
  if (range == free_.end()) return std::nullopt;
  auto [offset, room] = *range;
  free_.erase(range);
  if (room > *length) free_.emplace(offset + *length, room - *length);
  used_.emplace(offset, *length);
  bytes_in_use_ += *length;
  return offset;
}

void RangeAllocator::Free(uint64_t offset) {
  auto range = used_.find(offset);
  CHECK(range != used_.end());
  uint64_t length = range->second;
  used_.erase(range);
  bytes_in_use_ -= length;

  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + length) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += length;
      return;
    }
  }
  free_.emplace(offset, length);
}

}  // namespace webnnd::ipc

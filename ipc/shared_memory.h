// Shared memory: sealed memfds, the arenas made of them, and the allocator of an arena's ranges.
#ifndef WEBNND_IPC_SHARED_MEMORY_H_
#define WEBNND_IPC_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::ipc {

// A memfd of `bytes` bytes, sealed against shrinking, growing and further sealing.
Result<UniqueFd> CreateSealedMemfd(const char* name, uint64_t bytes);

// BadMessage unless `fd` is a memfd with exactly those seals at least, of at least `bytes` bytes.
Result<void, BadMessage> CheckSealedMemfd(int fd, uint64_t bytes);
// BadMessage unless `fd` is a regular file, or a sealed memfd, that holds [offset, offset +
// length).
Result<void, BadMessage> CheckFileRange(int fd, uint64_t offset, uint64_t length);

// A mapping of a sealed memfd. The other side may write to it at any time: copy, then look.
class SharedMapping {
 public:
  enum class Access : uint8_t { kRead, kReadWrite };
  static Result<SharedMapping> Map(int fd, uint64_t bytes, Access access);
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  // Gives its pages back, which read as zero from then on, on both sides. For the side that writes.
  // Where the system does not do that they stay.
  void DiscardPages();

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  // Bytes [offset, offset + length), or BadMessage when that is not inside.
  Result<std::span<std::byte>, BadMessage> Range(uint64_t offset, uint64_t length) const;

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// First-fit allocator of byte ranges, 64-byte aligned. Not thread-safe.
class RangeAllocator {
 public:
  explicit RangeAllocator(uint64_t bytes);
  // The offset of a free range, or nullopt when none is large enough now.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  void Free(uint64_t offset);
  uint64_t bytes_in_use() const { return bytes_in_use_; }

 private:
  std::map<uint64_t, uint64_t> free_;  // offset -> length, coalesced
  std::map<uint64_t, uint64_t> used_;  // offset -> length
  uint64_t bytes_in_use_ = 0;
};

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_SHARED_MEMORY_H_

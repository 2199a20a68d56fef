// Memory: device memory in blocks, sub-allocated to buffers.
#ifndef WEBNND_SERVICE_VULKAN_MEMORY_H_
#define WEBNND_SERVICE_VULKAN_MEMORY_H_

#include <vulkan/vulkan.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ipc/shared_memory.h"
#include "service/vulkan/device.h"
#include "service/vulkan/handle.h"
#include "service/vulkan/logical_device.h"

namespace webnnd::service {

class DeviceImpl;

enum class MemoryKind : uint8_t {
  kTensor,      // Near the device; mapped as well where the memory is unified.
  kStaging,     // Mapped, coherent, cached by the host where possible.
  kParameters,  // Mapped, coherent, near the device where possible.
};
inline constexpr size_t kMemoryKindCount = 3;

// One VkBuffer with its memory: of one large buffer, or shared by many small ones.
struct MemoryBlock {
  explicit MemoryBlock(VkDevice device) : memory(device), buffer(device) {}

  UniqueMemory memory;
  UniqueBuffer buffer;
  uint64_t bytes = 0;                         // Of `memory`.
  std::byte* mapped = nullptr;                // nullptr where the host cannot see it.
  std::optional<ipc::RangeAllocator> ranges;  // Absent: one buffer has it all.
};

inline constexpr uint64_t kTexelBytes = 16;  // RGBA32_UINT

// Bytes that a texel view spans to read `bytes` bytes of a buffer: whole texels, and, if that is
// what it takes, up to 256 bytes that belong to others.
//
// llvmpipe compiles a kernel for the kinds of views that it meets, and takes two accidents for
// kinds: whether the VkBuffer's size is a power of two, and whether bits 8 to 15 of the view's are
// all 0. Neither may vary, or else dispatches compile what was warmed long ago. Buffers of Memory
// are never a power of two, and have that much room behind.
uint64_t TexelViewBytes(uint64_t bytes);

class BufferImpl : public Buffer {
 public:
  BufferImpl(std::shared_ptr<DeviceImpl> device, MemoryKind kind, MemoryBlock* block,
             uint64_t offset, uint64_t bytes);
  ~BufferImpl() override;
  BufferImpl(const BufferImpl&) = delete;
  BufferImpl& operator=(const BufferImpl&) = delete;

  uint64_t bytes() const override { return bytes_; }
  const DeviceImpl* device() const { return device_.get(); }
  VkBuffer handle() const { return block_->buffer.get(); }
  uint64_t offset() const { return offset_; }  // Of this buffer in `handle()`.
  // The first byte, or nullptr where the host cannot see it.
  std::byte* mapped() const;

  // Whether recorded work may touch it. Until then the host may write into mapped() itself.
  bool is_shared_with_device() const { return shared_with_device_.load(); }
  void ShareWithDevice() { shared_with_device_ = true; }

 private:
  friend class Memory;
  std::shared_ptr<DeviceImpl> device_;
  MemoryKind kind_;
  MemoryBlock* block_;
  uint64_t offset_;
  uint64_t bytes_;
  std::atomic<bool> shared_with_device_{false};
};

// Thread-safe.
class Memory {
 public:
  explicit Memory(LogicalDevice& device) : device_(device) {}

  // `bytes` are rounded up to whole words. `owner` is the device that this memory belongs to.
  Result<std::shared_ptr<BufferImpl>> Allocate(std::shared_ptr<DeviceImpl> owner, MemoryKind kind,
                                               uint64_t bytes);
  // A block of its own, for what the device itself needs.
  Result<std::unique_ptr<MemoryBlock>> CreateBlock(MemoryKind kind, uint64_t bytes);
  // Bytes of all buffers that live now.
  uint64_t bytes_in_use() const { return bytes_in_use_.load(); }
  // Buffers allocated so far, those for staging left out.
  uint64_t allocation_count() const { return allocation_count_.load(); }

 private:
  friend class BufferImpl;
  struct Range {
    MemoryBlock* block;
    uint64_t offset;
  };

  Result<Range> AllocateRange(MemoryKind kind, uint64_t bytes);
  // Whether `bytes` more leave the others their share; OutOfMemory where not.
  Status CheckShare(uint64_t bytes) const;
  Result<uint32_t> ChooseMemoryType(MemoryKind kind, uint32_t allowed_types) const;
  void Free(const BufferImpl& buffer);

  LogicalDevice& device_;
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<MemoryBlock>>, kMemoryKindCount> blocks_;
  std::atomic<uint64_t> bytes_in_use_{0};
  std::atomic<uint64_t> allocation_count_{0};
  std::atomic<uint64_t> block_bytes_{0};
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_MEMORY_H_

#include "service/vulkan/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/checked_math.h"
#include "base/fault.h"
#include "service/vulkan/device_impl.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

// Small buffers share blocks: drivers allow few allocations (4096 is common), and each costs pages.
struct BlockSizes {
  uint64_t block_bytes;
  uint64_t shared_buffer_bytes_max;  // Larger ones have a block of their own.
};

BlockSizes SizesFor(MemoryKind kind) {
  // Staging comes and goes with each transfer: in a block that stays, its pages stay too. Making
  // them anew costs several times the copy.
  if (kind == MemoryKind::kStaging) return {32ull << 20, 16ull << 20};
  return {16ull << 20, 4ull << 20};
}

// What TexelViewBytes may add.
constexpr uint64_t kTexelViewRoom = 256 + kTexelBytes;

// All uses that we may have, so that any buffer can stand anywhere.
constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;

uint64_t WithRoomForTexelViews(uint64_t bytes) {
  bytes += kTexelViewRoom;
  return std::has_single_bit(bytes) ? bytes + kTexelViewRoom : bytes;
}

struct MemoryWish {
  VkMemoryPropertyFlags required;
  VkMemoryPropertyFlags preferred;
};

MemoryWish WishFor(MemoryKind kind, bool unified_memory) {
  constexpr VkMemoryPropertyFlags kMappable =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  switch (kind) {
    case MemoryKind::kTensor:
      return {0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (unified_memory ? kMappable : 0)};
    case MemoryKind::kStaging:
      return {kMappable, VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    case MemoryKind::kParameters:
      return {kMappable, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
  }
  UNREACHABLE();
}

// Kernels go across rows, each of which lies in other pages: too many for a core to remember where
// they are, and for its caches if they happen to lie badly, unless pages are huge. Only a hint: the
// system may not have any, nor a GPU's memory.
void AskForHugePages(const MemoryBlock& block) {
  constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
  if (block.mapped == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(block.mapped);
  const uint64_t before = AlignUp<uint64_t>(address, kHugePageBytes) - address;
  if (block.bytes < before + kHugePageBytes) return;
  const uint64_t bytes = (block.bytes - before) / kHugePageBytes * kHugePageBytes;
  (void)madvise(block.mapped + before, bytes, MADV_HUGEPAGE);
}

}  // namespace

uint64_t TexelViewBytes(uint64_t bytes) {
  const uint64_t texels = AlignUp<uint64_t>(bytes, kTexelBytes);
  return (texels & 0xff00) == 0 ? texels + 256 : texels;
}

BufferImpl::BufferImpl(std::shared_ptr<DeviceImpl> device, MemoryKind kind, MemoryBlock* block,
                       uint64_t offset, uint64_t bytes)
    : device_(std::move(device)), kind_(kind), block_(block), offset_(offset), bytes_(bytes) {}

BufferImpl::~BufferImpl() { device_->memory().Free(*this); }

std::byte* BufferImpl::mapped() const {
  return block_->mapped == nullptr ? nullptr : block_->mapped + offset_;
}

Result<std::shared_ptr<BufferImpl>> Memory::Allocate(std::shared_ptr<DeviceImpl> owner,
                                                     MemoryKind kind, uint64_t bytes) {
  std::optional<uint64_t> padded = CheckedAlignUp(std::max<uint64_t>(bytes, 1), kBufferAlignment);
  if (!padded || *padded > device_.adapter().buffer_bytes_max) {
    return OutOfMemoryError("the buffer is larger than the device allows ({} bytes)", bytes);
  }
  ASSIGN_OR_RETURN(Range range, AllocateRange(kind, *padded));
  bytes_in_use_ += *padded;
  if (kind != MemoryKind::kStaging) ++allocation_count_;
  return std::make_shared<BufferImpl>(std::move(owner), kind, range.block, range.offset,
                                      AlignUp<uint64_t>(std::max<uint64_t>(bytes, 1), 4));
}

Result<Memory::Range> Memory::AllocateRange(MemoryKind kind, uint64_t bytes) {
  if (fault::Fails(fault::Kind::kPool)) {
    return OutOfMemoryError("the blocks have no room ({} bytes)", bytes);
  }
  std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<MemoryBlock>>& blocks = blocks_[static_cast<size_t>(kind)];
  const BlockSizes sizes = SizesFor(kind);
  const bool shared = bytes <= sizes.shared_buffer_bytes_max;
  if (shared) {
    for (const auto& block : blocks) {
      if (!block->ranges) continue;
      if (auto offset = block->ranges->Allocate(bytes)) return Range{block.get(), *offset};
    }
  }
  ASSIGN_OR_RETURN(std::unique_ptr<MemoryBlock> block,
                   CreateBlock(kind, shared ? sizes.block_bytes : bytes));
  Range range{block.get(), 0};
  if (shared) {
    block->ranges.emplace(sizes.block_bytes);
    range.offset = block->ranges->Allocate(bytes).value();
  } else {
    AskForHugePages(*block);
  }
  blocks.push_back(std::move(block));
  return range;
}

Result<std::unique_ptr<MemoryBlock>> Memory::CreateBlock(MemoryKind kind, uint64_t bytes) {
  auto block = std::make_unique<MemoryBlock>(device_.get());
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = WithRoomForTexelViews(bytes);
  info.usage = kUsage;
  VK_TRY(device_.lost(), vkCreateBuffer(device_.get(), &info, nullptr, block->buffer.out()));
  VkMemoryRequirements requirements;
  vkGetBufferMemoryRequirements(device_.get(), block->buffer.get(), &requirements);
  ASSIGN_OR_RETURN(uint32_t type, ChooseMemoryType(kind, requirements.memoryTypeBits));
  const VkPhysicalDeviceMemoryProperties& memory = device_.adapter().memory;
  if (requirements.size > memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size) {
    return OutOfMemoryError("the buffer is larger than the device's memory ({} bytes)", bytes);
  }
  TRY(CheckShare(requirements.size));
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = requirements.size;
  allocate.memoryTypeIndex = type;
  VK_TRY(device_.lost(), vkAllocateMemory(device_.get(), &allocate, nullptr, block->memory.out()));
  VK_TRY(device_.lost(),
         vkBindBufferMemory(device_.get(), block->buffer.get(), block->memory.get(), 0));
  const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags;
  // Without coherence the host would have to flush; only tensors may land in such memory.
  if ((flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0 &&
      (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0) {
    void* mapped = nullptr;
    VK_TRY(device_.lost(),
           vkMapMemory(device_.get(), block->memory.get(), 0, VK_WHOLE_SIZE, 0, &mapped));
    block->mapped = static_cast<std::byte*>(mapped);
  }
  block->bytes = requirements.size;
  block_bytes_ += block->bytes;
  return block;
}

Status Memory::CheckShare(uint64_t bytes) const {
  if (!device_.adapter().free_memory) return {};
  const uint64_t held = block_bytes_;
  const uint64_t free = device_.adapter().free_memory();
  if (bytes < free && (held + bytes) / kShareOfFreeMemory <= free - bytes) return {};
  return OutOfMemoryError(
      "the device's memory is short: {} bytes more are too many where {} are held and {} free",
      bytes, held, free);
}

Result<uint32_t> Memory::ChooseMemoryType(MemoryKind kind, uint32_t allowed_types) const {
  const VkPhysicalDeviceMemoryProperties& memory = device_.adapter().memory;
  const MemoryWish wish = WishFor(kind, device_.profile().unified_memory);
  int best = -1;
  int best_score = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((allowed_types & (1u << i)) == 0 || (flags & wish.required) != wish.required) continue;
    const int score = __builtin_popcount(flags & wish.preferred);
    if (score > best_score) {
      best = static_cast<int>(i);
      best_score = score;
    }
  }
  if (best < 0) {
    return NotSupportedError("the device has no memory of the kind ({})", static_cast<int>(kind));
  }
  return static_cast<uint32_t>(best);
}

void Memory::Free(const BufferImpl& buffer) {
  bytes_in_use_ -= AlignUp(buffer.bytes_, kBufferAlignment);
  std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<MemoryBlock>>& blocks = blocks_[static_cast<size_t>(buffer.kind_)];
  MemoryBlock* block = buffer.block_;
  if (block->ranges) {
    block->ranges->Free(buffer.offset_);
    if (block->ranges->bytes_in_use() != 0) return;
    // One empty block stays, so that a tensor made and dropped in a loop costs no allocation.
    auto other_is_empty = [&](const std::unique_ptr<MemoryBlock>& other) {
      return other.get() != block && other->ranges && other->ranges->bytes_in_use() == 0;
    };
    if (std::none_of(blocks.begin(), blocks.end(), other_is_empty)) return;
  }
  block_bytes_ -= block->bytes;
  std::erase_if(blocks, [&](const auto& other) { return other.get() == block; });
}

}  // namespace webnnd::service

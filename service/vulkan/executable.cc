#include <malloc.h>

#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "base/trace.h"
#include "service/vulkan/executable_impl.h"

namespace webnnd::service {
namespace {

// So much may be free in the heap while kernels are compiled, before it goes back: each of them may
// need it again.
constexpr size_t kFreeBytesMax = 8 << 20;

// Drivers that compile on the processor leave as many free pages in the heap as a small model has
// weights.
void ReturnFreePages(size_t free_bytes_max) {
#ifdef __GLIBC__
  // Where another allocator has taken glibc's place, this is the first that glibc's hears of: two
  // threads at once would both make it ready, and it aborts when both have ended.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (mallinfo2().fordblks > free_bytes_max) malloc_trim(0);
#endif
}

}  // namespace

Result<std::shared_ptr<Executable>> Executable::Create(
    std::shared_ptr<Device> device, Plan plan, std::vector<std::shared_ptr<Buffer>> constants,
    const std::atomic<bool>* cancelled, std::shared_ptr<Buffer> arena, KernelLife life) {
  auto executable =
      std::make_shared<ExecutableImpl>(device->impl().shared_from_this(), std::move(plan));
  TRY(executable->Prepare(constants, cancelled, arena, life));
  return std::shared_ptr<Executable>(std::move(executable));
}

Status ExecutableImpl::Prepare(const std::vector<std::shared_ptr<Buffer>>& constants,
                               const std::atomic<bool>* cancelled,
                               const std::shared_ptr<Buffer>& arena, KernelLife life) {
  TRY(AdoptConstants(constants));
  TRY(CheckCalls());
  if (plan_.arena_bytes > 0 && arena != nullptr) {
    ASSIGN_OR_RETURN(arena_, device_->Own(arena));
    if (arena_->bytes() < plan_.arena_bytes) {
      return InternalError("the arena is smaller than planned ({} bytes)", arena_->bytes());
    }
    arena_->ShareWithDevice();
  } else if (plan_.arena_bytes > 0) {
    ASSIGN_OR_RETURN(arena_, device_->Allocate(MemoryKind::kTensor, plan_.arena_bytes));
    arena_->ShareWithDevice();
  }
  TRY(WriteParameters());
  TRY(MakeCounters());
  return CompilePipelines(cancelled, life);
}

uint64_t ExecutableImpl::device_bytes() const {
  return (arena_ == nullptr ? 0 : arena_->bytes()) +
         (counters_ == nullptr ? 0 : counters_->bytes()) + parameters_->bytes();
}

Status ExecutableImpl::AdoptConstants(const std::vector<std::shared_ptr<Buffer>>& constants) {
  if (constants.size() != plan_.constant_bytes.size()) {
    return InternalError("the plan has another number of constants ({}, not {})",
                         plan_.constant_bytes.size(), constants.size());
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> constant, device_->Own(constants[i]));
    if (constant->bytes() < plan_.constant_bytes[i]) {
      return InternalError("constant {} is smaller than planned ({} bytes)", i, constant->bytes());
    }
    constant->ShareWithDevice();
    constants_.push_back(std::move(constant));
  }
  return {};
}

// A plan comes from our own passes. These checks keep a defect there from becoming memory access
// outside of a buffer here.
Status ExecutableImpl::CheckCalls() const {
  for (const KernelCall& call : plan_.calls) {
    if (static_cast<uint32_t>(call.shader) >= shaders::kShaderCount) {
      return InternalError("there is no such shader ({})", static_cast<uint32_t>(call.shader));
    }
    if (call.buffers.size() > kBuffersPerCallMax) {
      return InternalError("{} has too many buffers ({})", call.label, call.buffers.size());
    }
    if (call.parameters.size() > kParametersPerCallMax) {
      return InternalError("{} has too many parameters ({})", call.label, call.parameters.size());
    }
    for (const BufferRef& buffer : call.buffers) {
      TRY_DOING(CheckBuffer(buffer), "checking the kernel call ({})", call.label);
    }
  }
  return {};
}

Status ExecutableImpl::CheckBuffer(const BufferRef& buffer) const {
  std::span<const uint64_t> sizes;
  switch (buffer.space) {
    case BufferSpace::kInput:
      sizes = plan_.input_bytes;
      break;
    case BufferSpace::kOutput:
      sizes = plan_.output_bytes;
      break;
    case BufferSpace::kConstant:
      sizes = plan_.constant_bytes;
      break;
    case BufferSpace::kArena:
      sizes = {&plan_.arena_bytes, 1};
      break;
    case BufferSpace::kCounters:
      sizes = {&plan_.counter_bytes, 1};
      break;
  }
  if (buffer.index >= sizes.size()) {
    return InternalError("a buffer is not one of the plan ({})", buffer.index);
  }
  // Allocation rounds up to words as well.
  const std::optional<uint64_t> whole = CheckedAlignUp<uint64_t>(sizes[buffer.index], 4);
  const std::optional<uint64_t> end = CheckedAdd(buffer.offset, buffer.bytes);
  if (buffer.offset % kBufferAlignment != 0 || buffer.bytes % 4 != 0 || !whole || !end ||
      *end > *whole) {
    return InternalError("a range is not inside its buffer ({} + {} of {} bytes)", buffer.offset,
                         buffer.bytes, sizes[buffer.index]);
  }
  const VkPhysicalDeviceLimits& limits = device_->logical().adapter().limits;
  const bool has_texels = device_->pipelines().layouts().has_texels();
  const uint64_t texel_bytes_max = uint64_t{limits.maxTexelBufferElements} * kTexelBytes;
  if (buffer.bytes > limits.maxStorageBufferRange ||
      (has_texels && TexelViewBytes(buffer.bytes) > texel_bytes_max)) {
    return NotSupportedError("a range is larger than the device allows ({} bytes)", buffer.bytes);
  }
  return {};
}

Status ExecutableImpl::WriteParameters() {
  uint64_t bytes = 0;
  for (const KernelCall& call : plan_.calls) {
    if (bytes > UINT32_MAX) return QuotaError("the graph has too many kernels ({})", bytes);
    parameter_offsets_.push_back(static_cast<uint32_t>(bytes));
    bytes += AlignUp<uint64_t>(call.parameters.size() * sizeof(uint32_t), kBufferAlignment);
  }
  // Every call's descriptor spans the most that a call may have; slices overlap the next ones.
  ASSIGN_OR_RETURN(parameters_,
                   device_->Allocate(MemoryKind::kParameters, bytes + kParameterBytesPerCall));
  std::memset(parameters_->mapped(), 0, parameters_->bytes());
  for (size_t i = 0; i < plan_.calls.size(); ++i) {
    const std::vector<uint32_t>& words = plan_.calls[i].parameters;
    if (words.empty()) continue;
    std::memcpy(parameters_->mapped() + parameter_offsets_[i], words.data(),
                words.size() * sizeof(uint32_t));
  }
  parameters_->ShareWithDevice();
  return {};
}

// Where the host can write the zeros.
Status ExecutableImpl::MakeCounters() {
  if (plan_.counter_bytes == 0) return {};
  ASSIGN_OR_RETURN(counters_, device_->Allocate(MemoryKind::kParameters, plan_.counter_bytes));
  std::memset(counters_->mapped(), 0, counters_->bytes());
  counters_->ShareWithDevice();
  return {};
}

Status Executable::WarmUp(Device& device, const Plan& plan, const std::atomic<bool>* cancelled) {
  return ExecutableImpl(device.impl().shared_from_this(), plan)
      .CompilePipelines(cancelled, KernelLife::kDevice);
}

Status ExecutableImpl::CompilePipelines(const std::atomic<bool>* cancelled, KernelLife life) {
  TraceScope scope("pipelines");
  scope.Add("kernels", plan_.calls.size());
  const uint64_t compiled_before = device_->pipelines().compiled_count();
  uint64_t compiled = compiled_before;
  // Those of an evaluation are small, and go soon.
  bool is_announced = life != KernelLife::kDevice;
  for (const KernelCall& call : plan_.calls) {
    if (cancelled != nullptr && *cancelled) return InvalidStateError("the build is cancelled");
    const PipelineKey key{call.shader, call.specialization};
    if (std::shared_ptr<Pipeline> found = device_->pipelines().Find(key, life)) {
      pipelines_.push_back(std::move(found));
      continue;
    }
    if (!std::exchange(is_announced, true)) {
      device_->pipelines().Announce(plan_.calls, cancelled);
    }
    Result<std::shared_ptr<Pipeline>> pipeline =
        device_->pipelines().Get(key, call.parameters, life);
    if (!pipeline.ok()) {
      return std::move(pipeline).error().AddContext(
          fmt::format("compiling the kernel of {}", call.label));
    }
    pipelines_.push_back(std::move(*pipeline));
    if (device_->pipelines().compiled_count() != compiled) {
      compiled = device_->pipelines().compiled_count();
      ReturnFreePages(kFreeBytesMax);
    }
  }
  if (compiled != compiled_before) ReturnFreePages(0);
  return {};
}

}  // namespace webnnd::service

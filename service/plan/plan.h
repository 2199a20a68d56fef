// Plan: what a graph compiles to. Kernel calls and memory offsets, plain data, no Vulkan type in
// it.
#ifndef WEBNND_SERVICE_PLAN_PLAN_H_
#define WEBNND_SERVICE_PLAN_PLAN_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "shaders/shader_id.h"

namespace webnnd::service {

// Buffers of one kernel call: its slots (shaders/tensor.glsl).
inline constexpr uint32_t kBuffersPerCallMax = 16;
// 32-bit words of parameters of one kernel call: one uniform buffer range of 1 KiB.
inline constexpr uint32_t kParametersPerCallMax = 256;
// What every storage-buffer offset is a multiple of (Vulkan's largest allowed alignment).
inline constexpr uint64_t kBufferAlignment = 256;

// Which memory a kernel call touches.
enum class BufferSpace : uint8_t {
  kInput,     // Tensor bound to graph input `index`.
  kOutput,    // Tensor bound to graph output `index`.
  kConstant,  // Constant `index` of the graph.
  kArena,     // The graph's arena of intermediates; `index` is 0.
  kCounters,  // Words of the graph's that are 0 between its calls; `index` is 0.
};

struct BufferRef {
  BufferSpace space = BufferSpace::kArena;
  uint32_t index = 0;
  uint64_t offset = 0;  // Bytes; a multiple of kBufferAlignment.
  uint64_t bytes = 0;   // A multiple of 4: memory is allocated in whole words.
  bool written = false;
  friend auto operator<=>(const BufferRef&, const BufferRef&) = default;
};

struct KernelCall {
  shaders::ShaderId shader{};
  // Values of the shader's specialisation constants 1, 2, ... (0 is the local size, the device's).
  std::vector<uint32_t> specialization;
  std::vector<BufferRef> buffers;  // Slots 1, 2, ...
  std::vector<uint32_t> parameters;
  // Invocations that the call can use; the executor turns them into workgroups of the device's
  // local size, and clamps them (kernels loop over a grid stride). `workgroups` are counted as they
  // are.
  uint64_t invocations = 0;
  uint64_t workgroups = 0;  // Used instead of `invocations` when not 0.
  // A call before it, since the last barrier, touches the same memory and one of the two writes.
  bool barrier_before = false;
  // Multiply-adds or bytes moved, whichever is more: for splitting submissions.
  uint64_t cost = 0;
  // What an iteration of an invocation's loops does of it, at least: kernels that do much in each
  // get by with fewer workgroups (DeviceProfile::invocation_cost_max).
  uint32_t cost_per_turn = 1;
  // The operator it comes from, for traces and errors.
  std::string label;
  friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

// An input and an output of the graph whose tensors a binding makes one (DESIGN section 7).
struct TensorAlias {
  uint32_t input = 0;
  uint32_t output = 0;
  friend auto operator<=>(const TensorAlias&, const TensorAlias&) = default;
};

struct Plan {
  std::vector<KernelCall> calls;
  // So many calls only copy: values that an update or an alias would overwrite, and those that
  // could not be made in their output's tensor.
  uint32_t copy_count = 0;
  uint64_t arena_bytes = 0;
  uint64_t counter_bytes = 0;
  // Bytes that each bound tensor must have at least.
  std::vector<uint64_t> input_bytes;
  std::vector<uint64_t> output_bytes;
  std::vector<uint64_t> constant_bytes;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Of what the kernels read and write, a buffer counted once for each call: what a device's
// bandwidth bounds a dispatch by.
inline uint64_t BytesTouched(const Plan& plan) {
  uint64_t bytes = 0;
  for (const KernelCall& call : plan.calls) {
    for (const BufferRef& buffer : call.buffers) bytes += buffer.bytes;
  }
  return bytes;
}

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PLAN_PLAN_H_

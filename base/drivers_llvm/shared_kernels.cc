#include "base/drivers_llvm/shared_kernels.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/shared_grid.h"
#include "base/short_grids.h"

namespace webnnd {
namespace {

struct Size {
  uint32_t x, y, z;
};

// As llvmpipe calls a kernel for one workgroup (lp_jit_cs_func, up to Mesa 23.0): `context` is the
// driver's, in which one grid runs at a time, `thread` the calling thread's shared memory.
using Kernel = void(const void* context, uint32_t block_x, uint32_t block_y, uint32_t block_z,
                    uint32_t x, uint32_t y, uint32_t z, uint32_t grid_x, uint32_t grid_y,
                    uint32_t grid_z, uint32_t dimensions, void* thread);
constexpr unsigned kParameters = 12;
constexpr std::string_view kKernelsName = "cs";  // And more.

// One for each context: of a driver's device, mostly.
struct Context {
  std::atomic<const void*> driver_context;
  SharedGrid grid;
  ShortGrids short_grids;
};
constinit std::array<Context, 32> contexts{};

// Null where there are more, once and for all: of one grid all are shared, or none.
Context* FindContext(const void* driver_context) {
  for (Context& context : contexts) {
    const void* known = context.driver_context.load(std::memory_order_relaxed);
    if (known == driver_context) return &context;
    if (known == nullptr &&
        (context.driver_context.compare_exchange_strong(known, driver_context) ||
         known == driver_context)) {
      return &context;
    }
  }
  return nullptr;
}

struct Call {
  const void* context;
  Size block, workgroup, grid;
  uint32_t dimensions;
  void* thread;
};

void RunOne(Kernel* kernel, const Call& call, Size workgroup) {
  kernel(call.context, call.block.x, call.block.y, call.block.z, workgroup.x, workgroup.y,
         workgroup.z, call.grid.x, call.grid.y, call.grid.z, call.dimensions, call.thread);
}

// Those that llvmpipe has got an entry for. It frees code without a word, and may then have others
// in its place, which get the same entry.
constinit std::array<std::atomic<Kernel*>, ShortGrids::kKernels> kernels{};

[[gnu::noinline]] void Run(size_t index, const Call& call) {
  Kernel* kernel = kernels[index].load(std::memory_order_relaxed);
  const Size grid = call.grid;
  const uint64_t workgroups = uint64_t{grid.x} * grid.y * grid.z;
  const auto count = static_cast<uint32_t>(workgroups);
  Context* context = workgroups > 1 && workgroups == count ? FindContext(call.context) : nullptr;
  if (context == nullptr || context->short_grids.Has(index, count)) {
    return RunOne(kernel, call, call.workgroup);
  }
  const Size own = call.workgroup;
  const auto ns =
      context->grid.Call(own.x + grid.x * (own.y + grid.y * own.z), count, [&](uint32_t i) {
        RunOne(kernel, call, {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y});
      });
  if (ns.has_value()) context->short_grids.Learn(index, count, *ns);
}

template <size_t kIndex>
void Enter(const void* context, uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t x,
           uint32_t y, uint32_t z, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
           uint32_t dimensions, void* thread) {
  Run(kIndex, {.context = context,
               .block = {block_x, block_y, block_z},
               .workgroup = {x, y, z},
               .grid = {grid_x, grid_y, grid_z},
               .dimensions = dimensions,
               .thread = thread});
}

template <size_t... kIndices>
constexpr std::array<Kernel*, ShortGrids::kKernels> Entries(std::index_sequence<kIndices...>) {
  return {Enter<kIndices>...};
}
constexpr std::array<Kernel*, ShortGrids::kKernels> kEntry =
    Entries(std::make_index_sequence<ShortGrids::kKernels>());

bool IsKernel(const Llvm& llvm, LLVMValueRef function) {
  size_t length = 0;
  const char* name = llvm.get_name(function, &length);
  if (name == nullptr || !std::string_view(name, length).starts_with(kKernelsName)) return false;
  if (llvm.count_parameters(function) != kParameters) return false;
  for (unsigned i = 0; i < kParameters; ++i) {
    LLVMTypeRef type = llvm.type_of(llvm.get_parameter(function, i));
    const bool is_pointer = i == 0 || i == kParameters - 1;
    if (llvm.get_type_kind(type) != (is_pointer ? kPointerType : kIntegerType)) return false;
    if (!is_pointer && llvm.get_int_width(type) != 32) return false;
  }
  return true;
}

}  // namespace

void* Shared(const Llvm& llvm, LLVMValueRef function, void* code) {
  if (code == nullptr || !IsKernel(llvm, function)) return code;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  auto* kernel = reinterpret_cast<Kernel*>(code);
  for (size_t i = 0; i < kernels.size(); ++i) {
    Kernel* known = kernels[i].load(std::memory_order_relaxed);
    if (known != nullptr && known != kernel) continue;
    kernels[i].store(kernel, std::memory_order_relaxed);
    LogDebug("llvmpipe's threads share a kernel's workgroups");
    return reinterpret_cast<void*>(kEntry[i]);
  }
  LogDebug("llvmpipe's threads do not share a kernel's workgroups: {} have come before", kernels.size());
  return code;
}

}  // namespace webnnd

#include "base/drivers_llvm/shared_kernels.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "base/shared_grid.h"
#include "base/short_grids.h"

namespace webnnd {
namespace {

struct Size {
  uint32_t x, y, z;
};

// As llvmpipe calls a kernel for one workgroup (lp_jit_cs_func, up to Mesa 23.0): `context` is the
// driver's, in which one grid runs at a time, `thread` the calling thread's shared memory. Grids
// begin at 0: nobody dispatches others (vkCmdDispatchBase).
using Kernel = void(const void* context, uint32_t block_x, uint32_t block_y, uint32_t block_z,
                    uint32_t x, uint32_t y, uint32_t z, uint32_t grid_x, uint32_t grid_y,
                    uint32_t grid_z, uint32_t dimensions, void* thread);
constexpr unsigned kParameters = 12;
constexpr std::string_view kKernelsName = "cs";  // And more.

// Of each context of a driver: of a device, mostly.
struct Context {
  SharedGrid grid;
  ShortGrids short_grids;
};
constexpr size_t kContexts = 32;
constinit std::array<std::atomic<const void*>, kContexts> driver_contexts{};
constinit std::array<Context, kContexts> contexts{};

// Null where there are more, once and for all: of one grid all are shared, or none.
Context* FindContext(const void* driver_context) {
  for (size_t i = 0; i < kContexts; ++i) {
    const void* known = driver_contexts[i].load(std::memory_order_relaxed);
    if (known == driver_context) return &contexts[i];
    if (known == nullptr && (driver_contexts[i].compare_exchange_strong(known, driver_context) ||
                             known == driver_context)) {
      return &contexts[i];
    }
  }
  return nullptr;
}

// What such a call has, as the entries below put it aside: index and registers' arguments, where
// the caller goes on, and its own arguments. Of numbers only the lower halves are defined.
struct Call {
  uint64_t index;
  const void* context;
  uint64_t block_x, block_y, block_z, x, y;
  uint64_t frame, caller;
  uint64_t z, grid_x, grid_y, grid_z, dimensions;
  void* thread;
};

void RunOne(Kernel* kernel, const Call& call, Size workgroup) {
  const auto number = [](uint64_t argument) { return static_cast<uint32_t>(argument); };
  kernel(call.context, number(call.block_x), number(call.block_y), number(call.block_z),
         workgroup.x, workgroup.y, workgroup.z, number(call.grid_x), number(call.grid_y),
         number(call.grid_z), number(call.dimensions), call.thread);
}

// Those that llvmpipe has got an entry for. It frees code without a word, and may then have others
// in its place, which get the same entry.
constinit std::array<std::atomic<Kernel*>, ShortGrids::kKernels> kernels{};

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void RunSharedKernel(const Call& call) {
  Kernel* kernel = kernels[call.index].load(std::memory_order_relaxed);
  const Size own = {static_cast<uint32_t>(call.x), static_cast<uint32_t>(call.y),
                    static_cast<uint32_t>(call.z)};
  const Size grid = {static_cast<uint32_t>(call.grid_x), static_cast<uint32_t>(call.grid_y),
                     static_cast<uint32_t>(call.grid_z)};
  const uint64_t workgroups = uint64_t{grid.x} * grid.y * grid.z;
  const auto count = static_cast<uint32_t>(workgroups);
  Context* context = workgroups > 1 && workgroups == count ? FindContext(call.context) : nullptr;
  if (context == nullptr || context->short_grids.Has(call.index, count)) {
    return RunOne(kernel, call, own);
  }
  CHECK(own.x < grid.x && own.y < grid.y && own.z < grid.z);
  const auto ns =
      context->grid.Call(own.x + grid.x * (own.y + grid.y * own.z), count, [&](uint32_t i) {
        RunOne(kernel, call, {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y});
      });
  if (ns.has_value()) context->short_grids.Learn(call.index, count, *ns);
}

// The entries: each has its index where no argument is, and goes on to what all have in common.
extern "C" __attribute__((visibility("hidden"))) const std::byte webnnd_shared_kernels[];
#define WEBNND_ENTRIES 1024
#define WEBNND_ENTRY_BYTES 16
#define WEBNND_TEXT(x) WEBNND_TEXT_OF(x)
#define WEBNND_TEXT_OF(x) #x
static_assert(ShortGrids::kKernels == WEBNND_ENTRIES);
asm(".pushsection .text\n"
    ".type webnnd_shared_kernel, @function\n"
    "webnnd_shared_kernel:\n"
    ".cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "mov %rsp, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "push %r9\n"
    "push %r8\n"
    "push %rcx\n"
    "push %rdx\n"
    "push %rsi\n"
    "push %rdi\n"
    "push %rax\n"
    "mov %rsp, %rdi\n"
    "and $-16, %rsp\n"
    "call RunSharedKernel\n"
    "leave\n"
    ".cfi_def_cfa %rsp, 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size webnnd_shared_kernel, . - webnnd_shared_kernel\n"
    ".balign " WEBNND_TEXT(WEBNND_ENTRY_BYTES) "\n"
    ".hidden webnnd_shared_kernels\n"
    ".globl webnnd_shared_kernels\n"
    ".type webnnd_shared_kernels, @function\n"
    "webnnd_shared_kernels:\n"
    ".set webnnd_index, 0\n"
    ".rept " WEBNND_TEXT(WEBNND_ENTRIES) "\n"
    "mov $webnnd_index, %eax\n"
    "jmp webnnd_shared_kernel\n"
    ".balign " WEBNND_TEXT(WEBNND_ENTRY_BYTES) "\n"
    ".set webnnd_index, webnnd_index + 1\n"
    ".endr\n"
    ".size webnnd_shared_kernels, . - webnnd_shared_kernels\n"
    ".popsection\n");

namespace {

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
    return const_cast<std::byte*>(webnnd_shared_kernels + i * WEBNND_ENTRY_BYTES);
  }
  LogDebug("llvmpipe's threads do not share a kernel's workgroups: {} have come before",
           kernels.size());
  return code;
}

}  // namespace webnnd

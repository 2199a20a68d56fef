// Functions of LLVM's C interface (llvm-c/) for the drivers that a program loads, which change what
// lavapipe's shaders become:
//
// LLVMAddFunction: functions align their stack. Without arrays on it LLVM does not know in time
// that it spills vectors there, and they straddle lines of the cache.
//
// LLVMRunPasses: loops over the lanes of a subgroup, by which llvmpipe stores and loads, become
// stores and loads of vectors where lanes' elements follow each other, and gathers where they do
// not (lane_stores.h, lane_loads.h). What is left of them is unrolled, and in short modules
// functions are inlined, by which it loads texels: what is taken from the stack lane by lane stays
// in registers.
//
// LLVMRunPasses, too: texels that lie beside each other are loaded as they lie (lane_fetches.h),
// what all lanes load from one address is loaded once (uniform_lanes.h), loops end where no lane
// goes on, not a turn later (loop_exits.h), what they carry is blended behind them, not in each
// turn (loop_blends.h), what all lanes have the same is asked of one (uniform_branches.h), and one
// instruction does what took several: products with sums (multiply_adds.h), what rounds to float16
// (half_roundings.h), and extremes of 16 lanes (lane_extremes.h).
//
// LLVMRunPasses, before all else: loops have as many turns as they ask for (loop_limits.h), and
// coroutines that never wait are functions (coroutines.h).
//
// LLVMGetPointerToGlobal, in which a module is compiled: in which order (scheduling.h). Of a kernel
// it gives a function that lets threads share its workgroups (shared_kernels.h).
//
// Besides, llvmpipe's subgroups have 16 lanes, not 8, on processors with AVX-512, unless the
// environment says otherwise (LP_NATIVE_VECTOR_WIDTH, in bits).
//
// A program that links this object has them: symbols of the program come before those of the
// libraries that it loads. Drivers with an LLVM of their own do not find them, and are as ever.
#include <cpuid.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "base/drivers_llvm/coroutines.h"
#include "base/drivers_llvm/half_roundings.h"
#include "base/drivers_llvm/half_widenings.h"
#include "base/drivers_llvm/invariant_loads.h"
#include "base/drivers_llvm/lane_divisions.h"
#include "base/drivers_llvm/lane_extremes.h"
#include "base/drivers_llvm/lane_fetches.h"
#include "base/drivers_llvm/lane_loads.h"
#include "base/drivers_llvm/lane_stores.h"
#include "base/drivers_llvm/llvm_functions.h"
#include "base/drivers_llvm/loop_blends.h"
#include "base/drivers_llvm/loop_exits.h"
#include "base/drivers_llvm/loop_limits.h"
#include "base/drivers_llvm/multiply_adds.h"
#include "base/drivers_llvm/scheduling.h"
#include "base/drivers_llvm/shared_kernels.h"
#include "base/drivers_llvm/uniform_branches.h"
#include "base/drivers_llvm/uniform_lanes.h"
#include "base/log.h"

namespace webnnd {
namespace {

// With vectors of 512 bits: measured on Intel's (docs/benchmarks.md) and AMD's (-zen4.md,
// -zen5.md).
bool WantsSixteenLanes() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

// llvmpipe reads it once it is loaded; here are no threads yet that read the environment.
__attribute__((constructor)) void SetLanes() {
  __builtin_cpu_init();
  constexpr int kKeep = 0;  // Where the user has set it.
  if (WantsSixteenLanes()) setenv("LP_NATIVE_VECTOR_WIDTH", "512", kKeep);
}

bool HasFusedMultiplyAdds() { return __builtin_cpu_supports("fma") != 0; }
// __builtin_cpu_supports does not know it.
bool HasHalfConversions() {
  unsigned eax, ebx, ecx, edx;
  return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         (ecx & bit_F16C) != 0;
}

// After llvmpipe's own passes.
constexpr const char* kUnroll =
    "function(loop(loop-unroll-full),sroa,early-cse<memssa>,instcombine,simplifycfg)";
constexpr const char* kInlineAndUnroll =
    "cgscc(inline),"
    "function(loop(loop-unroll-full),sroa,early-cse<memssa>,instcombine,simplifycfg)";

// Behind UniformBranches.
constexpr const char* kUnusedAway = "function(adce)";

// Of a module, beyond which these would take longer than they are worth: products of many rows,
// which have more of both, are 5 to 10 % faster with them, and take 1.3 to 2 times as long to
// compile.
constexpr int kUnrolledBlocksMax = 350;
constexpr int kInlinedInstructionsMax = 12000;

// What llvmpipe runs first, to split coroutines, and alone where it is not to optimize
// (GALLIVM_PERF=nopt).
constexpr const char* kFirstPasses = "default<O0>";
constexpr const char* kOnlyPasses = "mem2reg";

// What LLVM does to coroutines that it splits: loops over lanes are looked for in that form.
constexpr const char* kAsSplit = "function(simplifycfg)";

// In the place of which `own` is called.
template <class Function>
Function* FindReplaced(const void* caller, const char* name, Function* own) {
  auto* function = FindLlvm<Function>(caller, name);
  if (function == nullptr || function == own) {
    // Of a library that others have made known to all.
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  }
  if (function == nullptr) std::abort();  // Who called it without having it?
  return function;
}

const char* MorePasses(const Llvm& llvm, LLVMModuleRef module) {
  int blocks = 0;
  int instructions = 0;
  for (auto* f = llvm.get_first_function(module); f != nullptr; f = llvm.get_next_function(f)) {
    for (auto* b = llvm.get_first_block(f); b != nullptr; b = llvm.get_next_block(b)) {
      ++blocks;
      for (auto* i = llvm.get_first_instruction(b); i != nullptr;
           i = llvm.get_next_instruction(i)) {
        ++instructions;
      }
    }
  }
  if (blocks > kUnrolledBlocksMax) return kUnusedAway;
  return instructions > kInlinedInstructionsMax ? kUnroll : kInlineAndUnroll;
}

using AddFunction = LLVMValueRef(LLVMModuleRef module, const char* name, LLVMTypeRef type);
using AddAttribute = void(LLVMValueRef function, const char* attribute, const char* value);
using GetPointerToGlobal = void*(void* engine, LLVMValueRef function);
using RunPasses = void*(LLVMModuleRef module, const char* passes, void* machine, void* options);

void SetAttributes(const void* caller, LLVMValueRef function) {
  auto* attribute = FindLlvm<AddAttribute>(caller, "LLVMAddTargetDependentFunctionAttr");
  if (attribute != nullptr) attribute(function, "stackrealign", "");
}

}  // namespace
}  // namespace webnnd

// NOLINTBEGIN(readability-identifier-naming): LLVM's names.
extern "C" __attribute__((visibility("default"))) void* LLVMAddFunction(void* module,
                                                                        const char* name,
                                                                        void* type) {
  const void* caller = __builtin_return_address(0);
  auto* add = webnnd::FindReplaced<webnnd::AddFunction>(caller, "LLVMAddFunction", LLVMAddFunction);
  void* function = add(module, name, type);
  webnnd::SetAttributes(caller, function);
  return function;
}

extern "C" __attribute__((visibility("default"))) void* LLVMGetPointerToGlobal(void* engine,
                                                                               void* function) {
  const void* caller = __builtin_return_address(0);
  auto* get = webnnd::FindReplaced<webnnd::GetPointerToGlobal>(caller, "LLVMGetPointerToGlobal",
                                                               LLVMGetPointerToGlobal);
  webnnd::Llvm llvm;
  if (!webnnd::FindLlvmFunctions(caller, llvm)) return get(engine, function);
  const webnnd::Scheduling scheduling(caller, llvm, function);
  return webnnd::Shared(llvm, function, get(engine, function));
}

extern "C" __attribute__((visibility("default"))) void* LLVMRunPasses(void* module,
                                                                      const char* passes,
                                                                      void* machine,
                                                                      void* options) {
  const void* caller = __builtin_return_address(0);
  auto* run = webnnd::FindReplaced<webnnd::RunPasses>(caller, "LLVMRunPasses", LLVMRunPasses);
  webnnd::Llvm llvm;
  if (!webnnd::FindLlvmFunctions(caller, llvm)) return run(module, passes, machine, options);
  webnnd::LoopLimits(llvm, module).Raise();
  if (std::strcmp(passes, webnnd::kFirstPasses) == 0) {
    const bool has_functions = webnnd::Coroutines(llvm, module).MakeFunctions();
    // Before other passes, what is the same is not one value yet.
    void* error = run(module, passes, machine, options);
    if (error != nullptr || !has_functions) return error;
    return run(module, webnnd::kAsSplit, machine, options);
  }
  const bool optimizes = std::strcmp(passes, webnnd::kOnlyPasses) != 0;
  if (optimizes) {
    webnnd::LaneFetches(llvm, module).Shorten();
    webnnd::UniformLanes(llvm, module).TakeFirst();
    webnnd::LoopExits(llvm, module).Add();
    // Behind it, since the loops that it replaces are still there, for nobody.
    webnnd::LaneStores stores(llvm, module, caller, webnnd::SetAttributes);
    const int stored = stores.Combine();
    webnnd::LaneLoads loads(llvm, module);
    const int loaded = loads.Combine();
    webnnd::LogDebug(
        "LLVM optimizes a kernel: of its loops over lanes {} store, {} of them past the caches, "
        "and {} load, {} of them to ask for lines",
        stored, stores.streamed(), loaded, loads.asked());
    webnnd::InvariantLoads(llvm, module).Mark();
    webnnd::LaneExtremes(llvm, module).Join();
    if (webnnd::HasHalfConversions()) webnnd::HalfRoundings(llvm, module).Replace();
  }
  void* error = run(module, passes, machine, options);
  if (error != nullptr) return error;
  if (optimizes) {
    webnnd::LoopBlends(llvm, module).MoveOut();
    webnnd::UniformBranches(llvm, module).Simplify();
    void* unknown = run(module, webnnd::MorePasses(llvm, module), machine, options);
    // Another LLVM may not know one of them: then it has run none.
    if (unknown != nullptr) llvm.consume_error(unknown);
    webnnd::LaneDivisions(llvm, module).Replace();
  }
  if (optimizes && webnnd::HasHalfConversions()) webnnd::HalfWidenings(llvm, module).Replace();
  if (webnnd::HasFusedMultiplyAdds()) webnnd::MultiplyAddFuser(llvm, module).FuseAll();
  return nullptr;
}
// NOLINTEND(readability-identifier-naming)

// Functions of LLVM's C interface (llvm-c/) for the drivers that a program loads, which change what
// lavapipe's shaders become:
//
// LLVMAddFunction: on processors of Intel's with AVX-512, vectors have 256 bits at most. llvmpipe
// stores what the lanes of a subgroup hold one by one, from a vector on the stack. Eight elements
// of 64 bits are written there as one vector of 512 bits, and a load of one of them waits until all
// of it is in the cache, where elements of two vectors of 256 bits are forwarded: stores take 1.6
// to 2 times as long (docs/benchmarks.md). What else AVX-512 has, more registers and masks among
// it, they keep; GALLIUM_OVERRIDE_CPU_CAPS=avx would take that, too.
//
// LLVMRunPasses: loops over the lanes of a subgroup, by which llvmpipe stores, are unrolled, and in
// short modules functions inlined, by which it loads texels. What is taken from the stack lane by
// lane stays in registers: stores take half the time, transposes a third. LLVMAddFunction has the
// stack aligned for it: without arrays on it LLVM does not know in time that it spills vectors
// there, and they straddle lines of the cache.
//
// LLVMRunPasses, too: a product of float32 that nothing uses but a sum or a difference beside it
// becomes one with it, by llvm.fmuladd, which rounds once. llvmpipe tells no fma() from a product
// and a sum, and computes both; matrix products take a quarter longer with them. SPIR-V lets
// implementations contract what has no NoContraction (SPIR-V 1.6, 3.20), which is not to be seen
// here: what our shaders declare precise has products that are exact, or that more than a sum uses.
//
// A program that links this object has them: symbols of the program come before those of the
// libraries that it loads. Drivers with an LLVM of their own do not find them, and are as ever.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace webnnd {
namespace {

#ifdef WEBNND_SHORT_VECTORS_EVERYWHERE  // For tests.
bool WantsShortVectors() { return true; }
#else
bool WantsShortVectors() {
  return __builtin_cpu_is("intel") != 0 && __builtin_cpu_supports("avx512f") != 0;
}
#endif

bool HasFusedMultiplyAdds() { return __builtin_cpu_supports("fma") != 0; }

// After llvmpipe's own passes.
constexpr const char* kUnroll =
    "function(loop(loop-unroll-full),sroa,early-cse<memssa>,instcombine,simplifycfg)";
constexpr const char* kInlineAndUnroll =
    "cgscc(inline),"
    "function(loop(loop-unroll-full),sroa,early-cse<memssa>,instcombine,simplifycfg)";

// Of a module, beyond which these would take longer than they are worth: products of many rows are
// 5 to 10 % faster with both, and take 1.3 to 2 times as long to compile.
constexpr int kUnrolledBlocksMax = 250;
constexpr int kInlinedInstructionsMax = 5000;

// What llvmpipe runs first, to split coroutines, and alone where it is not to optimize
// (GALLIVM_PERF=nopt).
constexpr const char* kFirstPasses = "default<O0>";
constexpr const char* kOnlyPasses = "mem2reg";

// Sets `function` to LLVM's that the library of `caller` would call without this program; libraries
// come and go, so it is looked for each time. False where there is none.
template <class Function>
bool Find(const void* caller, const char* name, Function*& function) {
  function = nullptr;
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(caller), &found) != 0) return false;
  void* library = dlopen(found.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  // It and what it depends on, which are there for as long as the caller is.
  function = reinterpret_cast<Function*>(dlsym(library, name));
  dlclose(library);
  return function != nullptr;
}

// In the place of which `own` is called.
template <class Function>
Function* FindReplaced(const void* caller, const char* name, Function* own) {
  Function* function;
  if (!Find(caller, name, function) || function == own) {
    // Of a library that others have made known to all.
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  }
  if (function == nullptr) std::abort();  // Who called it without having it?
  return function;
}

// LLVM's names for them; all of them are pointers.
using LLVMModuleRef = void*;
using LLVMValueRef = void*;
using LLVMBasicBlockRef = void*;
using LLVMTypeRef = void*;
using LLVMContextRef = void*;
using LLVMBuilderRef = void*;

// LLVMOpcode and LLVMTypeKind of llvm-c/Core.h, whose values do not change.
constexpr int kFAdd = 9;
constexpr int kFSub = 11;
constexpr int kFMul = 13;
constexpr int kFloatType = 2;
constexpr int kVectorType = 13;

struct Llvm {
  LLVMValueRef (*get_first_function)(LLVMModuleRef);
  LLVMValueRef (*get_next_function)(LLVMValueRef);
  LLVMBasicBlockRef (*get_first_block)(LLVMValueRef function);
  LLVMBasicBlockRef (*get_next_block)(LLVMBasicBlockRef);
  LLVMValueRef (*get_first_instruction)(LLVMBasicBlockRef);
  LLVMValueRef (*get_next_instruction)(LLVMValueRef);
  LLVMBasicBlockRef (*get_parent)(LLVMValueRef instruction);
  LLVMValueRef (*is_instruction)(LLVMValueRef);  // Null where it is none.
  int (*get_opcode)(LLVMValueRef instruction);
  LLVMValueRef (*get_operand)(LLVMValueRef, unsigned index);
  void* (*get_first_use)(LLVMValueRef);
  void* (*get_next_use)(void* use);
  LLVMTypeRef (*type_of)(LLVMValueRef);
  int (*get_type_kind)(LLVMTypeRef);
  LLVMTypeRef (*get_element_type)(LLVMTypeRef);
  LLVMContextRef (*get_context)(LLVMModuleRef);
  unsigned (*lookup_intrinsic)(const char* name, size_t length);
  LLVMValueRef (*get_intrinsic)(LLVMModuleRef, unsigned id, LLVMTypeRef* types, size_t count);
  LLVMTypeRef (*get_intrinsic_type)(LLVMContextRef, unsigned id, LLVMTypeRef* types, size_t count);
  LLVMBuilderRef (*create_builder)(LLVMContextRef);
  void (*dispose_builder)(LLVMBuilderRef);
  void (*position_before)(LLVMBuilderRef, LLVMValueRef instruction);
  LLVMValueRef (*build_negation)(LLVMBuilderRef, LLVMValueRef, const char* name);
  LLVMValueRef (*build_call)(LLVMBuilderRef, LLVMTypeRef, LLVMValueRef function,
                             LLVMValueRef* arguments, unsigned count, const char* name);
  void (*replace_all_uses)(LLVMValueRef old_value, LLVMValueRef new_value);
  void (*erase)(LLVMValueRef instruction);
  void (*consume_error)(void* error);
};

bool FindAll(const void* caller, Llvm& llvm) {
  return Find(caller, "LLVMGetFirstFunction", llvm.get_first_function) &&
         Find(caller, "LLVMGetNextFunction", llvm.get_next_function) &&
         Find(caller, "LLVMGetFirstBasicBlock", llvm.get_first_block) &&
         Find(caller, "LLVMGetNextBasicBlock", llvm.get_next_block) &&
         Find(caller, "LLVMGetFirstInstruction", llvm.get_first_instruction) &&
         Find(caller, "LLVMGetNextInstruction", llvm.get_next_instruction) &&
         Find(caller, "LLVMGetInstructionParent", llvm.get_parent) &&
         Find(caller, "LLVMIsAInstruction", llvm.is_instruction) &&
         Find(caller, "LLVMGetInstructionOpcode", llvm.get_opcode) &&
         Find(caller, "LLVMGetOperand", llvm.get_operand) &&
         Find(caller, "LLVMGetFirstUse", llvm.get_first_use) &&
         Find(caller, "LLVMGetNextUse", llvm.get_next_use) &&
         Find(caller, "LLVMTypeOf", llvm.type_of) &&
         Find(caller, "LLVMGetTypeKind", llvm.get_type_kind) &&
         Find(caller, "LLVMGetElementType", llvm.get_element_type) &&
         Find(caller, "LLVMGetModuleContext", llvm.get_context) &&
         Find(caller, "LLVMLookupIntrinsicID", llvm.lookup_intrinsic) &&
         Find(caller, "LLVMGetIntrinsicDeclaration", llvm.get_intrinsic) &&
         Find(caller, "LLVMIntrinsicGetType", llvm.get_intrinsic_type) &&
         Find(caller, "LLVMCreateBuilderInContext", llvm.create_builder) &&
         Find(caller, "LLVMDisposeBuilder", llvm.dispose_builder) &&
         Find(caller, "LLVMPositionBuilderBefore", llvm.position_before) &&
         Find(caller, "LLVMBuildFNeg", llvm.build_negation) &&
         Find(caller, "LLVMBuildCall2", llvm.build_call) &&
         Find(caller, "LLVMReplaceAllUsesWith", llvm.replace_all_uses) &&
         Find(caller, "LLVMInstructionEraseFromParent", llvm.erase) &&
         Find(caller, "LLVMConsumeError", llvm.consume_error);
}

// Null: none.
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
  if (blocks > kUnrolledBlocksMax) return nullptr;
  return instructions > kInlinedInstructionsMax ? kUnroll : kInlineAndUnroll;
}

class MultiplyAddFuser {
 public:
  MultiplyAddFuser(const Llvm& llvm, LLVMModuleRef module)
      : llvm_(llvm),
        module_(module),
        context_(llvm.get_context(module)),
        builder_(llvm.create_builder(context_)),
        multiply_add_(llvm.lookup_intrinsic("llvm.fmuladd", std::strlen("llvm.fmuladd"))) {}
  ~MultiplyAddFuser() { llvm_.dispose_builder(builder_); }
  MultiplyAddFuser(const MultiplyAddFuser&) = delete;
  MultiplyAddFuser& operator=(const MultiplyAddFuser&) = delete;

  void FuseAll() {
    for (auto* f = llvm_.get_first_function(module_); f != nullptr;
         f = llvm_.get_next_function(f)) {
      for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
        FuseBlock(b);
      }
    }
  }

 private:
  static constexpr unsigned kOperands[] = {1, 0};

  void FuseBlock(LLVMBasicBlockRef block) {
    LLVMValueRef next;
    for (auto* i = llvm_.get_first_instruction(block); i != nullptr; i = next) {
      next = llvm_.get_next_instruction(i);
      const int opcode = llvm_.get_opcode(i);
      if ((opcode != kFAdd && opcode != kFSub) || !IsFloat32(llvm_.type_of(i))) continue;
      for (const unsigned operand : kOperands) {
        if (!IsOwnProduct(llvm_.get_operand(i, operand), block)) continue;
        Fuse(i, operand, opcode == kFSub);
        break;
      }
    }
  }

  bool IsFloat32(LLVMTypeRef type) const {
    if (llvm_.get_type_kind(type) == kVectorType) type = llvm_.get_element_type(type);
    return llvm_.get_type_kind(type) == kFloatType;
  }

  // Of a block's, and used once.
  bool IsOwnProduct(LLVMValueRef value, LLVMBasicBlockRef block) const {
    return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == kFMul &&
           llvm_.get_parent(value) == block &&
           llvm_.get_next_use(llvm_.get_first_use(value)) == nullptr;
  }

  void Fuse(LLVMValueRef sum, unsigned product_operand, bool is_difference) {
    LLVMValueRef product = llvm_.get_operand(sum, product_operand);
    LLVMValueRef factors[] = {llvm_.get_operand(product, 0), llvm_.get_operand(product, 1)};
    LLVMValueRef other = llvm_.get_operand(sum, 1 - product_operand);
    llvm_.position_before(builder_, sum);
    if (is_difference) {
      LLVMValueRef& subtracted = product_operand == 1 ? factors[0] : other;
      subtracted = llvm_.build_negation(builder_, subtracted, "");
    }
    LLVMTypeRef type = llvm_.type_of(sum);
    LLVMValueRef arguments[] = {factors[0], factors[1], other};
    LLVMValueRef fused =
        llvm_.build_call(builder_, llvm_.get_intrinsic_type(context_, multiply_add_, &type, 1),
                         llvm_.get_intrinsic(module_, multiply_add_, &type, 1), arguments, 3, "");
    llvm_.replace_all_uses(sum, fused);
    llvm_.erase(sum);
    llvm_.erase(product);
  }

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  unsigned multiply_add_;  // The intrinsic's number.
};

using AddFunction = LLVMValueRef(LLVMModuleRef module, const char* name, LLVMTypeRef type);
using AddAttribute = void(LLVMValueRef function, const char* attribute, const char* value);
using RunPasses = void*(LLVMModuleRef module, const char* passes, void* machine, void* options);

}  // namespace
}  // namespace webnnd

// NOLINTBEGIN(readability-identifier-naming): LLVM's names.
extern "C" __attribute__((visibility("default"))) void* LLVMAddFunction(void* module,
                                                                        const char* name,
                                                                        void* type) {
  const void* caller = __builtin_return_address(0);
  auto* add = webnnd::FindReplaced<webnnd::AddFunction>(caller, "LLVMAddFunction", LLVMAddFunction);
  void* function = add(module, name, type);
  webnnd::AddAttribute* attribute;
  if (!webnnd::Find(caller, "LLVMAddTargetDependentFunctionAttr", attribute)) return function;
  attribute(function, "stackrealign", "");
  if (webnnd::WantsShortVectors()) {
    // What clang says of functions that use no vectors beyond that, under
    // -mprefer-vector-width=256.
    attribute(function, "min-legal-vector-width", "256");
    attribute(function, "prefer-vector-width", "256");
  }
  return function;
}

extern "C" __attribute__((visibility("default"))) void* LLVMRunPasses(void* module,
                                                                      const char* passes,
                                                                      void* machine,
                                                                      void* options) {
  const void* caller = __builtin_return_address(0);
  auto* run = webnnd::FindReplaced<webnnd::RunPasses>(caller, "LLVMRunPasses", LLVMRunPasses);
  void* error = run(module, passes, machine, options);
  // Before others, products of the same are not one yet.
  if (error != nullptr || std::strcmp(passes, webnnd::kFirstPasses) == 0) return error;
  webnnd::Llvm llvm;
  if (!webnnd::FindAll(caller, llvm)) return nullptr;
  if (std::strcmp(passes, webnnd::kOnlyPasses) != 0) {
    const char* more = webnnd::MorePasses(llvm, module);
    void* unknown = more == nullptr ? nullptr : run(module, more, machine, options);
    // Another LLVM may not know one of them: then it has run none.
    if (unknown != nullptr) llvm.consume_error(unknown);
  }
  if (webnnd::HasFusedMultiplyAdds()) webnnd::MultiplyAddFuser(llvm, module).FuseAll();
  return nullptr;
}
// NOLINTEND(readability-identifier-naming)

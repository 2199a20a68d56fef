// What the driver tells a kernel of its buffers does not change while it runs.
#ifndef WEBNND_BASE_DRIVERS_LLVM_INVARIANT_LOADS_H_
#define WEBNND_BASE_DRIVERS_LLVM_INVARIANT_LOADS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// Each access of llvmpipe's reads the address and the size of its buffer from a context, the first
// parameter of its functions (lp_jit_cs_context): for all that LLVM knows, each store may have
// changed them. Here those loads are marked as ones of what never changes, so that LLVM has one of
// them for many accesses, and outside of loops.
class InvariantLoads {
 public:
  InvariantLoads(const Llvm& llvm, LLVMModuleRef module) : llvm_(llvm), module_(module) {}

  // To be called before passes that take what is loaded again for the same.
  void Mark();

 private:
  // Whether it is an address that is known but for the context's own, `parameter`.
  bool IsInContext(LLVMValueRef address, LLVMValueRef parameter) const;
  // Whether it is made of constants, as the number of a buffer is.
  bool IsFixed(LLVMValueRef number) const;
  // A structure that begins with an array: others that functions get are what coroutines keep.
  bool IsContext(LLVMTypeRef type) const;

  bool Is(LLVMValueRef value, int opcode) const {
    return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
  }

  const Llvm& llvm_;
  LLVMModuleRef module_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_INVARIANT_LOADS_H_

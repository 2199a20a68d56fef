// A product of float32 that nothing uses but a sum or a difference beside it becomes one with it,
// by llvm.fmuladd, which rounds once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_MULTIPLY_ADDS_H_
#define WEBNND_BASE_DRIVERS_LLVM_MULTIPLY_ADDS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe tells no fma() from a product and a sum, and computes both; matrix products take a
// quarter longer with them. SPIR-V lets implementations contract what has no NoContraction
// (SPIR-V 1.6, 3.20), which is not to be seen here: what our shaders declare precise has products
// that are exact, or that more than a sum uses.
class MultiplyAddFuser {
 public:
  MultiplyAddFuser(const Llvm& llvm, LLVMModuleRef module);
  ~MultiplyAddFuser() { llvm_.dispose_builder(builder_); }
  MultiplyAddFuser(const MultiplyAddFuser&) = delete;
  MultiplyAddFuser& operator=(const MultiplyAddFuser&) = delete;

  void FuseAll();

 private:
  void FuseBlock(LLVMBasicBlockRef block);
  bool IsFloat32(LLVMTypeRef type) const;
  // Of a block's, and used once.
  bool IsOwnProduct(LLVMValueRef value, LLVMBasicBlockRef block) const;
  void Fuse(LLVMValueRef sum, unsigned product_operand, bool is_difference);

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  unsigned multiply_add_;  // The intrinsic's number.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_MULTIPLY_ADDS_H_

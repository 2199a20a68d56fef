// What LLVM would compute of float16 is computed of float32.
#ifndef WEBNND_BASE_DRIVERS_LLVM_HALF_WIDENINGS_H_
#define WEBNND_BASE_DRIVERS_LLVM_HALF_WIDENINGS_H_

#include <cstdint>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// Shaders compute of float32 all that they load of float16. Where that is a comparison with a
// number that a float16 can be, or an absolute value or a negation, LLVM finds that float16 have
// the same, and takes the conversion away or puts it behind. Processors of x86-64 have no such
// instructions but for AVX512-FP16's, so each lane is then converted, compared and put back apart:
// relu takes ten times as long. Here comparisons are of float32 again, whose conversion is exact,
// and signs are bits.
class HalfWidenings {
 public:
  HalfWidenings(const Llvm& llvm, LLVMModuleRef module);
  ~HalfWidenings() { llvm_.dispose_builder(builder_); }
  HalfWidenings(const HalfWidenings&) = delete;
  HalfWidenings& operator=(const HalfWidenings&) = delete;

  // To be called behind all passes that simplify.
  void Replace();

 private:
  // float16, or vectors of it.
  bool IsOfHalves(LLVMValueRef value) const;
  bool IsAbsoluteValue(LLVMValueRef instruction) const;
  // What stands for it. Null: it may stay.
  LLVMValueRef ReplacementOf(LLVMValueRef instruction);
  // The same with `value`'s element type.
  LLVMTypeRef WithElements(LLVMValueRef value, LLVMTypeRef element) const;
  LLVMValueRef Widen(LLVMValueRef half);
  LLVMValueRef ChangeBits(LLVMValueRef half, int opcode, uint16_t bits);

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  unsigned absolute_value_;  // The intrinsic's number.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_HALF_WIDENINGS_H_

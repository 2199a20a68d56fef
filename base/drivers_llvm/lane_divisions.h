// Lanes of integers are divided together.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_DIVISIONS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_DIVISIONS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// Processors divide no vectors of integers: LLVM takes lanes apart and divides one after the other,
// so that the number of a row for each turn of a loop takes longer than many a turn. Here sixteen
// lanes are divided as doubles, which are exact: of 32 bits, a quotient that is no integer differs
// from the next one by more than a double rounds it.
class LaneDivisions {
 public:
  LaneDivisions(const Llvm& llvm, LLVMModuleRef module);
  ~LaneDivisions() { llvm_.dispose_builder(builder_); }
  LaneDivisions(const LaneDivisions&) = delete;
  LaneDivisions& operator=(const LaneDivisions&) = delete;

  // To be called behind UniformBranches, which divides once what all lanes have.
  void Replace();

 private:
  // What stands for an instruction. Null: it may stay.
  LLVMValueRef ReplacementOf(LLVMValueRef instruction);
  LLVMValueRef DivideAsDoubles(bool is_signed, LLVMValueRef dividend, LLVMValueRef divisor);

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_DIVISIONS_H_

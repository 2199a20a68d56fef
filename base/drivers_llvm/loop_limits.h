// Loops go on for as long as their shader says.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LOOP_LIMITS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LOOP_LIMITS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// For tests of what lowerings count: from now on, the driver's limit stays.
void KeepLoopLimits();

// llvmpipe leaves a loop after 65535 turns, counted over all loops of an invocation, and goes on
// behind it as if it had ended (LP_MAX_TGSI_LOOP_ITERATIONS): results are wrong, and nobody is
// told. Here a shader has 2^31 - 1 turns. Lowerings keep to the small number all the same, for
// drivers whose LLVM we cannot reach; where one counts wrongly, this is what keeps its results
// right.
class LoopLimits {
 public:
  LoopLimits(const Llvm& llvm, LLVMModuleRef module) : llvm_(llvm), module_(module) {}

  // To be called before all passes: then the turns that are left are a variable in memory.
  void Raise();

 private:
  // Where the turns that are left are kept, by which a block decides whether to go back to a loop's
  // header. Null where it does not.
  LLVMValueRef TurnsLeft(LLVMBasicBlockRef latch) const;
  // In the place of the driver's limit, where `turns_left` begins with it.
  void Replace(LLVMValueRef turns_left) const;

  bool Is(LLVMValueRef value, int opcode) const {
    return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
  }
  bool IsNumber(LLVMValueRef value, unsigned long long number) const {
    return llvm_.is_constant_int(value) != nullptr && llvm_.get_int_value(value) == number;
  }

  const Llvm& llvm_;
  LLVMModuleRef module_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LOOP_LIMITS_H_

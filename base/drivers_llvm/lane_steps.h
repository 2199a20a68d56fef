// What is known of how a value differs from lane to lane.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

class LaneSteps {
 public:
  explicit LaneSteps(const Llvm& llvm) : llvm_(llvm) {}

  // Whether all lanes are known to have the same.
  bool IsUniform(LLVMValueRef value) const { return IsUniform(value, 0); }

 private:
  bool IsUniform(LLVMValueRef value, int depth) const;
  bool HasOneSource(LLVMValueRef shuffle) const;

  const Llvm& llvm_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_

// What is known of how a value differs from lane to lane.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_

#include <cstdint>
#include <optional>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

class LaneSteps {
 public:
  explicit LaneSteps(const Llvm& llvm) : llvm_(llvm) {}

  // Whether all lanes are known to have the same.
  bool IsUniform(LLVMValueRef value) const { return IsUniform(value, 0); }

  // Of <lanes x i32>: by how much each lane has more than the one before it, modulo 2^32.
  std::optional<uint32_t> StepOf(LLVMValueRef value) const { return StepOf(value, 0); }
  // Of vectors of which all elements are one constant: that.
  std::optional<uint32_t> NumberOf(LLVMValueRef vector) const;
  // Whether it is 0 & mark, of which the zero is one that only the shader knows.
  bool IsMark(LLVMValueRef value, uint32_t mark) const;
  // What a value is the sum of: `number` is that of all constants.
  struct Sum {
    LLVMValueRef root;
    uint32_t number;
  };
  Sum SumOf(LLVMValueRef value) const;

 private:
  bool IsUniform(LLVMValueRef value, int depth) const;
  std::optional<uint32_t> StepOf(LLVMValueRef value, int depth) const;
  // Of constants.
  std::optional<uint32_t> StepOfData(LLVMValueRef data) const;

  const Llvm& llvm_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_STEPS_H_

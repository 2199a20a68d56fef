#include "base/drivers_llvm/lane_steps.h"

namespace webnnd {
namespace {

// Beyond it nothing is known. llvmpipe's indices are 2 or 3 operations away from what says so: a
// comparison with the size, and a choice.
constexpr int kDepthMax = 8;

// Whether elements of the result are of those of the operands at the same place. A cast may have
// other elements: who asks compares their numbers.
bool IsByElement(int opcode) {
  return (opcode >= kAdd && opcode <= kXor) || (opcode >= kTrunc && opcode <= kBitCast) ||
         opcode == kICmp || opcode == kSelect;
}

}  // namespace

bool LaneSteps::IsUniform(LLVMValueRef value, int depth) const {
  LLVMTypeRef type = llvm_.type_of(value);
  if (llvm_.get_type_kind(type) != kVectorType) return true;  // The condition of a choice.
  if (HasOneElement(llvm_, value)) return true;
  if (llvm_.is_instruction(value) == nullptr || depth == kDepthMax) return false;
  const int opcode = llvm_.get_opcode(value);
  if (opcode == kShuffleVector) return HasOneSource(value);
  if (!IsByElement(opcode)) return false;
  for (int i = 0; i < llvm_.get_num_operands(value); ++i) {
    LLVMValueRef operand = llvm_.get_operand(value, static_cast<unsigned>(i));
    LLVMTypeRef operand_type = llvm_.type_of(operand);
    if (llvm_.get_type_kind(operand_type) == kVectorType &&
        llvm_.get_vector_size(operand_type) != llvm_.get_vector_size(type)) {
      return false;
    }
    if (!IsUniform(operand, depth + 1)) return false;
  }
  return true;
}

bool LaneSteps::HasOneSource(LLVMValueRef shuffle) const {
  const int source = llvm_.get_mask_value(shuffle, 0);
  for (unsigned i = 1; i < llvm_.get_num_mask_elements(shuffle); ++i) {
    if (llvm_.get_mask_value(shuffle, i) != source) return false;
  }
  return source >= 0;  // Negative: any.
}

}  // namespace webnnd

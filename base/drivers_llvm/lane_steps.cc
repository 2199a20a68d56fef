#include "base/drivers_llvm/lane_steps.h"

namespace webnnd {
namespace {

// Beyond it nothing is known. llvmpipe's indices are 2 or 3 operations away from what says so, a
// comparison with the size, and a choice; what a kernel adds to a lane's number is some more.
constexpr int kDepthMax = 8;

constexpr uint32_t kBits = 32;

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
  if (opcode == kShuffleVector) return SourceOfAll(llvm_, value) >= 0;
  if (!IsByElement(opcode)) return false;
  for (int i = 0; i < llvm_.get_num_operands(value); ++i) {
    LLVMValueRef operand = llvm_.get_operand(value, static_cast<unsigned>(i));
    LLVMTypeRef operand_type = llvm_.type_of(operand);
    const bool is_vector = llvm_.get_type_kind(operand_type) == kVectorType;
    if (is_vector ? llvm_.get_vector_size(operand_type) != llvm_.get_vector_size(type)
                  : opcode == kBitCast) {
      return false;
    }
    if (!IsUniform(operand, depth + 1)) return false;
  }
  return true;
}

std::optional<uint32_t> LaneSteps::StepOf(LLVMValueRef value, int depth) const {
  if (IsUniform(value, 0)) return 0;
  if (llvm_.is_constant_data_vector(value) != nullptr) return StepOfData(value);
  if (llvm_.is_instruction(value) == nullptr || depth == kDepthMax) return std::nullopt;
  const int opcode = llvm_.get_opcode(value);
  if (opcode != kAdd && opcode != kSub && opcode != kMul && opcode != kShl) return std::nullopt;
  LLVMValueRef second = llvm_.get_operand(value, 1);
  const std::optional<uint32_t> step = StepOf(llvm_.get_operand(value, 0), depth + 1);
  if (!step) return std::nullopt;
  if (opcode == kMul || opcode == kShl) {
    const std::optional<uint32_t> number = NumberOf(second);
    if (!number) return std::nullopt;
    if (opcode == kMul) return *step * *number;
    return *number < kBits ? std::optional(*step << *number) : std::nullopt;
  }
  const std::optional<uint32_t> other = StepOf(second, depth + 1);
  if (!other) return std::nullopt;
  return opcode == kAdd ? *step + *other : *step - *other;
}

std::optional<uint32_t> LaneSteps::StepOfData(LLVMValueRef data) const {
  const auto element = [&](unsigned i) {
    return static_cast<uint32_t>(llvm_.get_int_value(llvm_.get_element_as_constant(data, i)));
  };
  const uint32_t step = element(1) - element(0);
  for (unsigned i = 2; i < llvm_.get_vector_size(llvm_.type_of(data)); ++i) {
    if (element(i) - element(i - 1) != step) return std::nullopt;
  }
  return step;
}

std::optional<uint32_t> LaneSteps::NumberOf(LLVMValueRef vector) const {
  if (!HasOneElement(llvm_, vector)) return std::nullopt;
  if (llvm_.is_null(vector) != 0) return 0;
  return static_cast<uint32_t>(llvm_.get_int_value(llvm_.get_element_as_constant(vector, 0)));
}

bool LaneSteps::IsMark(LLVMValueRef value, uint32_t mark) const {
  return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == kAnd &&
         (NumberOf(llvm_.get_operand(value, 0)) == mark ||
          NumberOf(llvm_.get_operand(value, 1)) == mark);
}

LaneSteps::Sum LaneSteps::SumOf(LLVMValueRef value) const {
  Sum sum = {value, 0};
  while (llvm_.is_instruction(sum.root) != nullptr && llvm_.get_opcode(sum.root) == kAdd) {
    const std::optional<uint32_t> number = NumberOf(llvm_.get_operand(sum.root, 1));
    if (!number) break;
    sum.number += *number;
    sum.root = llvm_.get_operand(sum.root, 0);
  }
  return sum;
}

}  // namespace webnnd

#include "base/drivers_llvm/lane_divisions.h"

namespace webnnd {
namespace {

constexpr unsigned kWordBits = 32;
// With fewer lanes there are no instructions that convert them, and less to gain.
constexpr unsigned kLanes = 16;

bool IsDivision(int opcode) {
  return opcode == kUDiv || opcode == kSDiv || opcode == kURem || opcode == kSRem;
}

}  // namespace

LaneDivisions::LaneDivisions(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)) {}

void LaneDivisions::Replace() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      LLVMValueRef next;
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr; i = next) {
        next = llvm_.get_next_instruction(i);
        LLVMValueRef replacement = ReplacementOf(i);
        if (replacement == nullptr) continue;
        llvm_.replace_all_uses(i, replacement);
        llvm_.erase(i);
      }
    }
  }
}

LLVMValueRef LaneDivisions::ReplacementOf(LLVMValueRef instruction) {
  const int opcode = llvm_.get_opcode(instruction);
  if (!IsDivision(opcode)) return nullptr;
  LLVMTypeRef type = llvm_.type_of(instruction);
  if (llvm_.get_type_kind(type) != kVectorType || llvm_.get_vector_size(type) != kLanes ||
      llvm_.get_int_width(llvm_.get_element_type(type)) != kWordBits) {
    return nullptr;
  }
  LLVMValueRef dividend = llvm_.get_operand(instruction, 0);
  LLVMValueRef divisor = llvm_.get_operand(instruction, 1);
  // LLVM multiplies instead of dividing by numbers that it knows.
  if (HasOneElement(llvm_, divisor)) return nullptr;
  llvm_.position_before(builder_, instruction);
  const bool is_signed = opcode == kSDiv || opcode == kSRem;
  LLVMValueRef quotient = DivideAsDoubles(is_signed, dividend, divisor);
  if (opcode == kUDiv || opcode == kSDiv) return quotient;
  LLVMValueRef whole = llvm_.build_mul(builder_, quotient, divisor, "");
  return llvm_.build_binary(builder_, kSub, dividend, whole, "");
}

LLVMValueRef LaneDivisions::DivideAsDoubles(bool is_signed, LLVMValueRef dividend,
                                            LLVMValueRef divisor) {
  LLVMTypeRef type = llvm_.type_of(dividend);
  LLVMTypeRef doubles = llvm_.vector_type(llvm_.double_type(context_), kLanes);
  const int widen = is_signed ? kSIToFP : kUIToFP;
  LLVMValueRef quotient =
      llvm_.build_binary(builder_, kFDiv, llvm_.build_cast(builder_, widen, dividend, doubles, ""),
                         llvm_.build_cast(builder_, widen, divisor, doubles, ""), "");
  return llvm_.build_cast(builder_, is_signed ? kFPToSI : kFPToUI, quotient, type, "");
}

}  // namespace webnnd

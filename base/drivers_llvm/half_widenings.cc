#include "base/drivers_llvm/half_widenings.h"

#include <cstring>
#include <vector>

namespace webnnd {
namespace {

constexpr char kAbsoluteValue[] = "llvm.fabs";
constexpr uint16_t kSign = 0x8000;

}  // namespace

HalfWidenings::HalfWidenings(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)),
      absolute_value_(llvm.lookup_intrinsic(kAbsoluteValue, std::strlen(kAbsoluteValue))) {}

void HalfWidenings::Replace() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      LLVMValueRef next;
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr; i = next) {
        next = llvm_.get_next_instruction(i);
        llvm_.position_before(builder_, i);
        LLVMValueRef replacement = ReplacementOf(i);
        if (replacement == nullptr) continue;
        llvm_.replace_all_uses(i, replacement);
        llvm_.erase(i);
      }
    }
  }
}

LLVMValueRef HalfWidenings::ReplacementOf(LLVMValueRef instruction) {
  const int opcode = llvm_.get_opcode(instruction);
  if (opcode != kFCmp && opcode != kFNeg && opcode != kCall) return nullptr;
  LLVMValueRef operand = llvm_.get_operand(instruction, 0);
  if (!IsOfHalves(operand)) return nullptr;
  if (opcode == kFNeg) return ChangeBits(operand, kXor, kSign);
  if (opcode == kCall) {
    const uint16_t all_but_sign = 0xffff ^ kSign;
    return IsAbsoluteValue(instruction) ? ChangeBits(operand, kAnd, all_but_sign) : nullptr;
  }
  return llvm_.build_real_comparison(builder_, llvm_.get_real_predicate(instruction),
                                     Widen(operand), Widen(llvm_.get_operand(instruction, 1)), "");
}

bool HalfWidenings::IsOfHalves(LLVMValueRef value) const {
  LLVMTypeRef type = llvm_.type_of(value);
  if (llvm_.get_type_kind(type) == kVectorType) type = llvm_.get_element_type(type);
  return llvm_.get_type_kind(type) == kHalfType;
}

bool HalfWidenings::IsAbsoluteValue(LLVMValueRef instruction) const {
  LLVMValueRef called = llvm_.is_function(llvm_.get_called(instruction));
  return called != nullptr && llvm_.get_intrinsic_id(called) == absolute_value_;
}

LLVMTypeRef HalfWidenings::WithElements(LLVMValueRef value, LLVMTypeRef element) const {
  LLVMTypeRef type = llvm_.type_of(value);
  if (llvm_.get_type_kind(type) != kVectorType) return element;
  return llvm_.vector_type(element, llvm_.get_vector_size(type));
}

LLVMValueRef HalfWidenings::Widen(LLVMValueRef half) {
  return llvm_.build_float_extension(builder_, half, WithElements(half, llvm_.float_type(context_)),
                                     "");
}

LLVMValueRef HalfWidenings::ChangeBits(LLVMValueRef half, int opcode, uint16_t bits) {
  LLVMTypeRef word = llvm_.int_type(context_, 16);
  LLVMTypeRef type = WithElements(half, word);
  LLVMValueRef number = llvm_.const_int(word, bits, 0);
  if (type != word) {
    std::vector<LLVMValueRef> numbers(llvm_.get_vector_size(type), number);
    number = llvm_.const_vector(numbers.data(), static_cast<unsigned>(numbers.size()));
  }
  LLVMValueRef old_bits = llvm_.build_bitcast(builder_, half, type, "");
  LLVMValueRef new_bits = llvm_.build_binary(builder_, opcode, old_bits, number, "");
  return llvm_.build_bitcast(builder_, new_bits, llvm_.type_of(half), "");
}

}  // namespace webnnd

#include "base/drivers_llvm/half_roundings.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace webnnd {
namespace {

constexpr unsigned kWordBits = 32;
constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kHalfSign = 0x8000;
constexpr uint32_t kHalfInfinity = 0x7c00;
constexpr uint32_t kHalfNan = 0x7e00;
constexpr uint32_t kLarge = 0x47800000;   // 65536.
constexpr uint32_t kNormal = 0x38800000;  // The smallest float32 that is a normal float16.
constexpr uint32_t kLostBits = 13;
// The float16's exponents instead of the float32's, and nearly one half of what the last bit means.
constexpr uint32_t kRebiasAndRound = 0xc8000fff;
constexpr uint32_t kOneHalf = 0x3f000000;
constexpr char kBlend[] = "llvm.x86.avx.blendv.ps.256";

}  // namespace

HalfRoundings::HalfRoundings(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)),
      steps_(llvm),
      blend_(llvm.lookup_intrinsic(kBlend, std::strlen(kBlend))) {}

void HalfRoundings::Replace() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        LLVMValueRef source = SourceOf(i);
        if (source != nullptr) RoundInPlaceOf(i, source);
      }
    }
  }
}

LLVMValueRef HalfRoundings::SourceOf(LLVMValueRef half) const {
  if (!IsOf(half, kOr) || !IsOfWords(half)) return nullptr;
  for (const auto& [sign, rest] : {std::pair(0, 1), std::pair(1, 0)}) {
    LLVMValueRef shifted = Beside(kHalfSign, llvm_.get_operand(half, sign), kAnd);
    if (shifted == nullptr) continue;
    LLVMValueRef bits = Beside(16, shifted, kLShr);
    LLVMValueRef magnitude = MagnitudeOf(llvm_.get_operand(half, rest));
    if (bits == nullptr || magnitude == nullptr) continue;
    LLVMValueRef signed_bits = Beside(~kSign, magnitude, kAnd);
    if (signed_bits != nullptr && AreSame(BitsOf(signed_bits), BitsOf(bits))) return BitsOf(bits);
  }
  return nullptr;
}

LLVMValueRef HalfRoundings::MagnitudeOf(LLVMValueRef half) const {
  const Choice whether_large = ChoiceOf(half);
  if (whether_large.condition == nullptr ||
      llvm_.get_predicate(whether_large.condition) != kUnsignedGreaterOrEqual ||
      NumberOf(llvm_.get_operand(whether_large.condition, 1)) != kLarge) {
    return nullptr;
  }
  LLVMValueRef magnitude = llvm_.get_operand(whether_large.condition, 0);
  const Choice whether_subnormal = ChoiceOf(whether_large.otherwise);
  if (whether_subnormal.condition == nullptr ||
      llvm_.get_predicate(whether_subnormal.condition) != kUnsignedLess ||
      llvm_.get_operand(whether_subnormal.condition, 0) != magnitude ||
      NumberOf(llvm_.get_operand(whether_subnormal.condition, 1)) != kNormal) {
    return nullptr;
  }
  const bool is_rounded = IsOfLarge(whether_large.then, magnitude) &&
                          IsOfSubnormal(whether_subnormal.then, magnitude) &&
                          IsOfNormal(whether_subnormal.otherwise, magnitude);
  return is_rounded ? magnitude : nullptr;
}

bool HalfRoundings::IsOfLarge(LLVMValueRef half, LLVMValueRef magnitude) const {
  const Choice whether_nan = ChoiceOf(half);
  return whether_nan.condition != nullptr &&
         llvm_.get_predicate(whether_nan.condition) == kUnsignedLess &&
         NumberOf(llvm_.get_operand(whether_nan.condition, 0)) == kInfinity &&
         llvm_.get_operand(whether_nan.condition, 1) == magnitude &&
         NumberOf(whether_nan.then) == kHalfNan && NumberOf(whether_nan.otherwise) == kHalfInfinity;
}

bool HalfRoundings::IsOfSubnormal(LLVMValueRef half, LLVMValueRef magnitude) const {
  LLVMValueRef rounded = Beside(0 - kOneHalf, half, kAdd);
  if (rounded == nullptr || !IsOf(BitsOf(rounded), kFAdd)) return false;
  LLVMValueRef sum = BitsOf(rounded);
  LLVMValueRef second = llvm_.get_operand(sum, 1);
  if (!HasOneElement(llvm_, second) || llvm_.is_constant_data_vector(second) == nullptr) {
    return false;
  }
  int loses = 0;
  const double number = llvm_.get_real(llvm_.get_element_as_constant(second, 0), &loses);
  return number == 0.5 && BitsOf(llvm_.get_operand(sum, 0)) == magnitude;
}

bool HalfRoundings::IsOfNormal(LLVMValueRef half, LLVMValueRef magnitude) const {
  LLVMValueRef sum = Beside(kLostBits, half, kLShr);
  if (sum == nullptr || !IsOf(sum, kAdd)) return false;
  for (const auto& [rebiased, odd] : {std::pair(0, 1), std::pair(1, 0)}) {
    LLVMValueRef last_bit = Beside(1, llvm_.get_operand(sum, odd), kAnd);
    if (Beside(kRebiasAndRound, llvm_.get_operand(sum, rebiased), kAdd) == magnitude &&
        last_bit != nullptr && Beside(kLostBits, last_bit, kLShr) == magnitude) {
      return true;
    }
  }
  return false;
}

LLVMValueRef HalfRoundings::Beside(uint32_t number, LLVMValueRef value, int opcode) const {
  if (!IsOf(value, opcode) || NumberOf(llvm_.get_operand(value, 1)) != number) {
    return nullptr;
  }
  return llvm_.get_operand(value, 0);
}

std::optional<uint32_t> HalfRoundings::NumberOf(LLVMValueRef vector) const {
  return IsOfWords(vector) ? steps_.NumberOf(vector) : std::nullopt;
}

bool HalfRoundings::IsOfWords(LLVMValueRef vector) const {
  LLVMTypeRef type = llvm_.type_of(vector);
  if (llvm_.get_type_kind(type) != kVectorType) return false;
  LLVMTypeRef element = llvm_.get_element_type(type);
  return llvm_.get_type_kind(element) == kIntegerType && llvm_.get_int_width(element) == kWordBits;
}

HalfRoundings::Choice HalfRoundings::ChoiceOf(LLVMValueRef value) const {
  const unsigned lanes = llvm_.get_vector_size(llvm_.type_of(value));
  value = BitsOf(value);
  if (IsOf(value, kSelect)) {
    return {ComparisonOf(llvm_.get_operand(value, 0), lanes), llvm_.get_operand(value, 1),
            llvm_.get_operand(value, 2)};
  }
  if (!IsOf(value, kCall)) return {};
  LLVMValueRef called = llvm_.is_function(llvm_.get_called(value));
  if (called == nullptr || llvm_.get_intrinsic_id(called) != blend_) return {};
  return {ComparisonOf(llvm_.get_operand(value, 2), lanes), BitsOf(llvm_.get_operand(value, 1)),
          BitsOf(llvm_.get_operand(value, 0))};
}

LLVMValueRef HalfRoundings::ComparisonOf(LLVMValueRef condition, unsigned lanes) const {
  for (;;) {
    LLVMTypeRef type = llvm_.type_of(condition);
    if (llvm_.get_type_kind(type) != kVectorType || llvm_.get_vector_size(type) != lanes) {
      return nullptr;
    }
    const bool is_comparison = IsOf(condition, kICmp);
    if (is_comparison && !(llvm_.get_predicate(condition) == kNotEqual &&
                           llvm_.is_null(llvm_.get_operand(condition, 1)) != 0)) {
      return condition;
    }
    if (!is_comparison && !IsOf(condition, kSExt) && !IsOf(condition, kTrunc) &&
        !IsOf(condition, kBitCast)) {
      return nullptr;
    }
    condition = llvm_.get_operand(condition, 0);
  }
}

bool HalfRoundings::AreSame(LLVMValueRef a, LLVMValueRef b) const {
  if (a == b) return true;
  if (!IsOf(a, kExtractValue) || !IsOf(b, kExtractValue)) return false;
  const unsigned count = llvm_.get_num_indices(a);
  return llvm_.get_operand(a, 0) == llvm_.get_operand(b, 0) && llvm_.get_num_indices(b) == count &&
         std::equal(llvm_.get_indices(a), llvm_.get_indices(a) + count, llvm_.get_indices(b));
}

LLVMValueRef HalfRoundings::BitsOf(LLVMValueRef value) const {
  while (IsOf(value, kBitCast)) value = llvm_.get_operand(value, 0);
  return value;
}

bool HalfRoundings::IsOf(LLVMValueRef value, int opcode) const {
  return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
}

void HalfRoundings::RoundInPlaceOf(LLVMValueRef half, LLVMValueRef source) {
  LLVMTypeRef type = llvm_.type_of(half);
  const unsigned lanes = llvm_.get_vector_size(type);
  auto vector_of = [&](LLVMTypeRef element) { return llvm_.vector_type(element, lanes); };
  llvm_.position_before(builder_, half);
  source = llvm_.build_bitcast(builder_, source, vector_of(llvm_.float_type(context_)), "");
  LLVMValueRef rounded =
      llvm_.build_float_truncation(builder_, source, vector_of(llvm_.half_type(context_)), "");
  LLVMValueRef bits =
      llvm_.build_bitcast(builder_, rounded, vector_of(llvm_.int_type(context_, 16)), "");
  llvm_.replace_all_uses(half, llvm_.build_zext(builder_, bits, type, ""));
}

}  // namespace webnnd

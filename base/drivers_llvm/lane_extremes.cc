#include "base/drivers_llvm/lane_extremes.h"

#include <array>
#include <cstring>

namespace webnnd {
namespace {

constexpr unsigned kLanes = 16;
constexpr char kMax[] = "llvm.x86.avx.max.ps.256";
constexpr char kMin[] = "llvm.x86.avx.min.ps.256";

}  // namespace

LaneExtremes::LaneExtremes(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      builder_(llvm.create_builder(llvm.get_context(module))),
      max_(llvm.lookup_intrinsic(kMax, std::strlen(kMax))),
      min_(llvm.lookup_intrinsic(kMin, std::strlen(kMin))) {}

void LaneExtremes::Join() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        if (TakesLanes(i, 0) && llvm_.get_num_mask_elements(i) == kLanes) JoinHalves(i);
      }
    }
  }
}

void LaneExtremes::JoinHalves(LLVMValueRef whole) {
  LLVMValueRef low = llvm_.get_operand(whole, 0);
  LLVMValueRef high = llvm_.get_operand(whole, 1);
  const int comparison = ComparisonOf(low);
  if (comparison == 0 || ComparisonOf(high) != comparison) return;
  LLVMValueRef first = WholeOf(llvm_.get_operand(low, 0), llvm_.get_operand(high, 0));
  LLVMValueRef second = WholeOf(llvm_.get_operand(low, 1), llvm_.get_operand(high, 1));
  if (first == nullptr || second == nullptr) return;
  llvm_.position_before(builder_, whole);
  LLVMValueRef is_first = llvm_.build_real_comparison(builder_, comparison, first, second, "");
  llvm_.replace_all_uses(whole, llvm_.build_select(builder_, is_first, first, second, ""));
}

int LaneExtremes::ComparisonOf(LLVMValueRef value) const {
  if (llvm_.is_instruction(value) == nullptr || llvm_.get_opcode(value) != kCall) return 0;
  LLVMValueRef called = llvm_.is_function(llvm_.get_called(value));
  if (called == nullptr) return 0;
  const unsigned id = llvm_.get_intrinsic_id(called);
  if (id == max_) return kOrderedGreater;
  return id == min_ ? kOrderedLess : 0;
}

LLVMValueRef LaneExtremes::WholeOf(LLVMValueRef low, LLVMValueRef high) const {
  if (low == high && HasOneElement(llvm_, low)) {
    LLVMTypeRef type = llvm_.vector_type(llvm_.get_element_type(llvm_.type_of(low)), kLanes);
    if (llvm_.is_null(low) != 0) return llvm_.const_null(type);
    std::array<LLVMValueRef, kLanes> elements;
    elements.fill(llvm_.get_element_as_constant(low, 0));
    return llvm_.const_vector(elements.data(), kLanes);
  }
  if (!TakesLanes(low, 0) || !TakesLanes(high, kLanes / 2)) return nullptr;
  LLVMValueRef whole = llvm_.get_operand(low, 0);
  const bool is_whole =
      llvm_.get_operand(high, 0) == whole && llvm_.get_vector_size(llvm_.type_of(whole)) == kLanes;
  return is_whole ? whole : nullptr;
}

bool LaneExtremes::TakesLanes(LLVMValueRef value, int first) const {
  if (llvm_.is_instruction(value) == nullptr || llvm_.get_opcode(value) != kShuffleVector) {
    return false;
  }
  for (unsigned i = 0; i < llvm_.get_num_mask_elements(value); ++i) {
    if (llvm_.get_mask_value(value, i) != first + static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace webnnd

#include "base/drivers_llvm/loop_limits.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace webnnd {
namespace {

constexpr unsigned long long kDriversTurnsMax = 65535;
constexpr int32_t kTurnsMax = std::numeric_limits<int32_t>::max();

std::atomic<bool> keeps;

}  // namespace

void KeepLoopLimits() { keeps = true; }

void LoopLimits::Raise() {
  if (keeps) return;
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      LLVMValueRef turns_left = TurnsLeft(b);
      if (turns_left != nullptr) Replace(turns_left);
    }
  }
}

// br (and is_any, (icmp sgt (sub (load turns_left), 1), 0)), header, exit
LLVMValueRef LoopLimits::TurnsLeft(LLVMBasicBlockRef latch) const {
  LLVMValueRef branch = llvm_.get_terminator(latch);
  if (branch == nullptr || !Is(branch, kBr) || llvm_.get_num_successors(branch) != 2) {
    return nullptr;
  }
  LLVMValueRef goes_on = llvm_.get_condition(branch);
  if (!Is(goes_on, kAnd)) return nullptr;
  LLVMValueRef is_below = llvm_.get_operand(goes_on, 1);
  if (!Is(is_below, kICmp) || llvm_.get_predicate(is_below) != kSignedGreater ||
      llvm_.is_null(llvm_.get_operand(is_below, 1)) == 0) {
    return nullptr;
  }
  LLVMValueRef left = llvm_.get_operand(is_below, 0);
  if (!Is(left, kSub) || !IsNumber(llvm_.get_operand(left, 1), 1)) return nullptr;
  LLVMValueRef load = llvm_.get_operand(left, 0);
  if (!Is(load, kLoad)) return nullptr;
  LLVMValueRef turns_left = llvm_.get_operand(load, 0);
  return Is(turns_left, kAlloca) ? turns_left : nullptr;
}

void LoopLimits::Replace(LLVMValueRef turns_left) const {
  for (auto* use = llvm_.get_first_use(turns_left); use != nullptr; use = llvm_.get_next_use(use)) {
    LLVMValueRef store = llvm_.get_user(use);
    if (!Is(store, kStore) || llvm_.get_operand(store, 1) != turns_left) continue;
    LLVMValueRef value = llvm_.get_operand(store, 0);
    if (!IsNumber(value, kDriversTurnsMax)) continue;
    llvm_.set_operand(store, 0, llvm_.const_int(llvm_.type_of(value), kTurnsMax, /*is_signed=*/0));
  }
}

}  // namespace webnnd

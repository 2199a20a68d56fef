#include "base/drivers_llvm/access_order.h"

#include <string_view>

namespace webnnd {
namespace {

// Of calls in calls.
constexpr int kDepthMax = 2;

}  // namespace

AccessOrder::AccessOrder(const Llvm& llvm, LLVMValueRef function, const Loads& loads)
    : llvm_(llvm) {
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    LLVMValueRef end = llvm_.get_terminator(b);
    for (unsigned i = 0; i < llvm_.get_num_successors(end); ++i) {
      ++ways_in_[llvm_.get_successor(end, i)];
    }
  }
  std::unordered_set<LLVMBasicBlockRef> follow;
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    if (LLVMBasicBlockRef next = Next(b, loads)) follow.insert(next);
  }
  unsigned run = 0;
  unsigned number = 0;
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    if (follow.contains(b)) continue;
    ++run;
    for (LLVMBasicBlockRef block = b; block != nullptr; block = Next(block, loads)) {
      LLVMValueRef end = llvm_.get_terminator(block);
      for (auto* i = llvm_.get_first_instruction(block); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        if (MayWrite(i, 0)) ++run;
        if (i == end || llvm_.get_opcode(i) == kCall) places_[i] = {run, number++};
      }
    }
  }
}

std::optional<AccessOrder::Place> AccessOrder::PlaceOf(LLVMValueRef instruction) const {
  const auto found = places_.find(instruction);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

LLVMBasicBlockRef AccessOrder::Next(LLVMBasicBlockRef block, const Loads& loads) const {
  const auto is_only_way_in = [&](LLVMBasicBlockRef to, int ways) {
    return ways_in_.at(to) == ways;
  };
  if (const auto loop = loads.find(block); loop != loads.end()) {
    return is_only_way_in(loop->second, 1) ? loop->second : nullptr;
  }
  LLVMValueRef end = llvm_.get_terminator(block);
  if (llvm_.get_opcode(end) != kBr) return nullptr;
  LLVMBasicBlockRef first = llvm_.get_successor(end, 0);
  if (llvm_.get_num_successors(end) == 1) return is_only_way_in(first, 1) ? first : nullptr;
  LLVMBasicBlockRef second = llvm_.get_successor(end, 1);
  return is_only_way_in(first, 2) && is_only_way_in(second, 1) && IsDetour(second, first) ? first
                                                                                          : nullptr;
}

bool AccessOrder::IsDetour(LLVMBasicBlockRef block, LLVMBasicBlockRef back) const {
  LLVMValueRef end = llvm_.get_terminator(block);
  if (llvm_.get_opcode(end) != kBr || llvm_.get_num_successors(end) != 1 ||
      llvm_.get_successor(end, 0) != back) {
    return false;
  }
  for (auto* i = llvm_.get_first_instruction(block); i != nullptr;
       i = llvm_.get_next_instruction(i)) {
    if (MayWrite(i, 0)) return false;
  }
  return true;
}

bool AccessOrder::MayWrite(LLVMValueRef instruction, int depth) const {
  switch (llvm_.get_opcode(instruction)) {
    case kStore:
      return !IsOfStack(llvm_.get_operand(instruction, 1));
    case kCall:
      return MayCallWrite(instruction, depth);
    case kFence:
    case kAtomicCompareExchange:
    case kAtomicReadModifyWrite:
      return true;
    default:
      return false;
  }
}

bool AccessOrder::MayCallWrite(LLVMValueRef call, int depth) const {
  LLVMValueRef function = llvm_.is_function(llvm_.get_called(call));
  if (function == nullptr || depth == kDepthMax) return true;
  if (llvm_.get_intrinsic_id(function) != 0) {
    // Those that write have no result, but some by which coroutines wait.
    size_t length = 0;
    const char* name = llvm_.get_name(function, &length);
    return llvm_.get_type_kind(llvm_.type_of(call)) == kVoidType ||
           std::string_view(name, length).starts_with("llvm.coro.");
  }
  LLVMBasicBlockRef b = llvm_.get_first_block(function);
  if (b == nullptr) return true;
  for (; b != nullptr; b = llvm_.get_next_block(b)) {
    for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
         i = llvm_.get_next_instruction(i)) {
      if (MayWrite(i, depth + 1)) return true;
    }
  }
  return false;
}

bool AccessOrder::IsOfStack(LLVMValueRef address) const {
  while (llvm_.is_instruction(address) != nullptr &&
         (llvm_.get_opcode(address) == kGetElementPtr || llvm_.get_opcode(address) == kBitCast)) {
    address = llvm_.get_operand(address, 0);
  }
  return llvm_.is_instruction(address) != nullptr && llvm_.get_opcode(address) == kAlloca;
}

}  // namespace webnnd

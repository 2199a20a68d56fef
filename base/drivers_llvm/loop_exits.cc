#include "base/drivers_llvm/loop_exits.h"

#include <vector>

namespace webnnd {
namespace {

// Of masks that are parts of others; llvmpipe's are 2 or 3 away.
constexpr int kDepthMax = 8;

}  // namespace

LoopExits::LoopExits(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)) {}

void LoopExits::Add() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    std::vector<LLVMBasicBlockRef> latches;  // Before there are other blocks.
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      if (MaskAtEnd(b) != nullptr) latches.push_back(b);
    }
    for (LLVMBasicBlockRef latch : latches) AddTo(latch);
  }
}

void LoopExits::AddTo(LLVMBasicBlockRef latch) {
  LLVMValueRef branch = llvm_.get_terminator(latch);
  LLVMBasicBlockRef header = llvm_.get_successor(branch, 0);
  LLVMBasicBlockRef exit = llvm_.get_successor(branch, 1);
  LLVMValueRef mask = MaskAfterBreak(MaskAtEnd(latch), header, 0);
  if (mask != nullptr && CanLeave(mask, header, exit)) LeaveBehind(mask, header, exit);
}

// br (and (icmp ne (bitcast mask to one integer), 0), limit), header, exit
LLVMValueRef LoopExits::MaskAtEnd(LLVMBasicBlockRef latch) const {
  LLVMValueRef branch = llvm_.get_terminator(latch);
  if (branch == nullptr || !Is(branch, kBr) || llvm_.get_num_successors(branch) != 2) {
    return nullptr;
  }
  LLVMValueRef goes_on = llvm_.get_condition(branch);
  if (!Is(goes_on, kAnd)) return nullptr;
  LLVMValueRef is_any = llvm_.get_operand(goes_on, 0);
  if (!Is(is_any, kICmp) || llvm_.get_predicate(is_any) != kNotEqual ||
      llvm_.is_null(llvm_.get_operand(is_any, 1)) == 0) {
    return nullptr;
  }
  LLVMValueRef bits = llvm_.get_operand(is_any, 0);
  if (!Is(bits, kBitCast)) return nullptr;
  LLVMValueRef mask = llvm_.get_operand(bits, 0);
  return llvm_.get_type_kind(llvm_.type_of(mask)) == kVectorType ? mask : nullptr;
}

// and (load mask of those that have not left), (xor those that leave, -1)
LLVMValueRef LoopExits::MaskAfterBreak(LLVMValueRef mask, LLVMBasicBlockRef header,
                                       int depth) const {
  if (!Is(mask, kAnd) || depth == kDepthMax) return nullptr;
  LLVMValueRef before = llvm_.get_operand(mask, 0);
  LLVMValueRef staying = llvm_.get_operand(mask, 1);
  if (llvm_.get_block(mask) == header && Is(before, kLoad) && Is(staying, kXor) &&
      llvm_.get_operand(staying, 1) == llvm_.const_all_ones(llvm_.type_of(mask))) {
    return mask;
  }
  LLVMValueRef found = MaskAfterBreak(before, header, depth + 1);
  return found != nullptr ? found : MaskAfterBreak(staying, header, depth + 1);
}

LoopExits::Blocks LoopExits::BlocksOfTurn(LLVMBasicBlockRef header, LLVMBasicBlockRef exit) const {
  Blocks turn;
  std::vector<LLVMBasicBlockRef> pending = {header};
  while (!pending.empty()) {
    LLVMValueRef terminator = llvm_.get_terminator(pending.back());
    pending.pop_back();
    for (unsigned i = 0; i < llvm_.get_num_successors(terminator); ++i) {
      LLVMBasicBlockRef next = llvm_.get_successor(terminator, i);
      if (next != header && next != exit && turn.insert(next).second) pending.push_back(next);
    }
  }
  return turn;
}

bool LoopExits::IsUsedOnlyIn(LLVMValueRef value, LLVMBasicBlockRef header,
                             const Blocks& turn) const {
  for (auto* use = llvm_.get_first_use(value); use != nullptr; use = llvm_.get_next_use(use)) {
    LLVMBasicBlockRef block = llvm_.get_block(llvm_.get_user(use));
    if (block != header && !turn.contains(block)) return false;
  }
  return true;
}

bool LoopExits::CanLeave(LLVMValueRef mask, LLVMBasicBlockRef header,
                         LLVMBasicBlockRef exit) const {
  // Phis would have to learn of another block.
  if (BeginsWithPhi(header) || BeginsWithPhi(exit)) return false;
  LLVMValueRef terminator = llvm_.get_terminator(header);
  for (unsigned i = 0; i < llvm_.get_num_successors(terminator); ++i) {
    if (BeginsWithPhi(llvm_.get_successor(terminator, i))) return false;
  }
  const Blocks turn = BlocksOfTurn(header, exit);
  for (auto* i = llvm_.get_next_instruction(mask); i != nullptr;
       i = llvm_.get_next_instruction(i)) {
    if (!IsUsedOnlyIn(i, header, turn)) return false;
  }
  for (LLVMBasicBlockRef block : turn) {
    // Another way out: then `turn` is more than the loop.
    if (llvm_.get_num_successors(llvm_.get_terminator(block)) == 0) return false;
    for (auto* i = llvm_.get_first_instruction(block); i != nullptr;
         i = llvm_.get_next_instruction(i)) {
      if (!IsUsedOnlyIn(i, header, turn)) return false;
    }
  }
  return true;
}

void LoopExits::LeaveBehind(LLVMValueRef mask, LLVMBasicBlockRef header, LLVMBasicBlockRef exit) {
  LLVMBasicBlockRef rest = llvm_.append_block(context_, llvm_.get_function(header), "turn");
  llvm_.position_at_end(builder_, rest);
  LLVMValueRef next;
  for (auto* i = llvm_.get_next_instruction(mask); i != nullptr; i = next) {
    next = llvm_.get_next_instruction(i);
    llvm_.remove(i);
    llvm_.insert(builder_, i);
  }
  llvm_.position_at_end(builder_, header);
  LLVMTypeRef type = llvm_.type_of(mask);
  const unsigned bits =
      llvm_.get_vector_size(type) * llvm_.get_int_width(llvm_.get_element_type(type));
  LLVMTypeRef integer = llvm_.int_type(context_, bits);
  LLVMValueRef whole = llvm_.build_bitcast(builder_, mask, integer, "");
  LLVMValueRef is_any =
      llvm_.build_comparison(builder_, kNotEqual, whole, llvm_.const_null(integer), "");
  llvm_.build_branch(builder_, is_any, rest, exit);
}

bool LoopExits::Is(LLVMValueRef value, int opcode) const {
  return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
}

bool LoopExits::BeginsWithPhi(LLVMBasicBlockRef block) const {
  LLVMValueRef first = llvm_.get_first_instruction(block);
  return first != nullptr && Is(first, kPhi);
}

}  // namespace webnnd

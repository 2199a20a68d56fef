#include "base/drivers_llvm/loop_blends.h"

#include <algorithm>
#include <string_view>

namespace webnnd {
namespace {

constexpr unsigned kLanes = 16;
// Of what a value is computed from.
constexpr int kDepthMax = 64;

}  // namespace

LoopBlends::LoopBlends(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm), module_(module), builder_(llvm.create_builder(llvm.get_context(module))) {
  for (std::string_view name : {"llvm.umin", "llvm.umax", "llvm.smin", "llvm.smax"}) {
    elementwise_.insert(llvm.lookup_intrinsic(name.data(), name.size()));
  }
}

void LoopBlends::MoveOut() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    if (llvm_.get_first_block(f) != nullptr) MoveOutOf(f);
  }
}

LoopBlends::Predecessors LoopBlends::FindPredecessors(const Llvm& llvm, LLVMValueRef function) {
  Predecessors predecessors;
  for (auto* b = llvm.get_first_block(function); b != nullptr; b = llvm.get_next_block(b)) {
    LLVMValueRef terminator = llvm.get_terminator(b);
    if (terminator == nullptr) continue;
    for (unsigned i = 0; i < llvm.get_num_successors(terminator); ++i) {
      predecessors[llvm.get_successor(terminator, i)].push_back(b);
    }
  }
  return predecessors;
}

void LoopBlends::MoveOutOf(LLVMValueRef function) {
  const Predecessors predecessors = FindPredecessors(llvm_, function);
  LLVMBasicBlockRef entry = llvm_.get_first_block(function);
  for (auto* b = entry; b != nullptr; b = llvm_.get_next_block(b)) {
    Loop loop;
    if (!FindLoop(b, entry, predecessors, loop) || !FindExit(predecessors, loop) ||
        !FindMask(loop)) {
      continue;
    }
    std::vector<Variable> variables;
    for (auto* i = llvm_.get_first_instruction(b); Is(i, kPhi); i = llvm_.get_next_instruction(i)) {
      Variable variable;
      if (FindVariable(i, loop, variable)) variables.push_back(variable);
    }
    if (!variables.empty() && LeaveTogether(loop)) BlendBehind(loop, variables);
  }
}

// The blocks from which the latch is reached without passing the header.
bool LoopBlends::FindLoop(LLVMBasicBlockRef header, LLVMBasicBlockRef entry,
                          const Predecessors& predecessors, Loop& loop) const {
  const auto of_header = predecessors.find(header);
  if (of_header == predecessors.end() || of_header->second.size() != 2) return false;
  if (!Is(llvm_.get_first_instruction(header), kPhi)) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    loop.header = header;
    loop.latch = of_header->second[side];
    loop.before = of_header->second[1 - side];
    loop.blocks = {header, loop.latch};
    std::vector<LLVMBasicBlockRef> pending;
    if (loop.latch != header) pending.push_back(loop.latch);
    while (!pending.empty()) {
      LLVMBasicBlockRef block = pending.back();
      pending.pop_back();
      const auto found = predecessors.find(block);
      if (found == predecessors.end()) continue;
      for (LLVMBasicBlockRef previous : found->second) {
        if (loop.blocks.insert(previous).second) pending.push_back(previous);
      }
    }
    if (!loop.blocks.contains(entry) && !loop.blocks.contains(loop.before)) return true;
  }
  return false;
}

bool LoopBlends::FindExit(const Predecessors& predecessors, Loop& loop) const {
  for (LLVMBasicBlockRef block : loop.blocks) {
    LLVMValueRef terminator = llvm_.get_terminator(block);
    // Another way out.
    if (llvm_.get_num_successors(terminator) == 0) return false;
    for (unsigned i = 0; i < llvm_.get_num_successors(terminator); ++i) {
      LLVMBasicBlockRef next = llvm_.get_successor(terminator, i);
      if (loop.blocks.contains(next)) continue;
      if (loop.exit != nullptr && loop.exit != next) return false;
      loop.exit = next;
    }
  }
  if (loop.exit == nullptr) return false;
  const std::vector<LLVMBasicBlockRef>& before_exit = predecessors.at(loop.exit);
  return std::all_of(before_exit.begin(), before_exit.end(),
                     [&](LLVMBasicBlockRef block) { return loop.blocks.contains(block); });
}

// br (icmp eq or ne (bitcast mask to one integer), 0), and out of the loop where it is 0.
bool LoopBlends::FindMask(Loop& loop) const {
  LLVMValueRef branch = llvm_.get_terminator(loop.header);
  if (!Is(branch, kBr) || llvm_.get_num_successors(branch) != 2) return false;
  LLVMValueRef condition = llvm_.get_condition(branch);
  if (!Is(condition, kICmp) || llvm_.is_null(llvm_.get_operand(condition, 1)) == 0) return false;
  const int predicate = llvm_.get_predicate(condition);
  if (predicate != kEqual && predicate != kNotEqual) return false;
  if (llvm_.get_successor(branch, predicate == kEqual ? 0 : 1) != loop.exit) return false;
  LLVMValueRef bits = llvm_.get_operand(condition, 0);
  if (!Is(bits, kBitCast)) return false;
  loop.mask = llvm_.get_operand(bits, 0);
  LLVMTypeRef type = llvm_.type_of(loop.mask);
  if (llvm_.get_type_kind(type) != kVectorType || llvm_.get_vector_size(type) != kLanes ||
      llvm_.get_type_kind(llvm_.get_element_type(type)) != kIntegerType) {
    return false;
  }
  return IsIn(loop.mask, loop) && Divide(loop.mask, loop);
}

bool LoopBlends::Divide(LLVMValueRef mask, Loop& loop) const {
  if (!IsIn(mask, loop)) {
    loop.entering.push_back(mask);
    loop.full.insert(mask);
    return true;
  }
  if (Is(mask, kAnd)) {
    return Divide(llvm_.get_operand(mask, 0), loop) && Divide(llvm_.get_operand(mask, 1), loop);
  }
  if (Is(mask, kSelect)) {
    const bool leave_first = llvm_.is_null(llvm_.get_operand(mask, 1)) != 0;
    if (leave_first || llvm_.is_null(llvm_.get_operand(mask, 2)) != 0) {
      loop.stays.push_back(llvm_.get_operand(mask, 0));
      return Divide(llvm_.get_operand(mask, leave_first ? 2 : 1), loop);
    }
  }
  if (Is(mask, kPhi) && llvm_.get_block(mask) == loop.header) {
    LLVMValueRef initial = Incoming(mask, loop.before);
    loop.entering.push_back(initial);
    loop.full.insert(initial);
    loop.full.insert(mask);
    loop.carried.insert(mask);
    return true;
  }
  loop.stays.push_back(mask);
  return true;
}

bool LoopBlends::IsMadeOfParts(LLVMValueRef mask, const Loop& loop) const {
  if (mask == loop.mask || loop.carried.contains(mask) ||
      std::find(loop.stays.begin(), loop.stays.end(), mask) != loop.stays.end()) {
    return true;
  }
  if (!IsIn(mask, loop)) {
    return std::find(loop.entering.begin(), loop.entering.end(), mask) != loop.entering.end();
  }
  if (Is(mask, kAnd)) {
    return IsMadeOfParts(llvm_.get_operand(mask, 0), loop) &&
           IsMadeOfParts(llvm_.get_operand(mask, 1), loop);
  }
  if (!Is(mask, kSelect)) return false;
  const bool leave_first = llvm_.is_null(llvm_.get_operand(mask, 1)) != 0;
  if (!leave_first && llvm_.is_null(llvm_.get_operand(mask, 2)) == 0) return false;
  return IsMadeOfParts(llvm_.get_operand(mask, 0), loop) &&
         IsMadeOfParts(llvm_.get_operand(mask, leave_first ? 2 : 1), loop);
}

bool LoopBlends::IsPartOf(LLVMValueRef mask, LLVMValueRef whole, const Loop& loop) const {
  if (mask == whole || mask == loop.mask) return true;
  if (!IsIn(mask, loop) || (!Is(mask, kAnd) && !Is(mask, kSelect))) return false;
  // Of a select, one of the two is nothing.
  const unsigned last = Is(mask, kAnd) ? 1 : 2;
  return IsPartOf(llvm_.get_operand(mask, last - 1), whole, loop) ||
         IsPartOf(llvm_.get_operand(mask, last), whole, loop);
}

bool LoopBlends::IsMask(LLVMValueRef value, const Loop& loop, int depth) const {
  if (depth == kDepthMax) return false;
  LLVMTypeRef type = llvm_.type_of(value);
  if (llvm_.get_type_kind(type) == kVectorType) type = llvm_.get_element_type(type);
  if (llvm_.get_int_width(type) == 1 || loop.full.contains(value)) return true;
  if (llvm_.is_instruction(value) == nullptr) {
    return llvm_.is_null(value) != 0 || value == llvm_.const_all_ones(llvm_.type_of(value));
  }
  if (Is(value, kSExt)) {
    LLVMTypeRef from = llvm_.get_element_type(llvm_.type_of(llvm_.get_operand(value, 0)));
    return llvm_.get_int_width(from) == 1;
  }
  if (!Is(value, kAnd) && !Is(value, kOr) && !Is(value, kXor)) return false;
  return IsMask(llvm_.get_operand(value, 0), loop, depth + 1) &&
         IsMask(llvm_.get_operand(value, 1), loop, depth + 1);
}

bool LoopBlends::LeaveTogether(Loop& loop) const {
  for (LLVMValueRef phi : loop.carried) {
    LLVMValueRef next = Incoming(phi, loop.latch);
    if (!IsMadeOfParts(next, loop) || !IsPartOf(next, phi, loop)) return false;
  }
  // In a turn that begins, lanes that entered are in it, too.
  loop.full.insert(loop.mask);
  return std::all_of(loop.stays.begin(), loop.stays.end(), [&](LLVMValueRef mask) {
    return IsMask(mask, loop, 0) && IsUniform(mask, loop, 0);
  });
}

bool LoopBlends::IsUniform(LLVMValueRef value, Loop& loop, int depth) const {
  if (llvm_.get_type_kind(llvm_.type_of(value)) != kVectorType) return true;
  if (loop.full.contains(value) || loop.uniform.contains(value)) return true;
  if (llvm_.is_instruction(value) == nullptr) return HasOneElement(llvm_, value);
  if (depth == kDepthMax) return false;
  const auto is_uniform = [&](unsigned operand) {
    return IsUniform(llvm_.get_operand(value, operand), loop, depth + 1);
  };
  bool result = false;
  switch (llvm_.get_opcode(value)) {
    case kPhi:
      if (llvm_.get_block(value) != loop.header) return false;
      loop.uniform.insert(value);
      return IsUniform(Incoming(value, loop.before), loop, depth + 1) &&
             IsUniform(Incoming(value, loop.latch), loop, depth + 1);
    case kShuffleVector:
      return SourceOfAll(llvm_, value) >= 0;
    case kAnd:
      result = IsEmpty(llvm_.get_operand(value, 0), loop) ||
               IsEmpty(llvm_.get_operand(value, 1), loop) || (is_uniform(0) && is_uniform(1));
      break;
    case kBitCast: {
      LLVMTypeRef from = llvm_.type_of(llvm_.get_operand(value, 0));
      result = llvm_.get_type_kind(from) == kVectorType &&
               llvm_.get_vector_size(from) == llvm_.get_vector_size(llvm_.type_of(value)) &&
               is_uniform(0);
      break;
    }
    case kSExt:
    case kZExt:
    case kTrunc:
    case kFreeze:
      result = is_uniform(0);
      break;
    case kAdd:
    case kSub:
    case kMul:
    case kShl:
    case kLShr:
    case kAShr:
    case kOr:
    case kXor:
    case kICmp:
      result = is_uniform(0) && is_uniform(1);
      break;
    case kSelect:
      result = is_uniform(0) && is_uniform(1) && is_uniform(2);
      break;
    case kCall:
      result = IsElementwise(value) && is_uniform(0) && is_uniform(1);
      break;
    default:
      return false;
  }
  if (result) loop.uniform.insert(value);
  return result;
}

bool LoopBlends::IsEmpty(LLVMValueRef value, const Loop& loop) const {
  if (!Is(value, kXor)) return false;
  for (const unsigned operand : {0U, 1U}) {
    LLVMValueRef mask = llvm_.get_operand(value, operand);
    if (loop.full.contains(mask) && IsNot(value, mask)) return true;
  }
  return false;
}

bool LoopBlends::FindVariable(LLVMValueRef phi, const Loop& loop, Variable& variable) const {
  if (llvm_.type_of(phi) != llvm_.type_of(loop.mask)) return false;
  variable.phi = phi;
  variable.blend = Incoming(phi, loop.latch);
  variable.initial = Incoming(phi, loop.before);
  return FindNext(loop, variable) && FindUses(phi, loop, variable) &&
         FindUses(variable.blend, loop, variable);
}

// or (and mask, next), (and phi, (xor mask, -1))
bool LoopBlends::FindNext(const Loop& loop, Variable& variable) const {
  if (!Is(variable.blend, kOr) || !IsIn(variable.blend, loop)) return false;
  // There the mask may still be empty.
  if (llvm_.get_block(variable.blend) == loop.header) return false;
  for (const unsigned side : {0U, 1U}) {
    LLVMValueRef taken = llvm_.get_operand(variable.blend, side);
    LLVMValueRef kept = llvm_.get_operand(variable.blend, 1 - side);
    if (!Is(taken, kAnd) || !Is(kept, kAnd)) return false;
    for (const unsigned operand : {0U, 1U}) {
      if (llvm_.get_operand(kept, operand) != variable.phi ||
          !IsNot(llvm_.get_operand(kept, 1 - operand), loop.mask)) {
        continue;
      }
      for (const unsigned other : {0U, 1U}) {
        if (llvm_.get_operand(taken, other) != loop.mask) continue;
        variable.next = llvm_.get_operand(taken, 1 - other);
        return variable.next != loop.mask;
      }
    }
  }
  return false;
}

// Other phis would bring what lanes hold that did not enter to where it counts.
bool LoopBlends::FindUses(LLVMValueRef value, const Loop& loop, Variable& variable) const {
  for (auto* use = llvm_.get_first_use(value); use != nullptr; use = llvm_.get_next_use(use)) {
    LLVMValueRef user = llvm_.get_user(use);
    LLVMBasicBlockRef block = llvm_.get_block(user);
    if (!Is(user, kPhi)) {
      if (!loop.blocks.contains(block)) return false;
      continue;
    }
    if (user == variable.phi) continue;
    if (block != loop.exit) return false;
    for (unsigned i = 0; i < llvm_.count_incoming(user); ++i) {
      LLVMValueRef incoming = llvm_.get_incoming_value(user, i);
      if (incoming != variable.phi && incoming != variable.blend) return false;
    }
    std::vector<LLVMValueRef>& phis = variable.exit_phis;
    if (std::find(phis.begin(), phis.end(), user) == phis.end()) phis.push_back(user);
  }
  return true;
}

void LoopBlends::BlendBehind(const Loop& loop, const std::vector<Variable>& variables) {
  llvm_.position_before(builder_, llvm_.get_terminator(loop.before));
  LLVMValueRef entered = loop.entering[0];
  for (size_t i = 1; i < loop.entering.size(); ++i) {
    entered = llvm_.build_and(builder_, entered, loop.entering[i], "");
  }
  LLVMValueRef others = llvm_.build_not(builder_, entered, "");
  LLVMValueRef behind_phis = llvm_.get_first_instruction(loop.exit);
  while (Is(behind_phis, kPhi)) behind_phis = llvm_.get_next_instruction(behind_phis);
  llvm_.position_before(builder_, behind_phis);
  for (Variable variable : variables) {
    for (LLVMValueRef phi : variable.exit_phis) {
      LLVMValueRef taken = llvm_.build_and(builder_, phi, entered, "");
      LLVMValueRef kept = llvm_.build_and(builder_, variable.initial, others, "");
      LLVMValueRef blend = llvm_.build_or(builder_, taken, kept, "");
      if (blend == phi) continue;  // All lanes enter.
      llvm_.replace_all_uses(phi, blend);
      llvm_.set_operand(taken, 0, phi);  // Which was replaced, too.
    }
    FindNext(loop, variable);  // It may have been another's blend.
    LLVMValueRef parts[] = {llvm_.get_operand(variable.blend, 0),
                            llvm_.get_operand(variable.blend, 1)};
    llvm_.replace_all_uses(variable.blend, variable.next);
    llvm_.erase(variable.blend);
    for (LLVMValueRef part : parts) {
      if (llvm_.get_first_use(part) == nullptr) llvm_.erase(part);
    }
  }
}

bool LoopBlends::Is(LLVMValueRef value, int opcode) const {
  return value != nullptr && llvm_.is_instruction(value) != nullptr &&
         llvm_.get_opcode(value) == opcode;
}

bool LoopBlends::IsNot(LLVMValueRef value, LLVMValueRef mask) const {
  if (!Is(value, kXor)) return false;
  LLVMValueRef ones = llvm_.const_all_ones(llvm_.type_of(value));
  return (llvm_.get_operand(value, 0) == mask && llvm_.get_operand(value, 1) == ones) ||
         (llvm_.get_operand(value, 1) == mask && llvm_.get_operand(value, 0) == ones);
}

bool LoopBlends::IsElementwise(LLVMValueRef call) const {
  LLVMValueRef called = llvm_.is_function(llvm_.get_called(call));
  return called != nullptr && elementwise_.contains(llvm_.get_intrinsic_id(called));
}

bool LoopBlends::IsIn(LLVMValueRef value, const Loop& loop) const {
  return llvm_.is_instruction(value) != nullptr && loop.blocks.contains(llvm_.get_block(value));
}

LLVMValueRef LoopBlends::Incoming(LLVMValueRef phi, LLVMBasicBlockRef from) const {
  for (unsigned i = 0; i < llvm_.count_incoming(phi); ++i) {
    if (llvm_.get_incoming_block(phi, i) == from) return llvm_.get_incoming_value(phi, i);
  }
  return nullptr;
}

}  // namespace webnnd

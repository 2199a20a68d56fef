#include "base/drivers_llvm/uniform_branches.h"

#include <string_view>

namespace webnnd {

UniformBranches::UniformBranches(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)) {
  // Of two operands, and of one type.
  for (std::string_view name :
       {"llvm.umin", "llvm.umax", "llvm.smin", "llvm.smax", "llvm.uadd.sat", "llvm.usub.sat"}) {
    elementwise_.insert(llvm.lookup_intrinsic(name.data(), name.size()));
  }
}

void UniformBranches::Simplify() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    if (llvm_.get_first_block(f) != nullptr) SimplifyIn(f);
  }
}

void UniformBranches::SimplifyIn(LLVMValueRef function) {
  entry_ = llvm_.get_first_block(function);
  varying_.clear();
  scalars_.clear();
  // In others, values may be made of themselves.
  const Blocks reached = Reach(entry_, nullptr, nullptr, {});
  std::vector<LLVMBasicBlockRef> blocks;
  for (auto* b = entry_; b != nullptr; b = llvm_.get_next_block(b)) {
    if (reached.contains(b)) blocks.push_back(b);
  }
  FindVarying(function);
  for (LLVMBasicBlockRef block : blocks) AssumeMask(block);
  FoldAll();
  std::vector<LLVMValueRef> instructions;  // Before there are others.
  for (LLVMBasicBlockRef block : blocks) {
    for (auto* i = llvm_.get_first_instruction(block); i != nullptr;
         i = llvm_.get_next_instruction(i)) {
      instructions.push_back(i);
    }
  }
  for (LLVMValueRef instruction : instructions) AskOne(instruction);
}

void UniformBranches::FindVarying(LLVMValueRef function) {
  std::vector<LLVMValueRef> pending;
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
         i = llvm_.get_next_instruction(i)) {
      if (!IsVector(llvm_.type_of(i)) || HasOneSource(i)) continue;
      bool varies = !IsByElement(i);
      // A call's last operand is what is called.
      for (int k = 0; k < llvm_.get_num_operands(i) && !varies; ++k) {
        LLVMValueRef operand = llvm_.get_operand(i, static_cast<unsigned>(k));
        varies = llvm_.is_instruction(operand) == nullptr && IsVarying(operand);
      }
      if (varies && varying_.insert(i).second) pending.push_back(i);
    }
  }
  while (!pending.empty()) {
    LLVMValueRef value = pending.back();
    pending.pop_back();
    for (auto* use = llvm_.get_first_use(value); use != nullptr; use = llvm_.get_next_use(use)) {
      LLVMValueRef user = llvm_.get_user(use);
      if (!IsVector(llvm_.type_of(user)) || HasOneSource(user)) continue;
      if (varying_.insert(user).second) pending.push_back(user);
    }
  }
}

bool UniformBranches::IsVarying(LLVMValueRef value) const {
  if (!IsVector(llvm_.type_of(value))) return false;
  if (llvm_.is_instruction(value) == nullptr) return !HasOneElement(llvm_, value);
  return varying_.contains(value);
}

bool UniformBranches::IsByElement(LLVMValueRef instruction) const {
  const int opcode = llvm_.get_opcode(instruction);
  if (opcode == kCall) return IsElementwise(instruction);
  if (opcode >= kTrunc && opcode <= kBitCast) {
    LLVMTypeRef from = llvm_.type_of(llvm_.get_operand(instruction, 0));
    return IsVector(from) &&
           llvm_.get_vector_size(from) == llvm_.get_vector_size(llvm_.type_of(instruction));
  }
  return (opcode >= kAdd && opcode <= kXor) || opcode == kICmp || opcode == kFCmp ||
         opcode == kPhi || opcode == kSelect || opcode == kFreeze;
}

bool UniformBranches::IsElementwise(LLVMValueRef call) const {
  LLVMValueRef called = llvm_.is_function(llvm_.get_called(call));
  return called != nullptr && elementwise_.contains(llvm_.get_intrinsic_id(called));
}

bool UniformBranches::HasOneSource(LLVMValueRef value) const {
  return Is(value, kShuffleVector) && SourceOfAll(llvm_, value) >= 0;
}

// icmp eq or ne (bitcast vector to one integer), 0
LLVMValueRef UniformBranches::AnyOf(LLVMValueRef comparison) const {
  if (!Is(comparison, kICmp) || !IsZero(llvm_.get_operand(comparison, 1))) return nullptr;
  const int predicate = llvm_.get_predicate(comparison);
  if (predicate != kEqual && predicate != kNotEqual) return nullptr;
  LLVMValueRef bits = llvm_.get_operand(comparison, 0);
  if (!Is(bits, kBitCast) || IsVector(llvm_.type_of(bits))) return nullptr;
  LLVMValueRef vector = llvm_.get_operand(bits, 0);
  return IsIntegerVector(llvm_.type_of(vector)) ? vector : nullptr;
}

bool UniformBranches::IsMask(LLVMValueRef value, Values& asked) const {
  if (IsZero(value) || AreAllOnes(value)) return true;
  if (llvm_.is_instruction(value) == nullptr) return false;
  if (!asked.insert(value).second) return true;
  const auto are_masks = [&](int first) {
    for (int i = first; i < llvm_.get_num_operands(value); ++i) {
      if (!IsMask(llvm_.get_operand(value, static_cast<unsigned>(i)), asked)) return false;
    }
    return true;
  };
  switch (llvm_.get_opcode(value)) {
    case kSExt:
      return llvm_.get_int_width(
                 llvm_.get_element_type(llvm_.type_of(llvm_.get_operand(value, 0)))) == 1;
    case kAnd:
    case kOr:
    case kXor:
    case kPhi:
      return are_masks(0);
    case kSelect:
      return are_masks(1);
    default:
      return false;
  }
}

void UniformBranches::AssumeMask(LLVMBasicBlockRef block) {
  LLVMValueRef branch = llvm_.get_terminator(block);
  if (!Is(branch, kBr) || llvm_.get_num_successors(branch) != 2) return;
  LLVMValueRef condition = llvm_.get_condition(branch);
  LLVMValueRef mask = AnyOf(condition);
  if (mask == nullptr || llvm_.is_instruction(mask) == nullptr) return;
  LLVMValueRef known = WhereNotEmpty(mask);
  const unsigned not_empty = llvm_.get_predicate(condition) == kNotEqual ? 0 : 1;
  LLVMBasicBlockRef behind = llvm_.get_successor(branch, not_empty);
  if (known == nullptr || behind == llvm_.get_successor(branch, 1 - not_empty)) return;
  std::vector<LLVMValueRef> users;  // Before there are others.
  for (auto* use = llvm_.get_first_use(mask); use != nullptr; use = llvm_.get_next_use(use)) {
    LLVMValueRef user = llvm_.get_user(use);
    if (Is(user, kPhi) || llvm_.get_block(user) != block) users.push_back(user);
  }
  if (users.empty()) return;
  // What is reached from there, and not without this way to it.
  const Blocks blocks = Reach(behind, nullptr, nullptr, Reach(entry_, block, behind, {}));
  for (LLVMValueRef user : users) {
    for (int k = 0; k < llvm_.get_num_operands(user); ++k) {
      const auto i = static_cast<unsigned>(k);
      if (llvm_.get_operand(user, i) != mask) continue;
      LLVMBasicBlockRef used_in = llvm_.get_block(user);
      if (Is(user, kPhi)) {
        LLVMBasicBlockRef from = llvm_.get_incoming_block(user, i);
        if (from != block || used_in != behind) used_in = from;
      }
      if (!blocks.contains(used_in)) continue;
      llvm_.set_operand(user, i, known);
      changed_.push_back(user);
    }
  }
}

LLVMValueRef UniformBranches::WhereNotEmpty(LLVMValueRef mask) const {
  Values asked;
  if (!IsVarying(mask) && IsMask(mask, asked)) return llvm_.const_all_ones(llvm_.type_of(mask));
  return ReadChoice(mask).lanes;
}

UniformBranches::Choice UniformBranches::ReadChoice(LLVMValueRef mask) const {
  if (!Is(mask, kSelect)) return {};
  LLVMValueRef condition = llvm_.get_operand(mask, 0);
  if (!IsVector(llvm_.type_of(condition)) || IsVarying(condition)) return {};
  for (const unsigned lanes : {1U, 2U}) {
    if (IsZero(llvm_.get_operand(mask, 3 - lanes))) {
      return {
          .condition = condition, .lanes = llvm_.get_operand(mask, lanes), .is_where = lanes == 1};
    }
  }
  return {};
}

UniformBranches::Blocks UniformBranches::Reach(LLVMBasicBlockRef first, LLVMBasicBlockRef from,
                                               LLVMBasicBlockRef to, const Blocks& without) const {
  Blocks reached;
  std::vector<LLVMBasicBlockRef> pending;
  const auto add = [&](LLVMBasicBlockRef block) {
    if (!without.contains(block) && reached.insert(block).second) pending.push_back(block);
  };
  add(first);
  while (!pending.empty()) {
    LLVMBasicBlockRef block = pending.back();
    pending.pop_back();
    LLVMValueRef terminator = llvm_.get_terminator(block);
    for (unsigned i = 0; i < llvm_.get_num_successors(terminator); ++i) {
      LLVMBasicBlockRef next = llvm_.get_successor(terminator, i);
      if (block != from || next != to) add(next);
    }
  }
  return reached;
}

void UniformBranches::FoldAll() {
  Values erased;
  while (!changed_.empty()) {
    LLVMValueRef instruction = changed_.back();
    changed_.pop_back();
    if (erased.contains(instruction)) continue;
    LLVMValueRef value = Fold(instruction);
    if (value == nullptr) continue;
    Replace(instruction, value);
    varying_.erase(instruction);
    erased.insert(instruction);
    llvm_.erase(instruction);
  }
}

LLVMValueRef UniformBranches::Fold(LLVMValueRef instruction) const {
  if (Is(instruction, kPhi)) {
    LLVMValueRef value = nullptr;
    for (unsigned i = 0; i < llvm_.count_incoming(instruction); ++i) {
      LLVMValueRef incoming = llvm_.get_incoming_value(instruction, i);
      if (incoming == instruction || incoming == value) continue;
      if (value != nullptr) return nullptr;
      value = incoming;
    }
    return value;
  }
  if (!Is(instruction, kAnd) && !Is(instruction, kOr) && !Is(instruction, kXor)) return nullptr;
  for (const unsigned side : {0U, 1U}) {
    LLVMValueRef known = llvm_.get_operand(instruction, side);
    LLVMValueRef other = llvm_.get_operand(instruction, 1 - side);
    const bool is_zero = IsZero(known);
    if (!is_zero && !AreAllOnes(known)) continue;
    switch (llvm_.get_opcode(instruction)) {
      case kAnd:
        return is_zero ? known : other;
      case kOr:
        return is_zero ? other : known;
      default:
        if (is_zero) return other;
        if (AreAllOnes(other)) return llvm_.const_null(llvm_.type_of(known));
    }
  }
  return nullptr;
}

void UniformBranches::Replace(LLVMValueRef instruction, LLVMValueRef value) {
  for (auto* use = llvm_.get_first_use(instruction); use != nullptr;
       use = llvm_.get_next_use(use)) {
    if (llvm_.get_user(use) != instruction) changed_.push_back(llvm_.get_user(use));
  }
  llvm_.replace_all_uses(instruction, value);
}

void UniformBranches::AskOne(LLVMValueRef instruction) {
  LLVMTypeRef type = llvm_.type_of(instruction);
  switch (llvm_.get_opcode(instruction)) {
    case kICmp: {
      LLVMValueRef vector = AnyOf(instruction);
      if (vector == nullptr) return;
      if (IsVarying(vector)) {
        AskOneOfChoice(instruction, ReadChoice(vector));
        return;
      }
      LLVMValueRef scalar = ScalarOf(vector);
      llvm_.position_before(builder_, llvm_.get_next_instruction(instruction));
      llvm_.replace_all_uses(
          instruction, llvm_.build_comparison(builder_, llvm_.get_predicate(instruction), scalar,
                                              llvm_.const_null(llvm_.type_of(scalar)), ""));
      return;
    }
    case kExtractElement: {
      LLVMValueRef vector = llvm_.get_operand(instruction, 0);
      if (!IsVarying(vector) && HasScalar(vector)) {
        llvm_.replace_all_uses(instruction, ScalarOf(vector));
      }
      return;
    }
    case kShuffleVector: {
      const int source = SourceOfAll(llvm_, instruction);
      if (source < 0) return;
      LLVMValueRef first = llvm_.get_operand(instruction, 0);
      const bool is_first = source < static_cast<int>(llvm_.get_vector_size(llvm_.type_of(first)));
      LLVMValueRef vector = is_first ? first : llvm_.get_operand(instruction, 1);
      if (llvm_.type_of(vector) == type && !IsVarying(vector)) {
        llvm_.replace_all_uses(instruction, vector);
      }
      return;
    }
    case kUDiv:
    case kSDiv:
    case kURem:
    case kSRem: {
      if (!IsIntegerVector(type) || IsVarying(instruction)) return;
      LLVMValueRef scalar = ScalarOf(instruction);
      LLVMValueRef before = llvm_.is_instruction(scalar) != nullptr ? scalar : instruction;
      llvm_.position_before(builder_, llvm_.get_next_instruction(before));
      LLVMValueRef splat = SplatOf(scalar, type);
      llvm_.replace_all_uses(instruction, splat);
      return;
    }
    default:
      return;
  }
}

void UniformBranches::AskOneOfChoice(LLVMValueRef comparison, const Choice& choice) {
  // Where the lanes are chosen anew each time, as ever.
  if (choice.lanes == nullptr || llvm_.is_instruction(choice.lanes) == nullptr ||
      llvm_.get_block(choice.lanes) == llvm_.get_block(comparison)) {
    return;
  }
  LLVMValueRef condition = ScalarOf(choice.condition);
  llvm_.position_before(builder_, Is(choice.lanes, kPhi)
                                      ? FirstBehindPhis(llvm_.get_block(choice.lanes))
                                      : llvm_.get_next_instruction(choice.lanes));
  LLVMTypeRef integer = llvm_.type_of(llvm_.get_operand(comparison, 0));
  LLVMValueRef bits = llvm_.build_bitcast(builder_, choice.lanes, integer, "");
  LLVMValueRef any =
      llvm_.build_comparison(builder_, kNotEqual, bits, llvm_.const_null(integer), "");
  llvm_.position_before(builder_, llvm_.get_next_instruction(comparison));
  if (!choice.is_where) condition = llvm_.build_not(builder_, condition, "");
  // Lanes that are not chosen may be poison.
  LLVMValueRef result =
      llvm_.build_select(builder_, condition, any, llvm_.const_null(llvm_.type_of(any)), "");
  if (llvm_.get_predicate(comparison) == kEqual) {
    result = llvm_.build_not(builder_, result, "");
  }
  llvm_.replace_all_uses(comparison, result);
}

bool UniformBranches::HasScalar(LLVMValueRef value) const {
  if (llvm_.is_instruction(value) == nullptr || !IsIntegerVector(llvm_.type_of(value))) {
    return false;
  }
  if (HasOneSource(value)) return true;
  const int opcode = llvm_.get_opcode(value);
  return IsByElement(value) && opcode != kFCmp && opcode != kBitCast &&
         (opcode < kTrunc || opcode > kBitCast || opcode == kSExt || opcode == kZExt);
}

LLVMValueRef UniformBranches::ScalarOf(LLVMValueRef value) {
  LLVMTypeRef type = llvm_.type_of(value);
  if (!IsVector(type)) return value;
  if (llvm_.is_instruction(value) == nullptr) {
    LLVMTypeRef element = llvm_.get_element_type(type);
    if (llvm_.is_null(value) != 0) return llvm_.const_null(element);
    if (AreAllOnes(value)) return llvm_.const_all_ones(element);
    return llvm_.get_element_as_constant(value, 0);
  }
  if (const auto found = scalars_.find(value); found != scalars_.end()) return found->second;
  LLVMValueRef scalar = HasScalar(value) ? NewScalar(value) : ElementOf(value, 0);
  return scalars_.insert_or_assign(value, scalar).first->second;
}

LLVMValueRef UniformBranches::NewScalar(LLVMValueRef instruction) {
  const int opcode = llvm_.get_opcode(instruction);
  LLVMTypeRef type = llvm_.get_element_type(llvm_.type_of(instruction));
  if (opcode == kShuffleVector) {
    LLVMValueRef first = llvm_.get_operand(instruction, 0);
    const auto lanes = static_cast<int>(llvm_.get_vector_size(llvm_.type_of(first)));
    const int source = SourceOfAll(llvm_, instruction);
    LLVMValueRef vector = llvm_.get_operand(instruction, source < lanes ? 0 : 1);
    const int lane = source % lanes;
    if (!IsVarying(vector)) return ScalarOf(vector);
    if (Is(vector, kInsertElement)) {
      LLVMValueRef at = llvm_.get_operand(vector, 2);
      if (llvm_.is_constant_int(at) != nullptr &&
          llvm_.get_int_value(at) == static_cast<unsigned long long>(lane)) {
        return llvm_.get_operand(vector, 1);
      }
    }
    return ElementOf(vector, lane);
  }
  if (opcode == kPhi) {
    llvm_.position_before(builder_, instruction);
    LLVMValueRef phi = llvm_.build_phi(builder_, type, "");
    scalars_.insert_or_assign(instruction, phi);  // Which it may be made of.
    for (unsigned i = 0; i < llvm_.count_incoming(instruction); ++i) {
      LLVMValueRef incoming = ScalarOf(llvm_.get_incoming_value(instruction, i));
      LLVMBasicBlockRef from = llvm_.get_incoming_block(instruction, i);
      llvm_.add_incoming(phi, &incoming, &from, 1);
    }
    return phi;
  }
  std::vector<LLVMValueRef> operands;
  const int count = llvm_.get_num_operands(instruction) - (opcode == kCall ? 1 : 0);
  for (int i = 0; i < count; ++i) {
    operands.push_back(ScalarOf(llvm_.get_operand(instruction, static_cast<unsigned>(i))));
  }
  // A phi among them may have come back to it.
  if (const auto found = scalars_.find(instruction); found != scalars_.end()) return found->second;
  llvm_.position_before(builder_, llvm_.get_next_instruction(instruction));
  switch (opcode) {
    case kICmp:
      return llvm_.build_comparison(builder_, llvm_.get_predicate(instruction), operands[0],
                                    operands[1], "");
    case kSelect:
      return llvm_.build_select(builder_, operands[0], operands[1], operands[2], "");
    case kSExt:
      return llvm_.build_sext(builder_, operands[0], type, "");
    case kZExt:
      return llvm_.build_zext(builder_, operands[0], type, "");
    // Of what is poison it may choose another number than the vector's. What a kernel never set
    // is nothing that it may count on; each access is checked by the place that it uses.
    case kFreeze:
      return llvm_.build_freeze(builder_, operands[0], "");
    case kCall: {
      const unsigned id = llvm_.get_intrinsic_id(llvm_.is_function(llvm_.get_called(instruction)));
      return llvm_.build_call(builder_, llvm_.get_intrinsic_type(context_, id, &type, 1),
                              llvm_.get_intrinsic(module_, id, &type, 1), operands.data(),
                              static_cast<unsigned>(operands.size()), "");
    }
    default:
      return llvm_.build_binary(builder_, opcode, operands[0], operands[1], "");
  }
}

LLVMValueRef UniformBranches::ElementOf(LLVMValueRef vector, int lane) {
  // Parameters, too, are there in the first block.
  LLVMValueRef behind = llvm_.is_instruction(vector) == nullptr ? FirstBehindPhis(entry_)
                        : Is(vector, kPhi) ? FirstBehindPhis(llvm_.get_block(vector))
                                           : llvm_.get_next_instruction(vector);
  llvm_.position_before(builder_, behind);
  LLVMTypeRef number = llvm_.int_type(context_, 32);
  return llvm_.build_extract(builder_, vector,
                             llvm_.const_int(number, static_cast<unsigned>(lane), 0), "");
}

LLVMValueRef UniformBranches::SplatOf(LLVMValueRef scalar, LLVMTypeRef type) {
  LLVMTypeRef number = llvm_.int_type(context_, 32);
  LLVMValueRef undefined = llvm_.get_undef(type);
  LLVMValueRef first =
      llvm_.build_insert(builder_, undefined, scalar, llvm_.const_int(number, 0, 0), "");
  varying_.insert(first);
  LLVMTypeRef places = llvm_.vector_type(number, llvm_.get_vector_size(type));
  LLVMValueRef splat =
      llvm_.build_shuffle(builder_, first, undefined, llvm_.const_null(places), "");
  scalars_.insert_or_assign(splat, scalar);
  return splat;
}

bool UniformBranches::Is(LLVMValueRef value, int opcode) const {
  return value != nullptr && llvm_.is_instruction(value) != nullptr &&
         llvm_.get_opcode(value) == opcode;
}

bool UniformBranches::IsIntegerVector(LLVMTypeRef type) const {
  return IsVector(type) && llvm_.get_type_kind(llvm_.get_element_type(type)) == kIntegerType;
}

bool UniformBranches::AreAllOnes(LLVMValueRef value) const {
  return IsIntegerVector(llvm_.type_of(value)) &&
         value == llvm_.const_all_ones(llvm_.type_of(value));
}

bool UniformBranches::IsZero(LLVMValueRef value) const { return llvm_.is_null(value) != 0; }

LLVMValueRef UniformBranches::FirstBehindPhis(LLVMBasicBlockRef block) const {
  LLVMValueRef instruction = llvm_.get_first_instruction(block);
  while (Is(instruction, kPhi)) instruction = llvm_.get_next_instruction(instruction);
  return instruction;
}

}  // namespace webnnd

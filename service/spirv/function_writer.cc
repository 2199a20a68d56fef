#include "service/spirv/function_writer.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace webnnd::service::spirv {
namespace {

using spv::Op;

std::vector<uint32_t> Assemble(Op op, std::initializer_list<uint32_t> operands) {
  std::vector<uint32_t> words = {FirstWord(op, 1 + operands.size())};
  words.insert(words.end(), operands);
  return words;
}

}  // namespace

std::vector<std::vector<uint32_t>> FunctionWriter::Write(const Call& call, Id id) {
  function_ = &module_.function(call.function);
  facts_ = &finder_.Of(call);
  written_.clear();
  calls_.clear();
  writing_calls_.clear();
  unreached_.clear();
  WriteHead(call, id);
  for (const Block* block : BlocksInOrder()) WriteBlock(*block);
  WriteUnreached();
  written_.push_back(Assemble(Op::OpFunctionEnd, {}));
  Sweep();
  NameCallees();
  return std::move(written_);
}

void FunctionWriter::WriteHead(const Call& call, Id id) {
  const Instruction& declaration = function_->declaration;
  std::vector<Id> parameter_types;
  std::vector<Words> parameters;
  for (size_t i = 0; i < function_->parameters.size(); ++i) {
    if (call.arguments[i]) continue;
    const Instruction& parameter = function_->parameters[i];
    parameter_types.push_back(parameter.type());
    parameters.emplace_back(parameter.words().begin(), parameter.words().end());
  }
  const Id type = surroundings_.FunctionType(declaration.type(), std::move(parameter_types));
  written_.push_back(
      Assemble(Op::OpFunction, {declaration.type(), id, declaration.operands()[0], type}));
  for (Words& parameter : parameters) written_.push_back(std::move(parameter));
}

std::vector<const Block*> FunctionWriter::BlocksInOrder() const {
  std::unordered_map<Id, std::vector<Id>> before;  // What leads to a block.
  for (const auto& [from, to] : facts_->edges) {
    const size_t at = function_->block_of_label.at(to);
    const bool is_back =
        function_->blocks[at].is_loop_header && function_->block_of_label.at(from) >= at;
    if (!is_back) before[to].push_back(from);
  }
  std::vector<const Block*> ordered;
  std::unordered_set<Id> done;
  while (done.size() < facts_->reached.size()) {
    const size_t count = done.size();
    for (const Block& block : function_->blocks) {
      if (!facts_->reached.contains(block.label) || done.contains(block.label)) continue;
      const std::vector<Id>& others = before[block.label];
      if (!std::all_of(others.begin(), others.end(), [&](Id id) { return done.contains(id); })) {
        continue;
      }
      done.insert(block.label);
      ordered.push_back(&block);
    }
    CHECK(done.size() > count);
  }
  return ordered;
}

bool FunctionWriter::HasBackEdge(const Block& header) const {
  const size_t at = function_->block_of_label.at(header.label);
  return std::any_of(facts_->edges.begin(), facts_->edges.end(), [&](const auto& edge) {
    return edge.second == header.label && function_->block_of_label.at(edge.first) >= at;
  });
}

void FunctionWriter::WriteBlock(const Block& block) {
  written_.push_back(Assemble(Op::OpLabel, {block.label}));
  for (size_t i = 0; i + 1 < block.instructions.size(); ++i) {
    const Instruction& instruction = block.instructions[i];
    switch (instruction.op()) {
      case Op::OpSelectionMerge:
      case Op::OpLoopMerge:
        WriteMerge(instruction, block);
        break;
      default:
        WriteInstruction(instruction, block.label);
    }
  }
  WriteEnd(block);
}

void FunctionWriter::WriteInstruction(const Instruction& instruction, Id block) {
  if (instruction.op() == Op::OpFunctionCall) {
    WriteCall(instruction);
    return;
  }
  const Id result = instruction.result();
  if (facts_->values.contains(result) || facts_->same_as.contains(result)) return;
  if (instruction.op() == Op::OpPhi) {
    WritePhi(instruction, block);
  } else {
    written_.push_back(WithOperands(instruction));
  }
}

void FunctionWriter::WriteCall(const Instruction& instruction) {
  const Call call = finder_.CallOf(instruction, *facts_);
  const bool writes = finder_.Of(call).writes;
  if (!writes && facts_->values.contains(instruction.result())) return;
  if (writes) writing_calls_.insert(instruction.result());
  Words words = {0, instruction.type(), instruction.result(), call.function};
  const std::span<const uint32_t> arguments = instruction.operands().subspan(1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!call.arguments[i]) words.push_back(Operand(arguments[i]));
  }
  words[0] = FirstWord(Op::OpFunctionCall, words.size());
  written_.push_back(std::move(words));
  calls_.emplace(instruction.result(), call);
}

void FunctionWriter::NameCallees() {
  for (Words& words : written_) {
    const Instruction instruction(words);
    if (instruction.op() != Op::OpFunctionCall) continue;
    words[instruction.first_operand()] = surroundings_.Callee(calls_.at(instruction.result()));
  }
}

void FunctionWriter::WritePhi(const Instruction& phi, Id block) {
  Words words = {0, phi.type(), phi.result()};
  const std::span<const uint32_t> operands = phi.operands();
  for (size_t i = 0; i < operands.size(); i += 2) {
    if (!facts_->edges.contains({operands[i + 1], block})) continue;
    words.push_back(Operand(operands[i]));
    words.push_back(operands[i + 1]);
  }
  words[0] = FirstWord(Op::OpPhi, words.size());
  written_.push_back(std::move(words));
}

Known FunctionWriter::SelectorOf(const Block& block) const {
  const Instruction& last = block.instructions.back();
  if (last.op() != Op::OpBranchConditional && last.op() != Op::OpSwitch) return {};
  return finder_.ValueOf(last.operands()[0], *facts_);
}

// A selection whose condition is known is none any more. Nothing but its two sides leads to where
// it ends; but from inside the cases of a switch branches may, which are right in a switch alone.
void FunctionWriter::WriteMerge(const Instruction& merge, const Block& block) {
  const std::span<const uint32_t> operands = merge.operands();
  const bool is_end_reached = facts_->reached.contains(operands[0]);
  if (merge.op() == Op::OpSelectionMerge && SelectorOf(block)) {
    const bool is_switch = block.instructions.back().op() == Op::OpSwitch;
    if (!is_switch || !is_end_reached) return;
  }
  Words words(merge.words().begin(), merge.words().end());
  if (!is_end_reached) unreached_.emplace_back(operands[0], 0);
  if (merge.op() == Op::OpLoopMerge && !HasBackEdge(block)) {
    // A loop must have one. What they carry glslang keeps in variables, not in phis.
    CHECK(block.instructions[0].op() != Op::OpPhi);
    words[2] = surroundings_.NewId();
    unreached_.emplace_back(words[2], block.label);
  }
  written_.push_back(std::move(words));
}

void FunctionWriter::WriteEnd(const Block& block) {
  const Instruction& last = block.instructions.back();
  const Known selector = SelectorOf(block);
  if (!selector) {
    written_.push_back(WithOperands(last));
    return;
  }
  const Id target = TargetsOf(last, selector)[0];
  const bool is_in_switch =
      last.op() == Op::OpSwitch && Instruction(written_.back()).op() == Op::OpSelectionMerge;
  written_.push_back(is_in_switch ? Assemble(Op::OpSwitch, {Operand(last.operands()[0]), target})
                                  : Assemble(Op::OpBranch, {target}));
}

void FunctionWriter::WriteUnreached() {
  for (const auto& [label, next] : unreached_) {
    written_.push_back(Assemble(Op::OpLabel, {label}));
    written_.push_back(next == 0 ? Assemble(Op::OpUnreachable, {})
                                 : Assemble(Op::OpBranch, {next}));
  }
}

Id FunctionWriter::Operand(Id id) {
  const auto same = facts_->same_as.find(id);
  if (same != facts_->same_as.end()) id = same->second;
  const auto known = facts_->values.find(id);
  if (known == facts_->values.end()) return id;
  return surroundings_.Constant(function_->local_types.at(id), known->second);
}

FunctionWriter::Words FunctionWriter::WithOperands(const Instruction& instruction) {
  Words words(instruction.words().begin(), instruction.words().end());
  ForEachUsedId(instruction, [&](size_t i) { words[i] = Operand(words[i]); });
  return words;
}

bool FunctionWriter::IsNeeded(const Instruction& instruction) const {
  switch (instruction.op()) {
    case Op::OpStore:
      return function_->Writes(instruction);
    case Op::OpFunctionCall:
      return writing_calls_.contains(instruction.result());
    case Op::OpFunction:
    case Op::OpFunctionParameter:
      return true;
    default:  // Labels, and what has no result.
      return instruction.type() == 0 || function_->Writes(instruction);
  }
}

void FunctionWriter::Sweep() {
  std::unordered_map<Id, size_t> where;
  std::unordered_map<Id, std::vector<size_t>> stores;  // By variable.
  std::vector<size_t> waiting;
  std::vector<bool> is_used(written_.size());
  const auto use = [&](size_t i) {
    if (!is_used[i]) waiting.push_back(i);
    is_used[i] = true;
  };
  for (size_t i = 0; i < written_.size(); ++i) {
    const Instruction instruction(written_[i]);
    if (instruction.result() != 0) where[instruction.result()] = i;
    if (const Id variable = function_->StoredVariable(instruction)) stores[variable].push_back(i);
    if (IsNeeded(instruction)) use(i);
  }
  while (!waiting.empty()) {
    const Instruction instruction(written_[waiting.back()]);
    waiting.pop_back();
    ForEachUsedId(instruction, [&](size_t i) {
      const auto found = where.find(instruction.words()[i]);
      if (found != where.end()) use(found->second);
    });
    if (instruction.op() != Op::OpVariable) continue;
    const auto found = stores.find(instruction.result());
    if (found == stores.end()) continue;
    for (size_t i : found->second) use(i);
  }
  size_t kept = 0;
  for (size_t i = 0; i < written_.size(); ++i) {
    if (is_used[i]) std::swap(written_[kept++], written_[i]);
  }
  written_.resize(kept);
}

}  // namespace webnnd::service::spirv

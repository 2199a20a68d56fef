#include "service/spirv/facts.h"

#include <optional>

namespace webnnd::service::spirv {
namespace {

using spv::Op;

// Each round is right by itself, and knows more than the one before.
constexpr int kRoundsMax = 8;

}  // namespace

std::vector<Id> TargetsOf(const Instruction& last, Known selector) {
  const std::span<const uint32_t> operands = last.operands();
  switch (last.op()) {
    case Op::OpBranch:
      return {operands[0]};
    case Op::OpBranchConditional:
      if (!selector) return {operands[1], operands[2]};
      return {*selector != 0 ? operands[1] : operands[2]};
    case Op::OpSwitch: {
      std::vector<Id> all = {operands[1]};
      for (size_t i = 2; i < operands.size(); i += 2) {
        if (selector == operands[i]) return {operands[i + 1]};
        all.push_back(operands[i + 1]);
      }
      if (selector) return {operands[1]};
      return all;
    }
    case Op::OpReturn:
    case Op::OpReturnValue:
    case Op::OpUnreachable:
      return {};
    default:
      UNREACHABLE();
  }
}

const Facts& FactFinder::Of(const Call& call) {
  // Functions do not call themselves, so that what is found meanwhile is of others.
  std::unique_ptr<Facts>& found = facts_[call];
  if (found != nullptr) return *found;
  const Function& function = module_.function(call.function);
  auto facts = std::make_unique<Facts>();
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i]) facts->held[function.parameters[i].result()] = *call.arguments[i];
  }
  for (int round = 1;; ++round) {
    Walk(function, *facts);
    std::unordered_map<Id, uint32_t> held = HeldAfter(function, call, *facts);
    if (held == facts->held || round == kRoundsMax) break;
    facts->held = std::move(held);
  }
  FindResult(function, *facts);
  found = std::move(facts);
  return *found;
}

Known FactFinder::ValueOf(Id id, const Facts& facts) const {
  const auto found = facts.values.find(id);
  return found != facts.values.end() ? found->second : module_.ValueOf(id);
}

Call FactFinder::CallOf(const Instruction& instruction, const Facts& facts) const {
  const std::span<const uint32_t> operands = instruction.operands();
  const Function& callee = module_.function(operands[0]);
  Call call{.function = operands[0]};
  for (size_t i = 1; i < operands.size(); ++i) {
    const Id pointee = module_.PointeeOf(callee.parameters[i - 1].type());
    Known known;
    if (pointee == 0) {
      known = ValueOf(operands[i], facts);
    } else {
      const auto held = facts.held.find(operands[i]);
      if (held != facts.held.end()) known = held->second;
    }
    call.arguments.push_back(known);
  }
  return call;
}

void FactFinder::Walk(const Function& function, Facts& facts) {
  facts.reached.clear();
  facts.edges.clear();
  facts.reached.insert(function.blocks[0].label);
  while (!WalkOnce(function, facts)) {
  }
}

bool FactFinder::WalkOnce(const Function& function, Facts& facts) {
  facts.values.clear();
  facts.same_as.clear();
  for (const auto& parameter : function.parameters) {
    const auto held = facts.held.find(parameter.result());
    if (held != facts.held.end() && module_.PointeeOf(parameter.type()) == 0) {
      facts.values[parameter.result()] = held->second;
    }
  }
  bool is_done = true;
  for (size_t i = 0; i < function.blocks.size(); ++i) {
    const Block& block = function.blocks[i];
    if (!facts.reached.contains(block.label)) continue;
    for (const Instruction& instruction : block.instructions) {
      Evaluate(instruction, block.label, function, facts);
    }
    const Instruction& last = block.instructions.back();
    Known selector;
    if (!last.operands().empty()) selector = ValueOf(last.operands()[0], facts);
    for (Id target : TargetsOf(last, selector)) {
      facts.edges.emplace(block.label, target);
      // Blocks follow those that dominate them, but not all that lead to them.
      if (facts.reached.insert(target).second && function.block_of_label.at(target) <= i) {
        is_done = false;
      }
    }
  }
  return is_done;
}

void FactFinder::Evaluate(const Instruction& instruction, Id block, const Function& function,
                          Facts& facts) {
  const Id id = instruction.result();
  if (id == 0) return;
  const std::span<const uint32_t> operands = instruction.operands();
  if (instruction.op() == Op::OpPhi) {
    EvaluatePhi(instruction, block, function, facts);
    return;
  }
  const bool is_plain = module_.IsPlain(instruction.type());
  switch (instruction.op()) {
    case Op::OpLoad: {
      const auto held = facts.held.find(operands[0]);
      if (is_plain && held != facts.held.end()) facts.values[id] = held->second;
      return;
    }
    case Op::OpFunctionCall: {
      if (!is_plain) return;
      if (const Known result = Of(CallOf(instruction, facts)).result) facts.values[id] = *result;
      return;
    }
    case Op::OpVariable:
    case Op::OpAccessChain:
    case Op::OpArrayLength:
    case Op::OpExtInst:
    case Op::OpCompositeExtract:
    case Op::OpCompositeInsert:
    case Op::OpVectorShuffle:
      return;  // Literals among their operands, or nothing to be known.
    default:
      break;
  }
  std::vector<Known> known;
  for (Id operand : operands) known.push_back(ValueOf(operand, facts));
  if (is_plain) {
    if (const Known value = Fold(instruction.op(), known)) {
      facts.values[id] = *value;
      return;
    }
  }
  if (const auto same = SameAs(instruction.op(), known)) {
    if (is_plain && known[*same]) {
      facts.values[id] = *known[*same];
      return;
    }
    const auto further = facts.same_as.find(operands[*same]);
    facts.same_as[id] = further == facts.same_as.end() ? operands[*same] : further->second;
  }
}

void FactFinder::EvaluatePhi(const Instruction& phi, Id block, const Function& function,
                             Facts& facts) {
  const std::span<const uint32_t> operands = phi.operands();
  Id only = 0;
  for (size_t i = 0; i < operands.size(); i += 2) {
    // Of a loop's end nothing is known yet.
    if (function.block_of_label.at(operands[i + 1]) >= function.block_of_label.at(block)) return;
    if (!facts.edges.contains({operands[i + 1], block})) continue;
    if (only != 0) {
      const Known value = ValueOf(only, facts);
      if (!value || value != ValueOf(operands[i], facts)) return;
    }
    only = operands[i];
  }
  if (only == 0) return;
  if (const Known value = ValueOf(only, facts)) {
    facts.values[phi.result()] = *value;
    return;
  }
  const auto further = facts.same_as.find(only);
  facts.same_as[phi.result()] = further == facts.same_as.end() ? only : further->second;
}

std::unordered_map<Id, uint32_t> FactFinder::HeldAfter(const Function& function, const Call& call,
                                                       const Facts& facts) const {
  std::unordered_map<Id, uint32_t> held;
  std::unordered_set<Id> others;  // Variables that hold one value and another.
  const auto store = [&](Id variable, Id value) {
    if (!function.plain_variables.contains(variable)) return;
    const Known known = ValueOf(value, facts);
    const auto [entry, is_new] = held.emplace(variable, known.value_or(0));
    if (!known || (!is_new && entry->second != *known)) others.insert(variable);
  };
  for (const Block& block : function.blocks) {
    if (!facts.reached.contains(block.label)) continue;
    for (const Instruction& instruction : block.instructions) {
      const std::span<const uint32_t> operands = instruction.operands();
      if (instruction.op() == Op::OpStore) store(operands[0], operands[1]);
      if (instruction.op() == Op::OpVariable && operands.size() > 1) {
        store(instruction.result(), operands[1]);
      }
    }
  }
  for (Id variable : others) held.erase(variable);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i]) held[function.parameters[i].result()] = *call.arguments[i];
  }
  return held;
}

void FactFinder::FindResult(const Function& function, Facts& facts) {
  bool is_first = true;
  for (const Block& block : function.blocks) {
    if (!facts.reached.contains(block.label)) continue;
    for (const Instruction& instruction : block.instructions) {
      facts.writes |= function.Writes(instruction);
      if (instruction.op() == Op::OpFunctionCall) {
        facts.writes |= Of(CallOf(instruction, facts)).writes;
      }
      if (instruction.op() != Op::OpReturnValue) continue;
      const Known value = ValueOf(instruction.operands()[0], facts);
      if (is_first) {
        facts.result = value;
      } else if (facts.result != value) {
        facts.result.reset();
      }
      is_first = false;
    }
  }
}

}  // namespace webnnd::service::spirv

#include "service/spirv/module.h"

#include <algorithm>

namespace webnnd::service::spirv {
namespace {

using spv::Op;

bool IsForDebuggers(Op op) {
  switch (op) {
    case Op::OpSource:
    case Op::OpSourceContinued:
    case Op::OpSourceExtension:
    case Op::OpName:
    case Op::OpMemberName:
    case Op::OpString:
    case Op::OpLine:
    case Op::OpNoLine:
    case Op::OpModuleProcessed:
      return true;
    default:
      return false;
  }
}

constexpr uint32_t kPlainBits = 32;

}  // namespace

Id Function::StoredVariable(const Instruction& instruction) const {
  if (instruction.op() != Op::OpStore) return 0;
  const Id variable = root(instruction.operands()[0]);
  const bool is_parameter =
      std::any_of(parameters.begin(), parameters.end(),
                  [&](const Instruction& parameter) { return parameter.result() == variable; });
  return local_types.contains(variable) && !is_parameter ? variable : 0;
}

bool Function::Writes(const Instruction& instruction) const {
  switch (instruction.op()) {
    case Op::OpStore:
      return StoredVariable(instruction) == 0;
    case Op::OpControlBarrier:
    case Op::OpMemoryBarrier:
      return true;
    default:
      return instruction.op() >= Op::OpAtomicLoad && instruction.op() <= Op::OpAtomicXor;
  }
}

Module::Module(std::span<const uint32_t> code, const std::map<uint32_t, uint32_t>& constants)
    : code_(code) {
  Function* function = nullptr;
  for (const Instruction& instruction : InstructionsOf(code)) {
    if (IsForDebuggers(instruction.op())) continue;
    if (instruction.op() == Op::OpFunction) {
      function = &AddFunction(instruction);
    } else if (function == nullptr) {
      AddGlobal(instruction, constants);
    } else {
      AddToFunction(instruction, *function);
    }
  }
  CHECK(function_of_id_.contains(entry_point_));
  std::unordered_set<Id> done;
  for (Function& f : functions_) FindWrites(f, done);
  for (Function& f : functions_) FindPlainVariables(f);
}

void Module::AddGlobal(const Instruction& instruction,
                       const std::map<uint32_t, uint32_t>& constants) {
  globals_.push_back(instruction);
  const Id id = instruction.result();
  const std::span<const uint32_t> operands = instruction.operands();
  switch (instruction.op()) {
    case Op::OpEntryPoint:
      CHECK(entry_point_ == 0);
      entry_point_ = operands[1];
      break;
    case Op::OpDecorate:
      if (static_cast<spv::Decoration>(operands[1]) == spv::Decoration::SpecId) {
        spec_ids_[operands[0]] = operands[2];
      }
      break;
    case Op::OpTypeBool:
      bool_type_ = id;
      plain_types_.insert(id);
      break;
    case Op::OpTypeInt:
      if (operands[0] == kPlainBits) plain_types_.insert(id);
      break;
    case Op::OpTypePointer:
      if (static_cast<spv::StorageClass>(operands[0]) == spv::StorageClass::Function) {
        pointees_[id] = operands[1];
      }
      break;
    case Op::OpConstantTrue:
      values_[id] = 1;
      break;
    case Op::OpConstantFalse:
      values_[id] = 0;
      break;
    case Op::OpConstant:
      if (IsPlain(instruction.type())) values_[id] = operands[0];
      break;
    case Op::OpSpecConstant:
    case Op::OpSpecConstantTrue:
    case Op::OpSpecConstantFalse: {
      CHECK(IsPlain(instruction.type()));
      const auto found = constants.find(spec_ids_.at(id));
      if (found != constants.end()) {
        values_[id] = IsBool(instruction.type()) ? found->second != 0 : found->second;
      } else {
        values_[id] = instruction.op() == Op::OpSpecConstant
                          ? operands[0]
                          : instruction.op() == Op::OpSpecConstantTrue;
      }
      break;
    }
    case Op::OpConstantComposite:
    case Op::OpSpecConstantComposite:
      composites_[id] = operands;
      break;
    case Op::OpSpecConstantOp:
      if (!IsPlain(instruction.type())) break;
      if (const Known value = Calculate(static_cast<Op>(operands[0]), operands.subspan(1))) {
        values_[id] = *value;
      }
      break;
    default:
      break;
  }
}

Known Module::Calculate(Op op, std::span<const uint32_t> operands) const {
  if (op == Op::OpCompositeExtract) {
    const auto found = composites_.find(operands[0]);
    if (found == composites_.end() || operands.size() != 2) return {};
    return ValueOf(found->second[operands[1]]);
  }
  std::vector<Known> known;
  for (Id operand : operands) known.push_back(ValueOf(operand));
  return Fold(op, known);
}

Function& Module::AddFunction(const Instruction& declaration) {
  function_of_id_[declaration.result()] = functions_.size();
  return functions_.emplace_back(Function{.declaration = declaration});
}

void Module::AddToFunction(const Instruction& instruction, Function& function) {
  if (instruction.result() != 0) function.local_types[instruction.result()] = instruction.type();
  switch (instruction.op()) {
    case Op::OpFunctionParameter:
      function.parameters.push_back(instruction);
      break;
    case Op::OpLabel:
      function.block_of_label[instruction.result()] = function.blocks.size();
      function.blocks.push_back({.label = instruction.result()});
      break;
    case Op::OpFunctionEnd:
      break;
    case Op::OpLoopMerge:
      function.blocks.back().is_loop_header = true;
      function.blocks.back().instructions.push_back(instruction);
      break;
    case Op::OpAccessChain:
      function.root_of[instruction.result()] = function.root(instruction.operands()[0]);
      [[fallthrough]];
    default:
      function.blocks.back().instructions.push_back(instruction);
  }
}

void Module::FindWrites(Function& function, std::unordered_set<Id>& done) {
  if (!done.insert(function.id()).second) return;
  std::unordered_map<Id, size_t> number;
  for (const Instruction& parameter : function.parameters) {
    number.emplace(parameter.result(), number.size());
  }
  function.writes_parameter.resize(number.size());
  const auto write = [&](Id pointer) {
    const auto found = number.find(function.root(pointer));
    if (found != number.end()) function.writes_parameter[found->second] = true;
  };
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      const std::span<const uint32_t> operands = instruction.operands();
      switch (instruction.op()) {
        case Op::OpLoad:
        case Op::OpAccessChain:
          break;
        case Op::OpStore:
          write(operands[0]);
          break;
        case Op::OpFunctionCall: {
          Function& callee = functions_[function_of_id_.at(operands[0])];
          FindWrites(callee, done);
          for (size_t i = 1; i < operands.size(); ++i) {
            if (callee.writes_parameter[i - 1]) write(operands[i]);
          }
          break;
        }
        default:
          // Atomics, and whatever else is told a pointer.
          ForEachUsedId(instruction, [&](size_t i) { write(instruction.words()[i]); });
      }
    }
  }
}

void Module::FindPlainVariables(Function& function) {
  for (const Instruction& instruction : function.blocks[0].instructions) {
    if (instruction.op() == Op::OpVariable && IsPlain(PointeeOf(instruction.type()))) {
      function.plain_variables.insert(instruction.result());
    }
  }
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      const std::span<const uint32_t> operands = instruction.operands();
      switch (instruction.op()) {
        case Op::OpLoad:
        case Op::OpStore:
        case Op::OpVariable:
          break;
        case Op::OpFunctionCall: {
          const Function& callee = this->function(operands[0]);
          for (size_t i = 1; i < operands.size(); ++i) {
            if (callee.writes_parameter[i - 1]) function.plain_variables.erase(operands[i]);
          }
          break;
        }
        default:
          ForEachUsedId(instruction,
                        [&](size_t i) { function.plain_variables.erase(instruction.words()[i]); });
      }
    }
  }
}

}  // namespace webnnd::service::spirv

#include "service/spirv/specialize.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "service/spirv/facts.h"
#include "service/spirv/function_writer.h"
#include "service/spirv/module.h"

namespace webnnd::service::spirv {
namespace {

using spv::Op;
using Words = std::vector<uint32_t>;

bool IsOf(const Instruction& decoration, spv::Decoration kind) {
  return static_cast<spv::Decoration>(decoration.operands()[1]) == kind;
}

// Ids are those of the old module, or follow them, until Finish() numbers what is used anew.
class Specializer : Surroundings {
 public:
  Specializer(std::span<const uint32_t> code, const std::map<uint32_t, uint32_t>& constants)
      : module_(code, constants), finder_(module_), next_id_(module_.bound()) {
    for (const Instruction& global : module_.globals()) AddGlobal(global);
  }

  Words Run() {
    FunctionWriter writer(module_, finder_, *this);
    const Call main{.function = module_.entry_point().id()};
    callees_.emplace(main, main.function);
    waiting_.push_back(main);
    while (!waiting_.empty()) {
      const Call call = std::move(waiting_.front());
      waiting_.pop_front();
      AddFunction(writer.Write(call, callees_.at(call)));
    }
    return Finish();
  }

 private:
  Id Constant(Id type, uint32_t bits) override {
    const auto [found, is_new] = constants_.emplace(std::pair(type, bits), next_id_);
    if (!is_new) return found->second;
    if (module_.IsBool(type)) {
      const Op op = bits != 0 ? Op::OpConstantTrue : Op::OpConstantFalse;
      globals_.push_back({FirstWord(op, 3), type, next_id_});
    } else {
      globals_.push_back({FirstWord(Op::OpConstant, 4), type, next_id_, bits});
    }
    return next_id_++;
  }

  Id FunctionType(Id result, Words parameters) override {
    parameters.insert(parameters.begin(), result);
    const auto [found, is_new] = function_types_.emplace(parameters, next_id_);
    if (!is_new) return found->second;
    Words words = {FirstWord(Op::OpTypeFunction, 2 + parameters.size()), next_id_};
    words.insert(words.end(), parameters.begin(), parameters.end());
    globals_.push_back(std::move(words));
    return next_id_++;
  }

  Id Callee(const Call& call) override {
    const auto [found, is_new] = callees_.emplace(call, next_id_);
    if (is_new) {
      ++next_id_;
      waiting_.push_back(call);
    }
    return found->second;
  }

  Id NewId() override { return next_id_++; }

  void AddGlobal(const Instruction& global) {
    const Id id = global.result();
    Words words(global.words().begin(), global.words().end());
    switch (global.op()) {
      case Op::OpDecorate:
        if (IsOf(global, spv::Decoration::SpecId)) return;
        decorations_[global.operands()[0]].push_back(global);
        return;
      case Op::OpMemberDecorate:
        decorations_[global.operands()[0]].push_back(global);
        return;
      case Op::OpTypeFunction:
        function_types_.emplace(Words(global.operands().begin(), global.operands().end()), id);
        break;
      case Op::OpConstant:
      case Op::OpConstantTrue:
      case Op::OpConstantFalse:
        if (const Known value = module_.ValueOf(id)) {
          constants_.emplace(std::pair(global.type(), *value), id);
        }
        break;
      case Op::OpSpecConstant:
      case Op::OpSpecConstantTrue:
      case Op::OpSpecConstantFalse:
      case Op::OpSpecConstantOp:
        // One that is known is a constant like others, which may exist already.
        if (const Known value = module_.ValueOf(id)) {
          same_as_[id] = Constant(global.type(), *value);
          return;
        }
        break;
      case Op::OpSpecConstantComposite:
        words[0] = FirstWord(Op::OpConstantComposite, words.size());
        break;
      default:
        break;
    }
    globals_.push_back(std::move(words));
  }

  void AddFunction(std::vector<Words> instructions) {
    // The same results stand in each that is written of a function: they are numbered for it alone.
    std::unordered_map<Id, Id> own;
    for (const Words& words : instructions) {
      const Instruction instruction(words);
      const Id id = instruction.result();
      if (id == 0 || instruction.op() == Op::OpFunction) continue;
      own[id] = next_id_;
      const auto found = decorations_.find(id);
      if (found != decorations_.end()) copied_decorations_[next_id_] = found->second;
      ++next_id_;
    }
    for (Words& words : instructions) {
      const Instruction instruction(words);
      const auto rename = [&](uint32_t& id) {
        const auto found = own.find(id);
        if (found != own.end()) id = found->second;
      };
      ForEachUsedId(instruction, [&](size_t i) { rename(words[i]); });
      if (instruction.result() != 0) rename(words[instruction.first_operand() - 1]);
      functions_.push_back(std::move(words));
    }
  }

  // What functions use, what that uses, and what each module must have.
  std::unordered_set<Id> UsedGlobals() {
    std::unordered_set<Id> used;
    const auto use = [&](const Words& words) {
      ForEachUsedId(Instruction(words), [&](size_t i) { used.insert(SameAs(words[i])); });
    };
    for (const Words& words : functions_) use(words);
    for (auto global = globals_.rbegin(); global != globals_.rend(); ++global) {
      const Instruction instruction(*global);
      const Id id = instruction.result();
      if (instruction.op() == Op::OpConstantComposite && IsBuiltIn(id)) used.insert(id);
      // An entry point names all variables, be they used or not.
      if (id == 0 ? instruction.op() != Op::OpEntryPoint : used.contains(id)) use(*global);
    }
    return used;
  }

  // As the size of a workgroup, which is a constant that nobody need use.
  bool IsBuiltIn(Id id) const {
    const auto found = decorations_.find(id);
    if (found == decorations_.end()) return false;
    for (const Instruction& decoration : found->second) {
      if (decoration.op() == Op::OpDecorate && IsOf(decoration, spv::Decoration::BuiltIn)) {
        return true;
      }
    }
    return false;
  }

  Id SameAs(Id id) const {
    const auto found = same_as_.find(id);
    return found == same_as_.end() ? id : found->second;
  }

  void Append(const Words& words, Words& code) {
    const Instruction instruction(words);
    const size_t begin = code.size();
    code.insert(code.end(), words.begin(), words.end());
    const auto number = [&](size_t i) {
      code[begin + i] = numbers_.emplace(SameAs(words[i]), numbers_.size() + 1).first->second;
    };
    ForEachUsedId(instruction, number);
    if (instruction.result() != 0) number(instruction.first_operand() - 1);
  }

  // Of `id`, which may be a copy of what they decorate.
  void AppendDecorations(Id id, const std::vector<Instruction>& decorations, Words& code) {
    for (const Instruction& decoration : decorations) {
      Words words(decoration.words().begin(), decoration.words().end());
      words[1] = id;
      Append(words, code);
    }
  }

  Words Finish() {
    const std::unordered_set<Id> used = UsedGlobals();
    Words code(module_.header().begin(), module_.header().end());
    bool has_decorations = false;
    for (Words& words : globals_) {
      const Instruction global(words);
      if (global.op() == Op::OpEntryPoint) KeepUsed(words, used);
      if (global.result() != 0 && global.op() != Op::OpExtInstImport) {
        if (!used.contains(global.result())) continue;
        // They stand before the first type.
        if (!std::exchange(has_decorations, true)) AppendAllDecorations(used, code);
      }
      Append(words, code);
    }
    for (const Words& words : functions_) Append(words, code);
    code[kBoundWord] = static_cast<uint32_t>(numbers_.size()) + 1;
    return code;
  }

  void AppendAllDecorations(const std::unordered_set<Id>& used, Words& code) {
    for (const auto& [id, decorations] : decorations_) {
      if (used.contains(id)) AppendDecorations(id, decorations, code);
    }
    for (const auto& [id, decorations] : copied_decorations_) {
      AppendDecorations(id, decorations, code);
    }
  }

  // Of the variables that an entry point names.
  void KeepUsed(Words& entry_point, const std::unordered_set<Id>& used) {
    constexpr size_t kName = 3;
    const size_t first = kName + StringWords(std::span(entry_point).subspan(kName));
    entry_point.erase(
        std::remove_if(entry_point.begin() + static_cast<ptrdiff_t>(first), entry_point.end(),
                       [&](Id variable) { return !used.contains(variable); }),
        entry_point.end());
    entry_point[0] = FirstWord(Op::OpEntryPoint, entry_point.size());
  }

  const Module module_;
  FactFinder finder_;
  Id next_id_;
  std::vector<Words> globals_;
  std::vector<Words> functions_;
  std::unordered_map<Id, Id> same_as_;
  std::map<Id, std::vector<Instruction>> decorations_;         // By what they decorate.
  std::map<Id, std::vector<Instruction>> copied_decorations_;  // In functions, which are copies.
  std::map<std::pair<Id, uint32_t>, Id> constants_;            // By type and value.
  std::map<Words, Id> function_types_;                         // By result and parameters.
  std::map<Call, Id> callees_;
  std::deque<Call> waiting_;
  std::unordered_map<Id, Id> numbers_;
};

}  // namespace

std::vector<uint32_t> Specialize(std::span<const uint32_t> code,
                                 const std::map<uint32_t, uint32_t>& constants) {
  return Specializer(code, constants).Run();
}

}  // namespace webnnd::service::spirv

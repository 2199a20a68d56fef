// A SPIR-V module taken apart: what stands before its functions, and the blocks of each of these.
#ifndef WEBNND_SERVICE_SPIRV_MODULE_H_
#define WEBNND_SERVICE_SPIRV_MODULE_H_

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "service/spirv/fold.h"
#include "service/spirv/instruction.h"

namespace webnnd::service::spirv {

struct Block {
  Id label = 0;
  std::vector<Instruction> instructions;  // Behind the label; the last one leaves the block.
  bool is_loop_header = false;
};

struct Function {
  Instruction declaration;
  std::vector<Instruction> parameters;
  std::vector<Block> blocks;
  std::unordered_map<Id, Id> local_types;  // Of all results; 0 of labels.
  std::unordered_map<Id, size_t> block_of_label;
  // Of a pointer that an access chain made: what it points into.
  std::unordered_map<Id, Id> root_of;
  // Whether the function, or one that it calls, may write to what the parameter points to.
  std::vector<bool> writes_parameter;
  // Variables of one 32-bit integer or truth value that are only loaded and stored whole, and
  // passed to functions that do not write to them.
  std::unordered_set<Id> plain_variables;

  Id id() const { return declaration.result(); }
  // The variable of the function that an OpStore stores to, or into; 0: it is another's, or no
  // store.
  Id StoredVariable(const Instruction& instruction) const;
  // Whether the instruction does more, by itself, than to give a result or to change such a
  // variable.
  bool Writes(const Instruction& instruction) const;
  Id root(Id pointer) const {
    const auto found = root_of.find(pointer);
    return found == root_of.end() ? pointer : found->second;
  }
};

class Module {
 public:
  // `code` outlives the module. What only debuggers read is left out. The values of specialisation
  // constants by their SpecId; others keep their defaults.
  Module(std::span<const uint32_t> code, const std::map<uint32_t, uint32_t>& constants);

  std::span<const uint32_t> header() const { return code_.first(kHeaderWords); }
  Id bound() const { return code_[kBoundWord]; }
  const std::vector<Instruction>& globals() const { return globals_; }
  const std::vector<Function>& functions() const { return functions_; }
  const Function& function(Id id) const { return functions_[function_of_id_.at(id)]; }
  const Function& entry_point() const { return function(entry_point_); }

  // Whether values of the type are known as numbers: 32-bit integers and truth values.
  bool IsPlain(Id type) const { return plain_types_.contains(type); }
  bool IsBool(Id type) const { return type == bool_type_; }
  // Of constants, specialised ones among them.
  Known ValueOf(Id constant) const {
    const auto found = values_.find(constant);
    return found == values_.end() ? Known() : found->second;
  }
  // 0 unless it's the type of pointers to variables of a function.
  Id PointeeOf(Id type) const {
    const auto found = pointees_.find(type);
    return found == pointees_.end() ? 0 : found->second;
  }

 private:
  void AddGlobal(const Instruction& instruction, const std::map<uint32_t, uint32_t>& constants);
  // Of constants.
  Known Calculate(spv::Op op, std::span<const uint32_t> operands) const;
  Function& AddFunction(const Instruction& declaration);
  void AddToFunction(const Instruction& instruction, Function& function);
  // In the order of calls: who is called comes first.
  void FindWrites(Function& function, std::unordered_set<Id>& done);
  void FindPlainVariables(Function& function);

  std::span<const uint32_t> code_;
  std::vector<Instruction> globals_;
  std::vector<Function> functions_;
  std::unordered_map<Id, size_t> function_of_id_;
  Id entry_point_ = 0;
  Id bool_type_ = 0;
  std::unordered_set<Id> plain_types_;
  std::unordered_map<Id, Id> pointees_;
  std::unordered_map<Id, uint32_t> spec_ids_;
  std::unordered_map<Id, uint32_t> values_;
  std::unordered_map<Id, std::span<const uint32_t>> composites_;  // Constants, by constituents.
};

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_MODULE_H_

// FunctionWriter: what is left of one function, given what is known of it.
#ifndef WEBNND_SERVICE_SPIRV_FUNCTION_WRITER_H_
#define WEBNND_SERVICE_SPIRV_FUNCTION_WRITER_H_

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "service/spirv/facts.h"
#include "service/spirv/module.h"

namespace webnnd::service::spirv {

// What a function needs of the module that it is written for.
class Surroundings {
 public:
  virtual ~Surroundings() = default;

  // A constant of the type.
  virtual Id Constant(Id type, uint32_t bits) = 0;
  // A function's type.
  virtual Id FunctionType(Id result, std::vector<Id> parameters) = 0;
  // The function that is called so, which will be written as well.
  virtual Id Callee(const Call& call) = 0;
  // One that nothing has.
  virtual Id NewId() = 0;
};

class FunctionWriter {
 public:
  FunctionWriter(const Module& module, FactFinder& finder, Surroundings& surroundings)
      : module_(module), finder_(finder), surroundings_(surroundings) {}

  // From OpFunction to OpFunctionEnd, with the ids of the module, but for `id`, that of the
  // function.
  std::vector<std::vector<uint32_t>> Write(const Call& call, Id id);

 private:
  using Words = std::vector<uint32_t>;

  void WriteHead(const Call& call, Id id);
  void WriteBlock(const Block& block);
  void WriteInstruction(const Instruction& instruction, Id block);
  void WriteCall(const Instruction& instruction);
  void WritePhi(const Instruction& phi, Id block);
  void WriteMerge(const Instruction& merge, const Block& block);
  void WriteEnd(const Block& block);
  // The number by which the block's end chooses where to go on, if it is known.
  Known SelectorOf(const Block& block) const;
  // Labels that a construct names and nothing leads to.
  void WriteUnreached();
  // The id that now stands for an operand.
  Id Operand(Id id);
  Words WithOperands(const Instruction& instruction);
  // Whether an instruction is there for more than its result.
  bool IsNeeded(const Instruction& instruction) const;
  // Leaves out what nobody uses.
  void Sweep();
  // Has the calls that are left call what is written for them.
  void NameCallees();
  // Those that may run, each behind all that lead to it but for ends of its loop: blocks have to
  // follow those that dominate them, and of a switch one case may lead to another that stood before
  // it.
  std::vector<const Block*> BlocksInOrder() const;
  // Whether the end of a loop leads back to where it begins.
  bool HasBackEdge(const Block& header) const;

  const Module& module_;
  FactFinder& finder_;
  Surroundings& surroundings_;

  const Function* function_ = nullptr;
  const Facts* facts_ = nullptr;
  std::vector<Words> written_;
  std::unordered_map<Id, Call> calls_;        // By their results.
  std::unordered_set<Id> writing_calls_;      // Likewise.
  std::vector<std::pair<Id, Id>> unreached_;  // The label, and where it leads; 0: nowhere.
};

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_FUNCTION_WRITER_H_

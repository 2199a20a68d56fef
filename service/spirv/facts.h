// What is known of functions where constants are: which blocks may run, and what instructions give.
#ifndef WEBNND_SERVICE_SPIRV_FACTS_H_
#define WEBNND_SERVICE_SPIRV_FACTS_H_

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "service/spirv/module.h"

namespace webnnd::service::spirv {

// A function, and what is known of each of its arguments: of what it points to, where it is a
// pointer.
struct Call {
  Id function = 0;
  std::vector<Known> arguments;

  friend auto operator<=>(const Call&, const Call&) = default;
};

// Of a function that is called so.
struct Facts {
  std::unordered_set<Id> reached;           // Labels of blocks that may run.
  std::set<std::pair<Id, Id>> edges;        // From block to block, that may be taken.
  std::unordered_map<Id, uint32_t> values;  // Of results.
  std::unordered_map<Id, Id> same_as;       // Results that are other results, which are no such.
  std::unordered_map<Id, uint32_t>
      held;  // What a variable or parameter holds whenever it is loaded.
  Known result;
  bool writes = false;  // More than its own variables, or it waits for others.
};

class FactFinder {
 public:
  explicit FactFinder(const Module& module) : module_(module) {}

  const Facts& Of(const Call& call);
  // The call that `instruction`, an OpFunctionCall of the function with these facts, makes.
  Call CallOf(const Instruction& instruction, const Facts& facts) const;
  // Of a result in the function, or of a constant.
  Known ValueOf(Id id, const Facts& facts) const;

 private:
  // Goes through all blocks that may run, given what is `held`.
  void Walk(const Function& function, Facts& facts);
  // Whether nothing turned out that the blocks before had to know.
  bool WalkOnce(const Function& function, Facts& facts);
  void Evaluate(const Instruction& instruction, Id block, const Function& function, Facts& facts);
  void EvaluatePhi(const Instruction& phi, Id block, const Function& function, Facts& facts);
  std::unordered_map<Id, uint32_t> HeldAfter(const Function& function, const Call& call,
                                             const Facts& facts) const;
  void FindResult(const Function& function, Facts& facts);

  const Module& module_;
  std::map<Call, std::unique_ptr<Facts>> facts_;
};

// Where the last instruction of a block may lead: all labels, or the one that is known.
std::vector<Id> TargetsOf(const Instruction& last, Known selector);

}  // namespace webnnd::service::spirv

#endif  // WEBNND_SERVICE_SPIRV_FACTS_H_

// Placement: which values share memory, and which of them live in the tensors of inputs and
// outputs.
#ifndef WEBNND_SERVICE_PASSES_PLACEMENT_H_
#define WEBNND_SERVICE_PASSES_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "service/passes/lowering.h"
#include "service/plan/plan.h"

namespace webnnd::service {

// Values that have the same memory have one root.
class Placement {
 public:
  struct Copy {
    uint32_t output = 0;
    ValueId value = kNoValue;
  };

  // Puts copies among the calls of `lowered` where an update or an old input needs one. `graph` is
  // the one that `lowered` was made for.
  Placement(const Graph& graph, LoweringBuilder& lowered, std::span<const TensorAlias> aliases);

  ValueId root(ValueId value) const {
    // Two steps at most: to what an alias views, and to what an update began from.
    while (parent_[value] != value) value = parent_[value];
    return value;
  }
  bool InArena(ValueId root) const {
    return graph_.values[root].kind == Value::Kind::kResult && output_of_root_[root] == kNone;
  }
  // The output whose tensor has the root's memory, as its own or as an alias's input, or kNone.
  uint32_t output_of_root(ValueId root) const { return output_of_root_[root]; }
  // The outputs that are not written in place: filled after all calls.
  const std::vector<Copy>& copied_outputs() const { return copied_outputs_; }
  // Copies among the calls.
  uint32_t inserted_copies() const { return static_cast<uint32_t>(copies_.size()); }

  static constexpr uint32_t kNone = 0xffffffff;

 private:
  // When something happens: before call i at 2 i, by call i at 2 i + 1.
  using Time = size_t;
  static constexpr Time kNever = static_cast<Time>(-1);

  struct Uses {
    Time first_write = kNever;
    Time last_use = 0;
    uint32_t updates = 0;  // That begin from it.
    uint32_t outputs = 0;  // That have it.
  };

  void KeepOldInputs();
  void FindUses();
  void PlaceUpdates();
  bool CanUpdate(ValueId source, ValueId result, Time time) const;
  bool BecomesOutput(ValueId value, uint32_t output) const;
  void PlaceOutputs();
  bool CanPlaceInOutput(ValueId root, uint32_t output) const;
  void InsertCopy(ValueId result, ValueId source, size_t call_index);
  void InsertCopies();
  void AddValue();
  void Merge(ValueId result, ValueId source);
  ValueId RootOfInput(uint32_t input) const { return root(graph_.inputs[input].value); }

  const Graph& graph_;
  LoweringBuilder& lowered_;
  std::vector<uint32_t> output_of_input_;  // By aliases; kNone.
  std::vector<uint32_t> input_of_output_;
  std::vector<ValueId> output_values_;
  std::vector<ValueId> parent_;
  std::vector<uint32_t> output_of_root_;
  std::vector<Uses> uses_;                              // By root.
  std::map<ValueId, ValueId> updated_;                  // By root: the result of an update from it.
  std::vector<std::pair<size_t, LoweredCall>> copies_;  // And the call that each goes before.
  std::vector<Copy> copied_outputs_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_PLACEMENT_H_

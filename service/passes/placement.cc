#include "service/passes/placement.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace webnnd::service {

Placement::Placement(const Graph& graph, LoweringBuilder& lowered,
                     std::span<const TensorAlias> aliases)
    : graph_(graph),
      lowered_(lowered),
      output_of_input_(graph.inputs.size(), kNone),
      input_of_output_(graph.outputs.size(), kNone) {
  for (const TensorAlias& alias : aliases) {
    CHECK(output_of_input_.at(alias.input) == kNone && input_of_output_.at(alias.output) == kNone);
    output_of_input_[alias.input] = alias.output;
    input_of_output_[alias.output] = alias.input;
  }
  while (parent_.size() < graph.values.size()) AddValue();
  // Sources come before results, so one pass finds the roots.
  for (const auto& alias : lowered.aliases()) parent_[alias.result] = root(alias.source);
  for (const Graph::Output& output : graph.outputs) output_values_.push_back(output.value);
  KeepOldInputs();
  FindUses();
  PlaceUpdates();
  PlaceOutputs();
  for (const TensorAlias& alias : aliases) {
    output_of_root_[RootOfInput(alias.input)] = alias.output;
  }
  InsertCopies();
}

void Placement::AddValue() {
  parent_.push_back(static_cast<ValueId>(parent_.size()));
  output_of_root_.push_back(kNone);
}

// An output that is an input as it was, where another output's tensor is that input's.
void Placement::KeepOldInputs() {
  std::map<uint32_t, ValueId> kept;  // By input.
  for (uint32_t output = 0; output < output_values_.size(); ++output) {
    const ValueId value = root(output_values_[output]);
    if (graph_.values[value].kind != Value::Kind::kInput) continue;
    const uint32_t input = graph_.values[value].index;
    if (output_of_input_[input] == kNone || output_of_input_[input] == output) continue;
    auto [entry, inserted] = kept.try_emplace(input, kNoValue);
    if (inserted) {
      entry->second = lowered_.AddTemporary(graph_.values[value].descriptor);
      AddValue();
      InsertCopy(entry->second, value, /*call_index=*/0);
      copies_.back().second.label = "keep";
    }
    output_values_[output] = entry->second;
  }
}

void Placement::FindUses() {
  uses_.resize(parent_.size());
  // Old inputs that are kept.
  for (const auto& [index, copy] : copies_) uses_[copy.buffers[1].value].first_write = 0;
  const std::vector<LoweredCall>& calls = lowered_.calls();
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const LoweredBuffer& buffer : calls[i].buffers) {
      Uses& uses = uses_[root(buffer.value)];
      uses.last_use = 2 * i + 1;
      if (buffer.written) uses.first_write = std::min(uses.first_write, 2 * i + 1);
    }
  }
  for (const auto& update : lowered_.updates()) {
    const ValueId source = root(update.source);
    uses_[source].last_use = std::max(uses_[source].last_use, 2 * update.call_index);
    ++uses_[source].updates;
    updated_[source] = root(update.result);
  }
  for (ValueId value : output_values_) ++uses_[root(value)].outputs;
}

void Placement::PlaceUpdates() {
  for (const auto& update : lowered_.updates()) {
    const ValueId source = root(update.source);
    const ValueId result = root(update.result);
    const Time time = 2 * update.call_index;
    if (CanUpdate(source, result, time)) {
      Merge(result, source);
    } else {
      InsertCopy(update.result, update.source, update.call_index);
      uses_[result].first_write = std::min(uses_[result].first_write, time);
    }
  }
}

bool Placement::CanUpdate(ValueId source, ValueId result, Time time) const {
  const Uses& uses = uses_[source];
  // The update itself is a use.
  if (uses.updates != 1 || uses.last_use > time || uses.outputs != 0) return false;
  const Value& value = graph_.values[source];
  if (value.kind == Value::Kind::kResult) return true;
  if (value.kind == Value::Kind::kConstant) return false;
  const uint32_t output = output_of_input_[value.index];
  return output != kNone && BecomesOutput(result, output);
}

// Whether updates alone lead from the value to the output, and what is on the way is no output.
bool Placement::BecomesOutput(ValueId value, uint32_t output) const {
  const ValueId wanted = root(output_values_[output]);
  while (value != wanted) {
    auto next = updated_.find(value);
    if (next == updated_.end() || root(next->second) == value) return false;
    if (uses_[value].outputs != 0) return false;
    value = root(next->second);
  }
  return true;
}

void Placement::Merge(ValueId result, ValueId source) {
  parent_[result] = source;
  uses_[source] = {std::min(uses_[source].first_write, uses_[result].first_write),
                   std::max(uses_[source].last_use, uses_[result].last_use), uses_[result].updates,
                   uses_[result].outputs};
  if (auto next = updated_.find(result); next != updated_.end()) {
    updated_[source] = next->second;
  } else {
    updated_.erase(source);
  }
}

void Placement::PlaceOutputs() {
  for (uint32_t output = 0; output < output_values_.size(); ++output) {
    const ValueId value = root(output_values_[output]);
    const Value& place = graph_.values[value];
    if (place.kind == Value::Kind::kInput && output_of_input_[place.index] == output) continue;
    if (CanPlaceInOutput(value, output)) {
      output_of_root_[value] = output;
    } else if (place.descriptor.element_count() != 0) {
      copied_outputs_.push_back({output, output_values_[output]});
    }
  }
}

bool Placement::CanPlaceInOutput(ValueId root, uint32_t output) const {
  if (!InArena(root)) return false;
  const uint32_t input = input_of_output_[output];
  if (input == kNone) return true;
  // Whatever reads the input comes before.
  return uses_[root].first_write > uses_[RootOfInput(input)].last_use;
}

void Placement::InsertCopy(ValueId result, ValueId source, size_t call_index) {
  if (graph_.values[source].descriptor.element_count() == 0) return;
  copies_.emplace_back(call_index, MakeCopyCall(graph_, result, source));
}

void Placement::InsertCopies() {
  if (copies_.empty()) return;
  std::stable_sort(copies_.begin(), copies_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LoweredCall> calls;
  auto copy = copies_.begin();
  for (size_t i = 0; i <= lowered_.calls().size(); ++i) {
    for (; copy != copies_.end() && copy->first == i; ++copy) {
      calls.push_back(std::move(copy->second));
    }
    if (i < lowered_.calls().size()) calls.push_back(std::move(lowered_.calls()[i]));
  }
  lowered_.calls() = std::move(calls);
}

}  // namespace webnnd::service

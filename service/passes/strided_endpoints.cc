#include "service/passes/strided_endpoints.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "service/passes/region_copy.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// Copies of one result: each is a kernel call.
constexpr uint64_t kCopiesMax = 4096;

void Label(LoweringBuilder& builder, size_t first_call, const char* label) {
  for (size_t i = first_call; i < builder.calls().size(); ++i) builder.calls()[i].label = label;
}

// The elements of a tensor as a copy reads them.
std::vector<StridedDimension> Strided(const Shape& shape, const Shape& capacity) {
  std::vector<StridedDimension> dimensions;
  for (const CapacityDimension& dimension : DimensionsInCapacity(shape, capacity)) {
    dimensions.push_back({.size = dimension.size, .strides = {dimension.stride}});
  }
  if (dimensions.empty()) dimensions.push_back({.size = 1, .strides = {1}});
  return dimensions;
}

}  // namespace

std::vector<CapacityDimension> DimensionsInCapacity(std::span<const uint32_t> shape,
                                                    std::span<const uint32_t> capacity) {
  CHECK(shape.size() == capacity.size());
  std::vector<CapacityDimension> dimensions;  // Innermost first.
  uint32_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1) {
      if (!dimensions.empty() && stride == dimensions.back().size * dimensions.back().stride) {
        dimensions.back().size *= shape[d];
      } else {
        dimensions.push_back({shape[d], stride});
      }
    }
    stride *= capacity[d];
  }
  return {dimensions.rbegin(), dimensions.rend()};
}

bool LiesPacked(std::span<const uint32_t> shape, std::span<const uint32_t> capacity) {
  const auto dimensions = DimensionsInCapacity(shape, capacity);
  return dimensions.empty() || (dimensions.size() == 1 && dimensions[0].stride == 1);
}

Status StridedEndpoints::LowerInputs() {
  if (options_.input_capacities.empty()) return {};
  FindAppends();
  std::map<uint32_t, Append*> grown;  // By input.
  for (auto& [result, append] : appends_) {
    for (const TensorAlias& alias : options_.aliases) {
      if (alias.output == append.output) grown[alias.input] = &append;
    }
  }
  for (uint32_t i = 0; i < graph_.inputs.size(); ++i) {
    const Shape& capacity = options_.input_capacities[i];
    const ValueId packed = graph_.inputs[i].value;
    const Shape shape = graph_.values[packed].descriptor.shape();
    const bool is_empty = graph_.values[packed].descriptor.element_count() == 0;
    const auto append = grown.find(i);
    if (append == grown.end() && (is_empty || LiesPacked(shape, capacity))) continue;
    ASSIGN_OR_RETURN(graph_.inputs[i].value, AddTensor(Value::Kind::kInput, packed, i, capacity));
    graph_.values[packed].kind = Value::Kind::kResult;
    graph_.values[packed].index = 0;
    if (append != grown.end()) append->second->old = graph_.inputs[i].value;
    if (append == grown.end() && IsOnlyAppended(packed)) {
      unpacked_[packed] = {graph_.inputs[i].value, &capacity};
      continue;
    }
    // Without other users nobody looks at a tensor that grows.
    const bool is_used =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
          const auto begin = node.operands.begin() +
                             (IsAppend(node) && append != grown.end() &&
                              appends_.at(node.results[0]).output == append->second->output);
          return std::find(begin, node.operands.end(), packed) != node.operands.end();
        });
    // Fusion leaves out what changes nothing.
    const bool is_output =
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                    [&](const Graph::Output& output) { return output.value == packed; });
    if ((is_used || is_output) && !is_empty) Pack(graph_.inputs[i].value, packed, capacity);
  }
  return {};
}

// A concat whose result is an output that does not lie packed, or is in the tensor that is its
// first operand.
void StridedEndpoints::FindAppends() {
  for (uint32_t output = 0; output < graph_.outputs.size(); ++output) {
    const ValueId result = graph_.outputs[output].value;
    const Value& value = graph_.values[result];
    if (value.kind != Value::Kind::kResult || value.descriptor.element_count() == 0) continue;
    const Node& node = graph_.nodes[value.index];
    if (node.kind != OperatorKind::kConcat || node.macro.index() != 0) continue;
    const auto uses = std::count_if(graph_.outputs.begin(), graph_.outputs.end(),
                                    [&](const auto& other) { return other.value == result; });
    if (uses != 1) continue;
    const auto grows = [&](const TensorAlias& alias) {
      return alias.output == output && graph_.inputs[alias.input].value == node.operands[0];
    };
    const bool is_alias = std::any_of(options_.aliases.begin(), options_.aliases.end(),
                                      [&](const auto& alias) { return alias.output == output; });
    const bool is_grown = std::any_of(options_.aliases.begin(), options_.aliases.end(), grows);
    const bool is_strided =
        !LiesPacked(value.descriptor.shape(), options_.output_capacities[output]);
    if (is_grown || (is_strided && !is_alias)) appends_[result] = {.output = output};
  }
  for (const Node& node : graph_.nodes) {
    if (ReadsTensors(node)) readers_.insert(&node);
  }
}

bool StridedEndpoints::IsOnlyAppended(ValueId input) const {
  const auto is_input = [&](const Graph::Output& output) { return output.value == input; };
  if (std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is_input)) return false;
  const Shape& shape = graph_.values[input].descriptor.shape();
  return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    if (std::find(node.operands.begin(), node.operands.end(), input) == node.operands.end()) {
      return true;
    }
    if (!IsAppend(node)) return false;
    const Shape& to = options_.output_capacities[appends_.at(node.results[0]).output];
    // One copy has runs of one distance.
    return DimensionsInCapacity(shape, to).size() <= 2;
  });
}

bool StridedEndpoints::IsAppend(const Node& node) const {
  return !appends_.empty() && node.results.size() == 1 && appends_.contains(node.results[0]);
}

Status StridedEndpoints::LowerAppend(const Node& node) {
  const size_t first_call = builder_.calls().size();
  const ValueId result = node.results[0];
  Append& append = appends_.at(result);
  const Shape& capacity = options_.output_capacities[append.output];
  ASSIGN_OR_RETURN(append.tensor, AddTensor(Value::Kind::kResult, result, 0, capacity));
  graph_.outputs[append.output].value = append.tensor;
  if (append.old != kNoValue) builder_.AddUpdate(append.tensor, append.old);
  const uint32_t axis = std::get<webidl::ConcatAttributes>(node.attributes).axis;
  const uint32_t stride = PackedStrides(capacity)[axis];
  uint32_t offset = 0;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (i > 0 || append.old == kNoValue) {
      TRY(CopyToTensor(node.operands[i], append.tensor, capacity, offset));
    }
    offset += builder_.descriptor(node.operands[i]).shape()[axis] * stride;
  }
  Label(builder_, first_call, "append");
  if (!PassTensorOn(result, node)) return {};
  if (LiesPacked(builder_.descriptor(result).shape(), capacity)) {
    builder_.AddAlias(result, append.tensor);
  } else {
    Pack(append.tensor, result, capacity);
  }
  return {};
}

uint32_t StridedEndpoints::RoomForRows(ValueId result) const {
  const auto append = appends_.find(result);
  if (append == appends_.end()) return 0;
  Shape shape = builder_.descriptor(result).shape();
  const Shape& capacity = options_.output_capacities[append->second.output];
  if (shape.size() < 2) return 0;
  const size_t rows = shape.size() - 2;
  shape[rows] = capacity[rows];
  return shape == capacity ? capacity[rows] : 0;
}

bool StridedEndpoints::ReadsTensors(const Node& node) const {
  const auto* attention = std::get_if<Attention>(&node.macro);
  if (attention == nullptr) return false;
  const ValueId keys = node.operands[1];
  const ValueId values = node.operands[2];
  const uint32_t room = RoomForRows(keys);
  if (room == 0 || RoomForRows(values) != room) return false;
  const Shape& shape = builder_.descriptor(keys).shape();
  uint64_t heads = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) heads *= shape[d];
  return shape == builder_.descriptor(values).shape() && shape.back() == attention->head_size &&
         heads == attention->key_value_heads;
}

bool StridedEndpoints::PassTensorOn(ValueId result, const Node& append) {
  bool is_used = false;
  const ValueId tensor = appends_.at(result).tensor;
  for (Node& user : graph_.nodes) {
    if (&user == &append) continue;
    const auto uses = std::count(user.operands.begin(), user.operands.end(), result);
    if (uses == 0) continue;
    if (!readers_.contains(&user)) {
      is_used = true;
      continue;
    }
    const Shape& shape = builder_.descriptor(result).shape();
    std::get<Attention>(user.macro).keys = shape[shape.size() - 2];
    for (size_t i : {1, 2}) {
      if (user.operands[i] == result) user.operands[i] = tensor;
    }
    is_used |= uses > std::count(user.operands.begin(), user.operands.end(), tensor);
  }
  return is_used;
}

Status StridedEndpoints::LowerOutputs() {
  for (uint32_t i = 0; i < options_.output_capacities.size(); ++i) {
    const Shape& capacity = options_.output_capacities[i];
    const ValueId packed = graph_.outputs[i].value;
    const webidl::OperandDescriptor& descriptor = graph_.values[packed].descriptor;
    const bool is_tensor = std::any_of(appends_.begin(), appends_.end(), [&](const auto& entry) {
      return entry.second.tensor == packed;
    });
    if (is_tensor || descriptor.element_count() == 0 || LiesPacked(descriptor.shape(), capacity)) {
      continue;
    }
    ASSIGN_OR_RETURN(graph_.outputs[i].value, AddTensor(Value::Kind::kResult, packed, 0, capacity));
    const size_t first_call = builder_.calls().size();
    TRY(CopyToTensor(packed, graph_.outputs[i].value, capacity, 0));
    Label(builder_, first_call, "unpack");
  }
  return {};
}

Result<ValueId> StridedEndpoints::AddTensor(Value::Kind kind, ValueId like, uint32_t index,
                                            const Shape& capacity) {
  ASSIGN_OR_RETURN(webidl::OperandDescriptor descriptor,
                   webidl::OperandDescriptor::Create(graph_.values[like].descriptor.data_type(),
                                                     std::span<const uint32_t>(capacity)));
  auto id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({kind, std::move(descriptor), index});
  return id;
}

void StridedEndpoints::Pack(ValueId tensor, ValueId packed, const Shape& capacity) {
  const size_t first_call = builder_.calls().size();
  AddRegionCopy({.source = tensor,
                 .result = packed,
                 .dimensions = Strided(builder_.descriptor(packed).shape(), capacity)},
                builder_);
  Label(builder_, first_call, "pack");
}

// One copy writes runs that are evenly apart; dimensions beyond are walked here.
Status StridedEndpoints::CopyToTensor(ValueId source, ValueId tensor, const Shape& capacity,
                                      uint32_t offset) {
  std::vector<CapacityDimension> dimensions =
      DimensionsInCapacity(builder_.descriptor(source).shape(), capacity);
  CapacityDimension run, runs;
  if (!dimensions.empty() && dimensions.back().stride == 1) {
    run = dimensions.back();
    dimensions.pop_back();
  }
  if (!dimensions.empty()) {
    runs = dimensions.back();
    dimensions.pop_back();
  }
  uint64_t copies = 1;
  for (const CapacityDimension& dimension : dimensions) copies *= dimension.size;
  if (copies > kCopiesMax) {
    return NotSupportedError("a result of so many separate parts ({}) is not supported", copies);
  }
  const uint32_t count = run.size * runs.size;
  std::vector<StridedDimension> source_dimensions = {{.size = count, .strides = {1}}};
  if (const auto unpacked = unpacked_.find(source); unpacked != unpacked_.end()) {
    CHECK(copies == 1);
    source_dimensions = Strided(builder_.descriptor(source).shape(), *unpacked->second.capacity);
    source = unpacked->second.tensor;
  }
  for (uint32_t i = 0; i < copies; ++i) {
    uint32_t walked = 0;
    uint32_t rest = i;
    for (size_t d = dimensions.size(); d-- > 0;) {
      walked += rest % dimensions[d].size * dimensions[d].stride;
      rest /= dimensions[d].size;
    }
    AddRegionCopy({.source = source,
                   .result = tensor,
                   .dimensions = source_dimensions,
                   .source_offset = i * count,
                   .result_offset = offset + walked,
                   .run_length = run.size,
                   .run_stride = runs.stride},
                  builder_);
  }
  return {};
}

}  // namespace webnnd::service

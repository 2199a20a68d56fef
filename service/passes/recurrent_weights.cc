#include "service/passes/recurrent_weights.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "service/passes/constant_transposes.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_elementwise.h"
#include "service/passes/region_copy.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

constexpr size_t kRecurrentWeightOperand = 2;  // Of all four operators.

constexpr uint32_t kLanes = 16;  // kLanesOfPack of shaders/recurrent.glsl.
constexpr size_t kPackedRank = 4;

// The dimensions of what they are, and the order of these in what they become.
Shape Unpacked(const RecurrentWeights& weights) {
  return {weights.directions, weights.gates, weights.hidden / kLanes, kLanes, weights.hidden};
}
std::vector<uint32_t> Order() { return {0, 2, 4, 1, 3}; }

Result<OperandDescriptor> Packed(const RecurrentWeights& weights) {
  return OperandDescriptor::Create(
      OperandDataType::kFloat32,
      Shape{weights.directions, weights.hidden / kLanes, weights.hidden, weights.gates * kLanes});
}

bool IsRecurrent(OperatorKind kind) {
  return kind == OperatorKind::kGru || kind == OperatorKind::kGruCell ||
         kind == OperatorKind::kLstm || kind == OperatorKind::kLstmCell;
}

std::optional<RecurrentWeights> Find(const Graph& graph, const Node& node) {
  if (!IsRecurrent(node.kind)) return std::nullopt;
  // Cells have no dimension of directions.
  const ValueId value = node.operands[kRecurrentWeightOperand];
  const Shape& shape = graph.values[value].descriptor.shape();
  const uint32_t directions = shape.size() == 3 ? shape[0] : 1;
  const uint32_t rows = shape[shape.size() - 2];
  const uint32_t hidden = shape[shape.size() - 1];
  return RecurrentWeights{value, directions, rows / hidden, hidden};
}

class Packer {
 public:
  explicit Packer(Graph& graph) : graph_(graph) {}

  Status Run(ConstantEvaluator& evaluator) {
    for (Node& node : graph_.nodes) {
      const std::optional<RecurrentWeights> weights = Find(graph_, node);
      if (!weights || graph_.values[weights->value].kind != Value::Kind::kConstant) continue;
      ASSIGN_OR_RETURN(node.operands[kRecurrentWeightOperand], Pack(*weights));
    }
    return transposes_.Evaluate(evaluator);
  }

 private:
  // What they become, which may be what they are.
  Result<ValueId> Pack(const RecurrentWeights& weights) {
    if (auto found = packed_.find(weights.value); found != packed_.end()) return found->second;
    const GraphConstant source = graph_.constants[graph_.values[weights.value].index];
    if (!CanPack(weights, source.descriptor, graph_.device)) return weights.value;
    ASSIGN_OR_RETURN(OperandDescriptor packed, Packed(weights));
    const uint64_t bytes = packed.byte_length();
    if (bytes > kPackedRecurrentBytesMax - bytes_) return weights.value;
    bytes_ += bytes;
    ASSIGN_OR_RETURN(const ValueId value,
                     transposes_.Add(source, Unpacked(weights), Order(), std::move(packed)));
    packed_.emplace(weights.value, value);
    return value;
  }

  Graph& graph_;
  ConstantTransposes transposes_{graph_};
  std::map<ValueId, ValueId> packed_;  // By what they are.
  uint64_t bytes_ = 0;
};

}  // namespace

bool CanPack(const RecurrentWeights& weights, const OperandDescriptor& descriptor,
             const DeviceTraits& device) {
  constexpr uint32_t kTermsOfTurn = 4;
  const uint64_t bytes = descriptor.element_count() * sizeof(float);
  return !device.wide && bytes <= limits::kBindingBytesMax && weights.hidden % kLanes == 0 &&
         weights.hidden / kTermsOfTurn <= kInvocationIterationsMax;
}

bool IsPacked(const OperandDescriptor& weights) { return weights.shape().size() == kPackedRank; }

Result<ValueId> AddPacked(const RecurrentWeights& weights, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, Packed(weights));
  ValueId source = weights.value;
  if (builder.descriptor(source).data_type() != descriptor.data_type()) {
    source = builder.AddTemporary(descriptor);
    TRY(AddCast(weights.value, source, builder));
  }
  const ValueId packed = builder.AddTemporary(std::move(descriptor));
  const Shape from = Unpacked(weights);
  const std::vector<uint32_t> strides = PackedStrides(from);
  Shape to;
  std::vector<std::vector<uint32_t>> source_strides(1);
  for (const uint32_t dimension : Order()) {
    to.push_back(from[dimension]);
    source_strides[0].push_back(strides[dimension]);
  }
  AddRegionCopy(
      {.source = source, .result = packed, .dimensions = MakeDimensions(to, source_strides)},
      builder);
  return packed;
}

Status PackRecurrentWeights(Graph& graph, ConstantEvaluator& evaluator) {
  return Packer(graph).Run(evaluator);
}

}  // namespace webnnd::service

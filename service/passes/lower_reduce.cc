#include "service/passes/lower_reduce.h"

#include <span>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

// Values of specialisation constant 1 of reduce.comp.
enum class ReduceOperation : uint32_t {
#define REDUCE_OPERATION(name, value) k##name = value,
#include "shaders/operations.inc"
#undef REDUCE_OPERATION
};

ReduceOperation ReduceOperationOf(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kReduceL1:
      return ReduceOperation::kL1;
    case OperatorKind::kReduceL2:
      return ReduceOperation::kL2;
    case OperatorKind::kReduceLogSum:
      return ReduceOperation::kLogSum;
    case OperatorKind::kReduceLogSumExp:
      return ReduceOperation::kLogSumExp;
    case OperatorKind::kReduceMax:
      return ReduceOperation::kMax;
    case OperatorKind::kReduceMean:
      return ReduceOperation::kMean;
    case OperatorKind::kReduceMin:
      return ReduceOperation::kMin;
    case OperatorKind::kReduceProduct:
      return ReduceOperation::kProduct;
    case OperatorKind::kReduceSum:
      return ReduceOperation::kSum;
    case OperatorKind::kReduceSumSquare:
      return ReduceOperation::kSumSquare;
    default:
      UNREACHABLE();
  }
}

ShaderId ShaderOfClass(ShaderId float_shader, OperandDataType type) {
  // The rows of a family stand in the order of ComputeClass in shaders/table.txt.
  constexpr auto kSpan = static_cast<int>(ComputeClass::kUint64);
  static_assert(static_cast<int>(ShaderId::kReduceUint64) -
                    static_cast<int>(ShaderId::kReduceFloat) ==
                kSpan);
  static_assert(static_cast<int>(ShaderId::kArgReduceUint64) -
                    static_cast<int>(ShaderId::kArgReduceFloat) ==
                kSpan);
  static_assert(static_cast<int>(ShaderId::kCumulativeSumUint64) -
                    static_cast<int>(ShaderId::kCumulativeSumFloat) ==
                kSpan);
  return static_cast<ShaderId>(static_cast<uint16_t>(float_shader) +
                               static_cast<uint16_t>(ComputeClassOf(type)));
}

// Whether a workgroup shares a row of `length` elements, `stride` apart. Neighbouring invocations
// then read neighbouring elements of one row, else (one invocation a row) the same element of
// neighbouring rows: better where rows are interleaved, unless there are too few of them.
bool SharesRow(uint64_t length, uint64_t rows, uint64_t stride) {
  constexpr uint64_t kLengthMin = 32;
  constexpr uint64_t kInterleavedRowsMin = 512;
  return length >= kLengthMin && (stride == 1 || rows < kInterleavedRowsMin);
}

// Work counted in rows: workgroups or invocations.
void SetRows(LoweredCall& call, uint64_t rows, bool shares_row) {
  (shares_row ? call.workgroups : call.invocations) = rows;
}

uint32_t DimensionProduct(std::span<const uint32_t> shape) {
  uint32_t product = 1;
  for (uint32_t dimension : shape) product *= dimension;
  return product;
}

void AppendDivisor(uint32_t divisor, std::vector<uint32_t>& parameters) {
  for (uint32_t word : MakeDivisor(divisor)) parameters.push_back(word);
  parameters.push_back(0);
}

// A tensor as [outer, axis, inner].
struct AxisView {
  uint32_t rows;  // outer * inner
  uint32_t axis;
  uint32_t inner;
};
AxisView ViewAlong(const Shape& shape, uint32_t axis) {
  std::span<const uint32_t> all(shape);
  uint32_t inner = DimensionProduct(all.subspan(axis + 1));
  return {DimensionProduct(all.first(axis)) * inner, shape[axis], inner};
}

// A call of a kernel of shaders/rows.glsl; its specialisation is up to the caller.
LoweredCall MakeRowsCall(ShaderId shader, const Node& node, const AxisView& view, bool shares_row) {
  LoweredCall call;
  call.shader = shader;
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {view.rows, view.axis, 0, 0};
  AppendDivisor(view.inner, call.parameters);
  SetRows(call, view.rows, shares_row);
  call.cost = uint64_t{view.rows} * view.axis * 8;
  return call;
}

}  // namespace

Status LowerReduce(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ReduceAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  std::vector<bool> is_reduced(input.rank(), !attributes.axes.has_value());
  for (uint32_t axis : attributes.axes.value_or(std::vector<uint32_t>())) is_reduced[axis] = true;

  std::vector<uint32_t> strides = PackedStrides(input.shape());
  std::vector<StridedDimension> kept;
  std::vector<StridedDimension> reduced;
  uint32_t length = 1;
  for (uint32_t d = 0; d < input.rank(); ++d) {
    uint32_t size = input.shape()[d];
    if (is_reduced[d]) length *= size;
    (is_reduced[d] ? reduced : kept).push_back({size, {strides[d]}});
  }
  kept = Coalesce(kept);
  reduced = Coalesce(reduced);

  auto outputs = NarrowCast<uint32_t>(result.element_count());
  bool shares_row = SharesRow(length, outputs, reduced.back().strides[0]);
  auto type = static_cast<uint32_t>(input.data_type());
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kReduceFloat, input.data_type());
  call.specialization = {static_cast<uint32_t>(ReduceOperationOf(node.kind)), type, shares_row};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {outputs, length, static_cast<uint32_t>(kept.size()),
                     static_cast<uint32_t>(reduced.size())};
  AppendDimensions(kept, call.parameters);
  AppendDimensions(reduced, call.parameters);
  SetRows(call, StoreUnits(result), shares_row);
  call.cost = input.byte_length() + result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

Status LowerArgReduce(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ArgMinMaxAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  bool shares_row = SharesRow(view.axis, view.rows, view.inner);
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kArgReduceFloat, input.data_type());
  call.specialization = {node.kind == OperatorKind::kArgMax,
                         static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(result.data_type()), shares_row};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {view.rows, view.axis, 0, 0};
  AppendDivisor(view.inner, call.parameters);
  SetRows(call, view.rows, shares_row);
  call.cost = input.byte_length() + result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

Status LowerCumulativeSum(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  // Sharing a row reads it twice.
  bool shares_row = view.axis >= 128 && view.rows < 64;
  LoweredCall call = MakeRowsCall(ShaderOfClass(ShaderId::kCumulativeSumFloat, input.data_type()),
                                  node, view, shares_row);
  call.specialization = {static_cast<uint32_t>(input.data_type()), shares_row, attributes.exclusive,
                         attributes.reversed};
  builder.AddCall(std::move(call));
  return {};
}

Status LowerSoftmax(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::SoftmaxAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  bool shares_row = SharesRow(view.axis, view.rows, view.inner);
  LoweredCall call = MakeRowsCall(ShaderId::kSoftmax, node, view, shares_row);
  call.specialization = {static_cast<uint32_t>(input.data_type()), shares_row};
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

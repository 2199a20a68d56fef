#include "service/passes/lower_resample.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/axis_view.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {

namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Resample2dAttributes;
using webidl::Shape;

// Appends {twice the size in the result, as divisor; size in the input} of an axis.
void AppendAxis(uint32_t from, uint32_t to, std::vector<uint32_t>& parameters) {
  AppendDivisor(2 * to, parameters, from);
}

// Whether fractions along an axis take 64 bits: the greatest numerator, less than 2 * to * from +
// to, must be below 2^31 for Divide of tensor.glsl.
bool TakesWideFractions(uint32_t from, uint32_t to) {
  return uint64_t{to} * from > (uint64_t{1} << 29);
}

constexpr uint32_t kLanesMax = 16;  // As in shaders/resample_rows.comp.

std::vector<uint32_t> AxesOf(const Resample2dAttributes& attributes) {
  return attributes.axes.value_or(std::vector<uint32_t>{2, 3});
}

// Whether llvmpipe's kernel for rows takes them (shaders/resample_rows.comp): the second axis lies
// behind the first, and rows have a column for each lane.
bool HasRows(const Node& node, const LoweringBuilder& builder) {
  const auto& attributes = std::get<Resample2dAttributes>(node.attributes);
  const std::vector<uint32_t> axes = AxesOf(attributes);
  const bool is_linear = attributes.mode == webidl::InterpolationMode::kLinear;
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const OperandDataType type = result.data_type();
  const bool is_float = type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
  if (builder.wide() || axes[1] != axes[0] + 1 || (is_linear && !is_float)) return false;
  const AxisView view = ViewAlong(result.shape(), axes[1]);
  return view.axis * view.inner >= kLanesMax && std::ranges::none_of(axes, [&](uint32_t axis) {
           return TakesWideFractions(input.shape()[axis], result.shape()[axis]);
         });
}

std::optional<LoweredCall> MakeRowsCall(const Node& node, LoweringBuilder& builder) {
  constexpr uint32_t kRowsOfUnit = 32;  // As in the shader.
  constexpr uint32_t kCostPerTurn = 4;
  if (!HasRows(node, builder)) return std::nullopt;
  const std::vector<uint32_t> axes = AxesOf(std::get<Resample2dAttributes>(node.attributes));
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const bool is_linear =
      std::get<Resample2dAttributes>(node.attributes).mode == webidl::InterpolationMode::kLinear;
  AxisView from = ViewAlong(input.shape(), axes[1]);
  AxisView to = ViewAlong(result.shape(), axes[1]);
  OperandDataType type = result.data_type();
  const uint32_t per_word = PerQuad(type) / 4;
  const bool are_words = to.inner % per_word == 0 && to.axis * (to.inner / per_word) >= kLanesMax;
  if (!is_linear && are_words) {  // What is only moved.
    type = OperandDataType::kUint32;
    from.inner /= per_word;
    to.inner /= per_word;
    to.rows /= per_word;
  }
  const uint32_t from_rows = input.shape()[axes[0]];
  const uint32_t to_rows = result.shape()[axes[0]];
  constexpr uint32_t kVectorsMax = 4;
  const uint32_t columns = to.axis * to.inner;
  const uint32_t vectors = std::min(DivideRoundingUp(columns, kLanesMax), kVectorsMax);
  const uint32_t blocks = DivideRoundingUp(columns, vectors * kLanesMax);
  const uint32_t parts = DivideRoundingUp(to_rows, kRowsOfUnit);
  const uint64_t units = uint64_t{to.rows} / to.inner / to_rows * parts * blocks;
  LoweredCall call;
  call.shader = shaders::ShaderId::kResampleRows;
  call.specialization = {is_linear, vectors, to.inner % kLanesMax == 0,
                         is_linear && from_rows <= to_rows, static_cast<uint32_t>(type)};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(units), columns, to_rows, from_rows};
  AppendDivisor(blocks, call.parameters, from.axis * from.inner);
  AppendDivisor(parts, call.parameters);
  AppendDivisor(to.inner, call.parameters);
  AppendAxis(from_rows, to_rows, call.parameters);
  AppendAxis(from.axis, to.axis, call.parameters);
  call.workgroups = units;
  // A unit loops over rows of the input and of the result, with short vectors several times.
  const uint64_t turns = uint64_t{kLanesMax} * (2 * std::min(to_rows, kRowsOfUnit) + 2);
  call.cost =
      std::max<uint64_t>(input.byte_length() + result.byte_length(), units * kCostPerTurn * turns);
  call.cost_per_turn = kCostPerTurn;
  return call;
}

}  // namespace

Status LowerResample2d(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<Resample2dAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const std::vector<uint32_t> axes = AxesOf(attributes);
  std::vector<uint32_t> strides = PackedStrides(input.shape());
  std::vector<StridedDimension> all(result.rank());
  for (uint32_t d = 0; d < result.rank(); ++d) {
    all[d].size = result.shape()[d];
    if (d == axes[0]) {
      all[d].strides = {0, 1, 0};
    } else if (d == axes[1]) {
      all[d].strides = {0, 0, 1};
    } else {
      all[d].strides = {strides[d], 0, 0};
    }
  }
  std::vector<StridedDimension> dimensions = Coalesce(all);

  LoweredCall call;
  call.shader = shaders::ShaderId::kResample2d;
  call.parameters = {NarrowCast<uint32_t>(result.element_count()),
                     static_cast<uint32_t>(dimensions.size()), strides[axes[0]], strides[axes[1]]};
  bool wide = false;
  for (uint32_t axis : axes) {
    const uint32_t from = input.shape()[axis];
    const uint32_t to = result.shape()[axis];
    wide = wide || TakesWideFractions(from, to);
    AppendAxis(from, to, call.parameters);
  }
  const uint32_t per_quad = PerQuad(result.data_type());
  const StridedDimension& innermost = dimensions.back();
  const uint32_t second_size = input.shape()[axes[1]];
  const uint32_t second_result = result.shape()[axes[1]];
  const bool doubles = uint64_t{second_size} * 2 == second_result;
  const bool halves = second_size == uint64_t{second_result} * 2;
  const bool stretches_quads = !wide && result.data_type() == OperandDataType::kFloat32 &&
                               innermost.strides[2] == 1 && strides[axes[1]] == 1 &&
                               second_size % 4 == 0 && innermost.size % 4 == 0 &&
                               (second_size <= innermost.size || halves);
  // Rows long and many enough for a workgroup each.
  const uint32_t row_min = 4 * RowUnitsMin(builder.wide(), 16);
  constexpr uint64_t kRowsMin = 64;
  const uint64_t rows = result.element_count() / innermost.size;
  const bool by_rows = stretches_quads && innermost.size >= row_min &&
                       innermost.size <= kInvocationIterationsMax && rows >= kRowsMin;
  // Where columns double or halve, workgroups take whole rows without looking for places.
  if (!(by_rows && (doubles || halves))) {
    if (std::optional<LoweredCall> rows_call = MakeRowsCall(node, builder)) {
      builder.AddCall(*std::move(rows_call));
      return {};
    }
  }
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         attributes.mode == webidl::InterpolationMode::kLinear,
                         RankConstant(dimensions),
                         wide,
                         QuadsLieInRows(dimensions, per_quad),
                         static_cast<uint32_t>(stretches_quads) + static_cast<uint32_t>(by_rows),
                         innermost.strides[1] != 0,
                         !stretches_quads ? 0u
                         : doubles        ? 1u
                         : halves         ? 2u
                                          : 0u};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  AppendDimensions(dimensions, call.parameters);
  if (by_rows) {
    call.workgroups = rows;
  } else {
    call.invocations = StoreQuads(result);
  }
  call.cost = 8 * result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

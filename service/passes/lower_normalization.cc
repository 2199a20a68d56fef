#include "service/passes/lower_normalization.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/axis_view.h"
#include "service/passes/column_normalization.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Shape;

// Means and variances, and which of them belong to an element.
struct Moments {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
  std::vector<uint32_t> strides;  // Of both, along the dimensions of the input.
};

// Optional scale and bias, of one shape.
struct Affine {
  ValueId scale = kNoValue;
  ValueId bias = kNoValue;
  std::vector<uint32_t> strides;
};

// Elements of a group that moments.comp loops over within kInvocationIterationsMax: twice, divided
// among so many invocations. Without a constant rank, each element has a loop over its dimensions.
uint64_t GroupMax(std::span<const StridedDimension> reduced, uint64_t sharers) {
  uint64_t loops = kInvocationIterationsMax * sharers / 2;
  if (RankConstant(reduced) != 0) return loops * kElementsPerIterationOfBlocks;
  return loops / (reduced.size() + 1);
}

// Whether a workgroup shares a group, rather than an invocation each: better for long groups,
// unless many of them are interleaved.
bool SharesGroup(uint64_t length, uint64_t groups, uint64_t stride, bool wide) {
  constexpr uint64_t kLengthMin = 32;
  return length >= kLengthMin && (stride == 1 || groups < InterleavedRowsMin(length, wide));
}

// Scale and bias of rows that lie in one piece.
struct RowAffine {
  bool along_row = false;  // They have an element for each of a row, which all rows share.
  uint32_t elements = 1;   // Else one for each row; rows take turns with so many.
};

// Values of specialisation constant 5 of held_normalization.comp.
enum class HeldWay : uint32_t { kRows, kRowsBySubgroups, kMeasuresParts, kNormalizesParts };

// How GPUs take rows of so many fours, in registers, and of how many fours each part is that a
// workgroup takes.
struct HeldRows {
  HeldWay way = HeldWay::kRows;
  uint32_t fours_of_part = 0;

  static std::optional<HeldRows> Choose(uint32_t rows, uint32_t fours) {
    constexpr uint32_t kFoursOfInvocation = 8;  // kAtOnce of shaders/held_normalization.comp.
    constexpr uint32_t kWorkgroupInvocations = 128;
    constexpr uint32_t kFoursMax = kFoursOfInvocation * kWorkgroupInvocations;
    constexpr uint32_t kRowsMin = 1024;
    constexpr uint32_t kPartsWanted = 2048;
    if (rows >= kRowsMin && fours <= kFoursOfInvocation * kSubgroupInvocations) {
      return HeldRows{HeldWay::kRowsBySubgroups, fours};
    }
    if (fours <= kFoursMax) return HeldRows{HeldWay::kRows, fours};
    // Invocations of a workgroup combine a part each.
    if (rows >= kRowsMin || fours > kWorkgroupInvocations * kFoursMax) return std::nullopt;
    const uint32_t parts = std::min(DivideRoundingUp(kPartsWanted, rows), kWorkgroupInvocations);
    return HeldRows{HeldWay::kMeasuresParts,
                    std::clamp(DivideRoundingUp(fours, parts), kFoursMax / 2, kFoursMax)};
  }
};

// Adds `call`, of row_normalization.comp, as calls of held_normalization.comp: one, or two where
// rows are divided.
Status AddHeldCalls(LoweredCall call, const HeldRows& held, LoweringBuilder& builder) {
  const uint32_t rows = call.parameters[0];
  const uint32_t parts = DivideRoundingUp(call.parameters[1], held.fours_of_part);
  const LoweredBuffer input = call.buffers[0];
  call.shader = ShaderId::kHeldNormalization;
  call.specialization.resize(4);
  call.specialization.push_back(static_cast<uint32_t>(held.way));
  AppendDivisor(parts, call.parameters, held.fours_of_part);
  call.buffers.push_back(input);
  // A workgroup has several subgroups.
  if (held.way == HeldWay::kRowsBySubgroups) call.workgroups = DivideRoundingUp(rows, 4u);
  if (held.way == HeldWay::kMeasuresParts) {
    const uint32_t shape[] = {rows, parts, 4};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
    const ValueId moments = builder.AddTemporary(std::move(descriptor));
    call.parameters[0] = rows * parts;
    call.workgroups = uint64_t{rows} * parts;
    const LoweredBuffer result = std::exchange(call.buffers[3], input);
    call.buffers[4] = {moments, true};
    builder.AddCall(call);
    call.specialization.back() = static_cast<uint32_t>(HeldWay::kNormalizesParts);
    call.buffers[3] = result;
    call.buffers[4] = {moments, false};
  }
  builder.AddCall(std::move(call));
  return {};
}

// Adds a call that normalizes rows of `length` elements in one piece, a workgroup each, where it
// can; on GPUs two where it divides them.
Result<bool> AddRowCall(const Node& node, const Affine& affine, const RowAffine& row_affine,
                        const std::vector<bool>& is_reduced, double epsilon,
                        LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(node.operands[0]);
  const std::vector<uint32_t> strides = PackedStrides(input.shape());
  std::vector<StridedDimension> reduced;
  for (uint32_t d = 0; d < input.rank(); ++d) {
    if (is_reduced[d]) reduced.push_back({input.shape()[d], {strides[d]}});
  }
  reduced = Coalesce(reduced);
  const uint32_t length = reduced.back().size;
  // By fours, of which an iteration takes four (kFoursAtOnce of shaders/fours.glsl); in two passes,
  // and in three where the first one began far from the mean.
  const uint64_t walked_max = kInvocationIterationsMax * LocalSizeMin(builder.device().narrow) * 16;
  if (reduced.size() != 1 || reduced[0].strides[0] != 1) return false;
  const auto rows = NarrowCast<uint32_t>(input.element_count() / length);
  const uint32_t row_vectors = CountRowVectors({rows, length, 1}, builder.wide());
  if (row_vectors == 0 && (length % 4 != 0 || length < 32 || length > walked_max / 2)) return false;
  const bool has_scale = affine.scale != kNoValue;
  const bool has_bias = affine.bias != kNoValue;
  const HeldVectors vectors = HeldVectors::Choose(row_vectors, builder.has_other_sizes());
  LoweredCall call;
  call.shader = ShaderId::kRowNormalization;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         has_scale,
                         has_bias,
                         row_affine.along_row,
                         vectors.most,
                         vectors.least};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{node.operands[0], false},
                  {has_scale ? affine.scale : node.operands[0], false},
                  {has_bias ? affine.bias : node.operands[0], false},
                  {node.results[0], true}};
  call.parameters = {rows, length / 4, FloatBits(epsilon), length <= walked_max / 3};
  AppendDivisor(row_affine.elements, call.parameters, length);
  call.workgroups = rows;
  call.cost = 2 * input.element_count();
  const auto held = builder.wide() ? HeldRows::Choose(rows, length / 4) : std::nullopt;
  if (held) {
    TRY(AddHeldCalls(std::move(call), *held, builder));
    return true;
  }
  builder.AddCall(std::move(call));
  return true;
}

// Adds the call that computes mean and variance over the dimensions that are set in `is_reduced`.
Result<Moments> AddMomentsCall(ValueId input_value, const std::vector<bool>& is_reduced,
                               LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(input_value);
  std::vector<uint32_t> input_strides = PackedStrides(input.shape());
  std::vector<StridedDimension> kept;
  std::vector<StridedDimension> reduced;
  Moments moments;
  moments.strides.resize(input.rank());
  for (uint32_t d = 0; d < input.rank(); ++d) {
    (is_reduced[d] ? reduced : kept).push_back({input.shape()[d], {input_strides[d]}});
  }
  uint32_t groups = 1;
  for (uint32_t d = input.rank(); d-- > 0;) {
    if (is_reduced[d]) continue;
    moments.strides[d] = groups;
    groups *= input.shape()[d];
  }
  kept = Coalesce(kept);
  reduced = Coalesce(reduced);
  auto length = NarrowCast<uint32_t>(ElementsOf(reduced));
  const bool shares_group = SharesGroup(length, groups, reduced.back().strides[0], builder.wide());
  const uint64_t sharers = SharersMin(shares_group, builder.wide(), builder.device().narrow);
  if (length > GroupMax(reduced, sharers)) {
    return NotSupportedError("the elements ({}) of one mean are more than a kernel loops over",
                             length);
  }

  const uint32_t shape[] = {groups};
  ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32,
                                                              std::span<const uint32_t>(shape)));
  moments.mean = builder.AddTemporary(descriptor);
  moments.variance = builder.AddTemporary(descriptor);
  LoweredCall call;
  call.shader = ShaderId::kMoments;
  call.specialization = {static_cast<uint32_t>(input.data_type()), shares_group,
                         RankConstant(reduced)};
  call.buffers = {{input_value, false}, {moments.mean, true}, {moments.variance, true}};
  call.parameters = {groups, length, static_cast<uint32_t>(kept.size()),
                     static_cast<uint32_t>(reduced.size())};
  AppendDimensions(kept, call.parameters);
  AppendDimensions(reduced, call.parameters);
  (shares_group ? call.workgroups : call.invocations) = groups;
  call.cost = 2 * input.byte_length() * reduced.size();
  builder.AddCall(std::move(call));
  return moments;
}

void AddNormalizeCall(const Node& node, const Moments& moments, const Affine& affine,
                      double epsilon, LoweringBuilder& builder) {
  ValueId input_value = node.operands[0];
  const OperandDescriptor& input = builder.descriptor(input_value);
  bool has_scale = affine.scale != kNoValue;
  bool has_bias = affine.bias != kNoValue;
  const std::vector<uint32_t> strides[] = {moments.strides, affine.strides};
  std::vector<StridedDimension> dimensions = Coalesce(MakeDimensions(input.shape(), strides));

  LoweredCall call;
  call.shader = ShaderId::kNormalize;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(builder.descriptor(moments.mean).data_type()),
                         has_scale, has_bias, RankConstant(dimensions)};
  const OperandDataType type = input.data_type();
  const uint32_t per_quad = PerQuad(type);
  QuadAccess moment_access = AccessByQuads(dimensions, per_quad, 0);
  const bool same_width = PerQuad(builder.descriptor(moments.mean).data_type()) == per_quad;
  if (moment_access == QuadAccess::kQuad && !same_width) moment_access = QuadAccess::kStrided;
  call.specialization.push_back(QuadsLieInRows(dimensions, per_quad));
  call.specialization.push_back(static_cast<uint32_t>(moment_access));
  call.specialization.push_back(static_cast<uint32_t>(AccessByQuads(dimensions, per_quad, 1)));
  // Of four quads, that have one mean and one scale.
  const uint32_t fours = dimensions.back().size / (4 * per_quad);
  const bool in_fours = moment_access == QuadAccess::kOne && dimensions.back().strides[1] == 0 &&
                        dimensions.back().size % (4 * per_quad) == 0;
  const uint32_t apart = fours % kLocalSizeMin == 0 ? kLocalSizeMin : 1;
  call.specialization.push_back(in_fours ? apart : 0);
  // Rows that quads do not lie in, and that have one mean and one scale.
  const uint32_t row = dimensions.back().size;
  const uint32_t words = row / (per_quad / 4);
  const bool by_rows = !builder.wide() && !QuadsLieInRows(dimensions, per_quad) &&
                       dimensions.back().strides[0] == 0 && dimensions.back().strides[1] == 0 &&
                       words >= kWordsOfRowMin;
  call.specialization.push_back(by_rows ? VectorsOfTurn(words, builder) : 0);
  // The module declares all slots, so something must be bound there.
  call.buffers = {{input_value, false},
                  {moments.mean, false},
                  {moments.variance, false},
                  {has_scale ? affine.scale : moments.mean, false},
                  {has_bias ? affine.bias : moments.mean, false},
                  {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(input.element_count()), FloatBits(epsilon),
                     static_cast<uint32_t>(dimensions.size()), 0};
  AppendDimensions(dimensions, call.parameters);
  call.invocations = in_fours ? StoreQuads(input) / 4 : StoreQuads(input);
  call.cost = input.element_count() * (8 + dimensions.size());
  if (by_rows) {
    call.cost =
        std::max(call.cost, input.element_count() / row * LaneTurnsOfRow(row, dimensions.size()));
  }
  builder.AddCall(std::move(call));
}

// 1 along `axis`, 0 along the others.
std::vector<uint32_t> StridesAlong(uint32_t axis, uint32_t rank) {
  std::vector<uint32_t> strides(rank);
  strides[axis] = 1;
  return strides;
}

}  // namespace

Status LowerBatchNormalization(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::BatchNormalizationAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  if (attributes.axis + 1 == input.rank()) {
    const AxisView view = ViewAlong(input.shape(), attributes.axis);
    ASSIGN_OR_RETURN(const bool added,
                     AddColumnNormalization({.view = {view.axis, view.rows, view.axis},
                                             .input = node.operands[0],
                                             .result = node.results[0],
                                             .mean = node.operands[1],
                                             .variance = node.operands[2],
                                             .scale = node.operands[3],
                                             .bias = node.operands[4],
                                             .epsilon = attributes.epsilon},
                                            builder));
    if (added) return {};
  }
  std::vector<uint32_t> strides = StridesAlong(attributes.axis, input.rank());
  AddNormalizeCall(node, {node.operands[1], node.operands[2], strides},
                   {node.operands[3], node.operands[4], strides}, attributes.epsilon, builder);
  return {};
}

Status LowerInstanceNormalization(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::InstanceNormalizationAttributes>(node.attributes);
  bool channels_last = attributes.layout == webidl::InputOperandLayout::kNhwc;
  const uint32_t channel_axis = channels_last ? 3 : 1;
  const uint32_t channels = builder.descriptor(node.operands[0]).shape()[channel_axis];
  std::vector<bool> is_reduced = {false, channels_last, true, !channels_last};
  const Affine affine{node.operands[1], node.operands[2], StridesAlong(channel_axis, /*rank=*/4)};
  ASSIGN_OR_RETURN(const bool added, AddRowCall(node, affine, {.elements = channels}, is_reduced,
                                                attributes.epsilon, builder));
  if (added) return {};
  if (channels_last) {
    const Shape& shape = builder.descriptor(node.operands[0]).shape();
    ASSIGN_OR_RETURN(const bool by_columns,
                     AddColumnNormalization({.view = *ViewAlongAll(shape, is_reduced),
                                             .input = node.operands[0],
                                             .result = node.results[0],
                                             .scale = node.operands[1],
                                             .bias = node.operands[2],
                                             .epsilon = attributes.epsilon},
                                            builder));
    if (by_columns) return {};
  }
  ASSIGN_OR_RETURN(Moments moments, AddMomentsCall(node.operands[0], is_reduced, builder));
  AddNormalizeCall(node, moments, affine, attributes.epsilon, builder);
  return {};
}

Status LowerLayerNormalization(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::LayerNormalizationAttributes>(node.attributes);
  const Shape shape = builder.descriptor(node.operands[0]).shape();
  std::vector<uint32_t> axes;
  for (uint32_t axis = 1; axis < shape.size(); ++axis) axes.push_back(axis);
  if (attributes.axes) axes = *attributes.axes;

  Affine affine{node.operands[1], node.operands[2], std::vector<uint32_t>(shape.size())};
  std::vector<bool> is_reduced(shape.size());
  // Scale and bias have the dimensions of the axes in the order in which these are listed.
  uint32_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    is_reduced[axes[i]] = true;
    affine.strides[axes[i]] = stride;
    stride *= shape[axes[i]];
  }
  const bool in_order = std::is_sorted(axes.begin(), axes.end());
  if (in_order) {
    ASSIGN_OR_RETURN(const bool added, AddRowCall(node, affine, {.along_row = true}, is_reduced,
                                                  attributes.epsilon, builder));
    if (added) return {};
    if (const std::optional<AxisView> view = ViewAlongAll(shape, is_reduced)) {
      ASSIGN_OR_RETURN(const bool by_columns,
                       AddColumnNormalization({.view = *view,
                                               .input = node.operands[0],
                                               .result = node.results[0],
                                               .scale = node.operands[1],
                                               .bias = node.operands[2],
                                               .is_affine_by_row = true,
                                               .epsilon = attributes.epsilon},
                                              builder));
      if (by_columns) return {};
    }
  }
  ASSIGN_OR_RETURN(Moments moments, AddMomentsCall(node.operands[0], is_reduced, builder));
  AddNormalizeCall(node, moments, affine, attributes.epsilon, builder);
  return {};
}

}  // namespace webnnd::service

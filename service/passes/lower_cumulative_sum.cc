#include "service/passes/lower_reduce.h"

#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

// Values of specialisation constant 2 of cumulative_tiles.comp.
enum class SumTiles : uint32_t { kSums, kRunningSums };

// Adds the calls that go by tiles: one for the sums of tiles, where there are several along the
// axis, and one for the running sums.
Status AddCumulativeSumByTiles(const Node& node, const AxisView& view, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
  const OperandDescriptor input = builder.descriptor(node.operands[0]);
  const RowTiles tiles = RowTiles::Choose(view, /*stretch_min=*/128);
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kCumulativeTilesFloat, input.data_type());
  const auto specialize = [&](SumTiles part) {
    call.specialization = {static_cast<uint32_t>(input.data_type()), static_cast<uint32_t>(part),
                           attributes.exclusive, attributes.reversed};
  };
  // The module declares all slots, so something must be bound there.
  call.buffers = {{node.operands[0], false}, {node.results[0], true}, {node.operands[0], false}};
  call.parameters = tiles.Parameters(view);
  call.workgroups = tiles.count;
  call.cost = 2 * input.byte_length();
  if (tiles.along > 1) {
    const uint32_t shape[] = {tiles.along, view.rows};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(input.data_type(), shape));
    const ValueId sums = builder.AddTemporary(std::move(descriptor));
    specialize(SumTiles::kSums);
    call.buffers[1] = {sums, true};
    builder.AddCall(call);
    call.buffers[1] = {node.results[0], true};
    call.buffers[2] = {sums, false};
  }
  specialize(SumTiles::kRunningSums);
  builder.AddCall(std::move(call));
  return {};
}

// Whether rows lie in whole quads.
bool SumsAlongQuads(const Node& node, const LoweringBuilder& builder) {
  constexpr uint32_t kAxisMin = 32;
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const AxisView view = ViewAlong(input.shape(), attributes.axis);
  const uint32_t per_quad = PerQuad(input.data_type());
  return per_quad >= 4 && view.inner == 1 && view.axis % per_quad == 0 && view.axis >= kAxisMin;
}

}  // namespace

Status LowerCumulativeSum(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  if (PerQuad(input.data_type()) == 4 && TakesRowTiles(view, builder.wide())) {
    return AddCumulativeSumByTiles(node, view, builder);
  }
  constexpr uint32_t kAxisOfVectorsMin = 12;
  const bool has_fours = webidl::BitsPerElement(input.data_type()) <= 32;
  const bool along_row = SumsAlongQuads(node, builder);
  const bool has_vectors =
      !builder.wide() && has_fours && view.inner == 1 && view.axis >= kAxisOfVectorsMin &&
      view.axis / LocalSizeMin(builder.device().narrow) < kInvocationIterationsMax;
  // Otherwise, sharing a row reads it twice.
  const uint64_t rows_min = builder.wide() ? InterleavedRowsMin(view.axis, /*wide=*/true) : 64;
  const bool shares_row = along_row || has_vectors || (view.axis >= 128 && view.rows < rows_min);
  const bool by_four = along_row || (has_fours && !shares_row && TakesFoursOfRows(view));
  const FoursOfRows fours =
      by_four && !shares_row ? FoursOfRows::Choose(view, builder.wide()) : FoursOfRows();
  TRY(CheckLoops(view, shares_row, /*passes=*/2, builder.device().narrow));
  LoweredCall call = MakeRowsCall(ShaderOfClass(ShaderId::kCumulativeSumFloat, input.data_type()),
                                  node, view, shares_row);
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         shares_row,
                         attributes.exclusive,
                         attributes.reversed,
                         by_four,
                         fours.count,
                         fours.apart,
                         has_vectors && !along_row};
  if (by_four && !shares_row) SetRows(call, view.rows / (4 * fours.count), shares_row);
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

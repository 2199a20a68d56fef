#include "service/passes/lower_reduce.h"

#include <algorithm>

#include "base/checked_math.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;

// Values of specialisation constant 6 of arg_reduce.comp.
enum class ArgReduceWay : uint32_t { kPlain, kRuns, kTiles, kCombines };

// Quads of the runs in which GPUs divide a row that lies in one piece, if rows are long and few.
uint32_t QuadsOfRun(uint32_t rows, uint32_t quads) {
  constexpr uint32_t kRunMin = 256;
  constexpr uint64_t kRunsMin = 4096;
  if (quads < 4 * kRunMin) return quads;
  const auto run = NarrowCast<uint32_t>(DivideRoundingUp(uint64_t{rows} * quads, kRunsMin));
  return std::clamp(AlignUp(run, uint32_t{kSubgroupInvocations}), kRunMin, quads);
}

// Adds the calls of ways that only GPUs go, where there is one.
Result<bool> AddArgReduceOfGpus(const Node& node, const AxisView& view, LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(node.operands[0]);
  const OperandDescriptor result = builder.descriptor(node.results[0]);
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kArgReduceFloat, input.data_type());
  const auto specialize = [&](ArgReduceWay way) {
    call.specialization = {node.kind == OperatorKind::kArgMax,
                           static_cast<uint32_t>(input.data_type()),
                           static_cast<uint32_t>(result.data_type()),
                           /*by workgroup*/ 0,
                           /*by four*/ 0,
                           static_cast<uint32_t>(way)};
  };
  uint32_t parts = 1;
  const bool by_runs = LiesInFours(view) && view.axis >= 32;
  if (by_runs) {
    const uint32_t quads = view.axis / 4;
    const uint32_t run = QuadsOfRun(view.rows, quads);
    parts = DivideRoundingUp(quads, run);
    specialize(ArgReduceWay::kRuns);
    call.parameters = {view.rows * parts, quads, run, 0};
    AppendDivisor(parts, call.parameters);
    call.invocations = SubgroupsFor(uint64_t{view.rows} * parts);
  } else if (TakesRowTiles(view, /*wide=*/true)) {
    const RowTiles tiles = RowTiles::Choose(view, /*stretch_min=*/64);
    parts = tiles.along;
    specialize(ArgReduceWay::kTiles);
    call.parameters = tiles.Parameters(view);
    call.workgroups = tiles.count;
  } else {
    return false;
  }
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.cost = input.byte_length() + result.byte_length();
  if (parts > 1) {
    const uint32_t shape[] = {parts, view.rows, 2};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kUint32, shape));
    const ValueId candidates = builder.AddTemporary(std::move(descriptor));
    call.buffers[1] = {candidates, true};
    builder.AddCall(call);
    specialize(ArgReduceWay::kCombines);
    call.buffers = {{candidates, false}, {node.results[0], true}};
    call.parameters = {view.rows, parts, by_runs ? parts : 1, by_runs ? 1 : view.rows};
    call.workgroups = 0;
    call.invocations = SubgroupsFor(view.rows);
    call.cost = 8 * uint64_t{view.rows} * parts;
  }
  builder.AddCall(std::move(call));
  return true;
}

}  // namespace

Status LowerArgReduce(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ArgMinMaxAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  if (builder.wide() && PerQuad(input.data_type()) == 4) {
    ASSIGN_OR_RETURN(const bool added, AddArgReduceOfGpus(node, view, builder));
    if (added) return {};
  }
  bool shares_row = SharesRow(view.axis, view.rows, view.inner, builder.wide());
  const bool by_four = webidl::BitsPerElement(input.data_type()) <= 32 &&
                       (shares_row ? LiesInFours(view) : TakesFoursOfRows(view));
  const FoursOfRows fours =
      by_four && !shares_row ? FoursOfRows::Choose(view, builder.wide()) : FoursOfRows();
  TRY(CheckLoops(view, shares_row, /*passes=*/1, builder.device().narrow));
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kArgReduceFloat, input.data_type());
  call.specialization = {node.kind == OperatorKind::kArgMax,
                         static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(result.data_type()),
                         shares_row,
                         by_four,
                         static_cast<uint32_t>(ArgReduceWay::kPlain),
                         fours.count,
                         fours.apart};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {view.rows, view.axis, 0, 0};
  AppendDivisor(view.inner, call.parameters);
  SetRows(call, by_four && !shares_row ? view.rows / (4 * fours.count) : view.rows, shares_row);
  call.cost = input.byte_length() + result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

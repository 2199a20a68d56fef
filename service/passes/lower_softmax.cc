#include "service/passes/lower_reduce.h"

#include <algorithm>

#include "base/checked_math.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

// Which part of softmax a call does (shaders/softmax.comp).
enum class SoftmaxPart : uint32_t {
  kWhole,
  kFactors,
  kShares,
  kWholeTiles,
  kSumsOfTiles,
  kCombined
};

// Values of specialisation constant 7 of softmax.comp.
enum class RowInRegisters : uint32_t { kNone, kOfWorkgroup, kOfSubgroup };

// Who takes rows that lie in one piece whole, on GPUs.
RowInRegisters ChooseRowInRegisters(const AxisView& view, bool wide) {
  constexpr uint32_t kFoursOfInvocation = 8;  // kAtOnce of shaders/softmax.comp.
  constexpr uint32_t kWorkgroupInvocations = 128;
  constexpr uint32_t kRowsMin = 1024;
  const uint32_t fours = view.axis / 4;
  if (!wide || fours > kFoursOfInvocation * kWorkgroupInvocations) return RowInRegisters::kNone;
  return view.rows >= kRowsMin && fours <= kFoursOfInvocation * kSubgroupInvocations
             ? RowInRegisters::kOfSubgroup
             : RowInRegisters::kOfWorkgroup;
}

// CountRowVectors, but of rows that are no two stretches of vectors of softmax.comp.
uint32_t RowVectorsOf(const AxisView& view, bool wide) {
  constexpr uint32_t kLengthMax = 255;
  return view.axis > kLengthMax ? 0 : CountRowVectors(view, wide);
}

// Whether softmax goes over its elements a second time as they lie, rather than row by row: where
// rows are interleaved, and what an invocation's neighbours have of them is no longer in caches.
bool GoesOverElements(const AxisView& view, bool by_four) {
  constexpr uint32_t kAxisMin = 1024;
  return by_four && view.inner > 1 && view.axis >= kAxisMin;
}

// Elements of a row for which an invocation loads once what scales them (shaders/softmax.comp).
constexpr uint32_t kSharesOfRow = 8;

// Of the axis, that those who share a tile of it have in registers (shaders/softmax.comp).
constexpr uint32_t kStretchInRegisters = 128;

// Whether neighbouring rows, each of words that follow each other, are taken together, and caches
// keep what is gone over three times (shaders/softmax_columns.comp).
bool TakesColumns(const AxisView& view, OperandDataType type, bool wide) {
  constexpr uint32_t kAxisMax = 128;  // Terms are added up one by one.
  constexpr uint32_t kWordsMin = 16;
  const uint32_t per_word = type == OperandDataType::kFloat16 ? 2 : 1;
  return !wide && view.axis <= kAxisMax && view.inner % per_word == 0 &&
         view.inner / per_word >= kWordsMin;
}

void AddColumnsCall(const Node& node, const AxisView& view, LoweringBuilder& builder) {
  constexpr uint32_t kLanesMax = 16;
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const bool is_half = input.data_type() == OperandDataType::kFloat16;
  const uint32_t vectors_max = is_half ? 2 : 4;
  const uint32_t words = view.inner / (is_half ? 2 : 1);
  const uint32_t vectors = builder.has_other_sizes()
                               ? vectors_max
                               : std::min(DivideRoundingUp(words, kLanesMax), vectors_max);
  const uint32_t of_row = DivideRoundingUp(words, vectors * kLanesMax);
  const uint32_t units = view.rows / view.inner * of_row;
  LoweredCall call;
  call.shader = ShaderId::kSoftmaxColumns;
  call.specialization = {static_cast<uint32_t>(input.data_type()), vectors};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {units, view.axis, words, 0};
  AppendDivisor(of_row, call.parameters);
  call.workgroups = units;
  // With few lanes a unit is four.
  call.cost = std::max<uint64_t>(2 * input.byte_length(),
                                 uint64_t{units} * kLanesMax * 4 * 3 * (view.axis + 1));
  builder.AddCall(std::move(call));
}

void SetTiles(LoweredCall& call, const RowTiles& tiles, const AxisView& view) {
  call.parameters = tiles.Parameters(view);
  call.invocations = 0;
  call.workgroups = tiles.count;
}

// Adds the calls that write `factors` by tiles: what `call` does, and another to combine the tiles
// of the axis.
Status AddSoftmaxFactors(LoweredCall call, const AxisView& view, ValueId factors,
                         LoweringBuilder& builder) {
  const RowTiles tiles = RowTiles::Choose(view, kStretchInRegisters);
  const uint32_t shape[] = {tiles.along, view.rows / 4, 8};
  ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
  const ValueId sums = builder.AddTemporary(std::move(descriptor));
  SetTiles(call, tiles, view);
  call.buffers[1] = {sums, true};
  builder.AddCall(call);
  const AxisView of_sums = {view.rows, tiles.along, view.rows};
  constexpr size_t kPart = 4;
  call.specialization[kPart] = static_cast<uint32_t>(SoftmaxPart::kCombined);
  SetTiles(call, RowTiles::Choose(of_sums, tiles.along), of_sums);
  call.buffers[1] = {factors, true};
  call.buffers[2] = {sums, false};
  call.cost = uint64_t{view.rows} * tiles.along * 8;
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace

Status LowerSoftmax(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::SoftmaxAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const auto type = static_cast<uint32_t>(input.data_type());
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  if (TakesColumns(view, input.data_type(), builder.wide())) {
    AddColumnsCall(node, view, builder);
    return {};
  }
  // An invocation adds up a row in its order, and rounding errors grow with it.
  constexpr uint64_t kSumMax = 1 << 13;
  const uint32_t row_vectors = RowVectorsOf(view, builder.wide());
  bool shares_row =
      row_vectors > 0 || SharesRow(view.axis, view.rows, view.inner, builder.wide(), kSumMax);
  TRY(CheckLoops(view, shares_row, /*passes=*/3, builder.device().narrow));
  const bool tiles = TakesRowTiles(view, builder.wide());
  if (tiles) shares_row = false;
  LoweredCall call = MakeRowsCall(ShaderId::kSoftmax, node, view, shares_row);
  // The module declares all slots, so something must be bound there.
  call.buffers.push_back(call.buffers[0]);
  const uint32_t parts = DivideRoundingUp(view.axis, kSharesOfRow);
  AppendDivisor(parts, call.parameters);
  AppendDivisor(std::max(view.inner / 4, 1u), call.parameters);
  const bool by_four =
      view.inner == 1 ? shares_row && view.axis % 4 == 0 : !shares_row && TakesFoursOfRows(view);
  const FoursOfRows fours =
      by_four && !shares_row ? FoursOfRows::Choose(view, builder.wide()) : FoursOfRows();
  if (by_four && !shares_row) SetRows(call, view.rows / (4 * fours.count), shares_row);
  const RowInRegisters in_registers =
      by_four && shares_row ? ChooseRowInRegisters(view, builder.wide()) : RowInRegisters::kNone;
  // A workgroup has several subgroups.
  if (in_registers == RowInRegisters::kOfSubgroup) {
    SetRows(call, DivideRoundingUp(view.rows, 4u), shares_row);
  }
  // Rows of other sizes are not held, and added up in the same order.
  const HeldVectors held =
      builder.has_other_sizes() ? HeldVectors() : HeldVectors::Choose(row_vectors, false);
  auto specialize = [&](SoftmaxPart part) {
    call.specialization = {type,
                           shares_row,
                           by_four,
                           fours.count,
                           static_cast<uint32_t>(part),
                           fours.apart,
                           static_cast<uint32_t>(in_registers),
                           held.most,
                           held.least};
  };
  specialize(SoftmaxPart::kWhole);
  if (tiles && view.axis <= kStretchInRegisters) {
    specialize(SoftmaxPart::kWholeTiles);
    SetTiles(call, RowTiles::Choose(view, kStretchInRegisters), view);
  } else if (tiles || GoesOverElements(view, by_four)) {
    const uint32_t shape[] = {view.rows / 4, 8};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
    const ValueId factors = builder.AddTemporary(std::move(descriptor));
    const LoweredBuffer result = call.buffers[1];
    if (tiles) {
      specialize(SoftmaxPart::kSumsOfTiles);
      TRY(AddSoftmaxFactors(call, view, factors, builder));
    } else {
      specialize(SoftmaxPart::kFactors);
      call.buffers[1] = {factors, true};
      builder.AddCall(call);
    }
    specialize(SoftmaxPart::kShares);
    call.buffers[1] = result;
    call.buffers[2] = {factors, false};
    call.invocations = uint64_t{view.rows} / 4 * parts;
  }
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

#include "service/passes/lower_reduce.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/checked_math.h"
#include "service/passes/axis_view.h"
#include "service/passes/column_parts.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/row_calls.h"

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

// What one call of reduce.comp does.
struct Reduction {
  ReduceOperation operation{};
  ValueId source = kNoValue;
  std::vector<StridedDimension> kept;  // strides[0]: of the source.
  std::vector<StridedDimension> reduced;
};

// Elements that one call may fold to one, so that an invocation stays within
// kInvocationIterationsMax where it loops over them so many times.
uint64_t ReducedMax(const Reduction& reduction, const LoweringBuilder& builder, uint32_t passes) {
  const bool shares_row = SharesRow(ElementsOf(reduction.reduced), ElementsOf(reduction.kept),
                                    reduction.reduced.back().strides[0], builder.wide());
  const uint64_t loops = kInvocationIterationsMax *
                         SharersMin(shares_row, builder.wide(), builder.device().narrow) / passes;
  if (RankConstant(reduction.reduced) != 0) return loops * kElementsPerIterationOfBlocks;
  // Each element has a loop over its dimensions.
  return loops / (reduction.reduced.size() + 1);
}

// Values of specialisation constant 6 of reduce.comp.
enum class ReduceQuads : uint32_t { kNone, kAlongRow, kAcross };

ReduceQuads QuadsOf(const Reduction& reduction, OperandDataType type, OperandDataType result_type,
                    bool shares_row) {
  constexpr uint32_t kPerQuad = 4;
  if (PerQuad(type) != kPerQuad) return ReduceQuads::kNone;
  auto aligned = [](std::span<const StridedDimension> dimensions) {
    return std::all_of(dimensions.begin(), dimensions.end(), [](const StridedDimension& dimension) {
      return dimension.size == 1 || dimension.strides[0] % kPerQuad == 0;
    });
  };
  auto contiguous = [](const StridedDimension& dimension) {
    return dimension.strides[0] == 1 && dimension.size % kPerQuad == 0;
  };
  const std::span<const StridedDimension> kept(reduction.kept);
  const std::span<const StridedDimension> reduced(reduction.reduced);
  if (reduced.size() == 1 && contiguous(reduced[0]) && aligned(kept)) {
    return ReduceQuads::kAlongRow;
  }
  if (!shares_row && PerQuad(result_type) == kPerQuad && contiguous(kept.back()) &&
      aligned(kept.first(kept.size() - 1)) && aligned(reduced)) {
    return ReduceQuads::kAcross;
  }
  return ReduceQuads::kNone;
}

// Values of specialisation constant 9 of reduce.comp.
enum class ReduceWay : uint32_t { kPlain, kSubgroups, kTiles, kColumns };

// Whether a subgroup of a GPU takes a row of so many quads: where there are enough rows, that saves
// workgroups meeting.
bool TakesRowsBySubgroups(uint32_t rows, uint32_t quads) {
  constexpr uint32_t kRowsMin = 1024;
  constexpr uint32_t kQuadsMax = 256;  // Which invocations load at once.
  return rows >= kRowsMin && quads <= kQuadsMax;
}

// Whether subgroups of llvmpipe take rows one after the other.
bool TakesRowsOneByOne(const Reduction& reduction, OperandDataType type) {
  constexpr uint64_t kRowsMin = 256;  // They have the results of 16 at once.
  constexpr uint64_t kLengthMin = 16;
  return webidl::BitsPerElement(type) <= 32 && reduction.reduced.size() == 1 &&
         reduction.reduced[0].strides[0] == 1 && reduction.reduced[0].size >= kLengthMin &&
         ElementsOf(reduction.kept) >= kRowsMin;
}

void AddReduceCall(const Reduction& reduction, ValueId result_value, LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(reduction.source);
  const OperandDescriptor result = builder.descriptor(result_value);
  auto outputs = NarrowCast<uint32_t>(ElementsOf(reduction.kept));
  auto length = NarrowCast<uint32_t>(ElementsOf(reduction.reduced));
  // Of many short rows each is done before a workgroup has met to fold it.
  const bool many_short_rows = length < 256 && outputs >= 512;
  const bool one_by_one = !builder.wide() && TakesRowsOneByOne(reduction, input.data_type());
  const bool shares_row =
      !many_short_rows && !one_by_one &&
      SharesRow(length, outputs, reduction.reduced.back().strides[0], builder.wide());
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kReduceFloat, input.data_type());
  const ReduceQuads quads =
      one_by_one ? ReduceQuads::kNone
                 : QuadsOf(reduction, input.data_type(), result.data_type(), shares_row);
  if (quads == ReduceQuads::kAlongRow) length /= 4;
  const FoursOfRows fours =
      quads == ReduceQuads::kAcross
          ? FoursOfRows::Choose(reduction.kept.back().size, outputs, builder.wide())
          : FoursOfRows();
  call.specialization = {static_cast<uint32_t>(reduction.operation),
                         static_cast<uint32_t>(input.data_type()),
                         shares_row,
                         static_cast<uint32_t>(result.data_type()),
                         RankConstant(reduction.reduced),
                         static_cast<uint32_t>(quads),
                         fours.count,
                         fours.apart};
  const bool by_subgroups = builder.wide() && shares_row && quads == ReduceQuads::kAlongRow &&
                            PerQuad(result.data_type()) == 4 &&
                            TakesRowsBySubgroups(outputs, length);
  if (by_subgroups || one_by_one) {
    call.specialization.push_back(static_cast<uint32_t>(ReduceWay::kSubgroups));
  }
  call.buffers = {{reduction.source, false}, {result_value, true}};
  call.parameters = {outputs, length, static_cast<uint32_t>(reduction.kept.size()),
                     static_cast<uint32_t>(reduction.reduced.size())};
  AppendDimensions(reduction.kept, call.parameters);
  AppendDimensions(reduction.reduced, call.parameters);
  SetRows(call,
          quads == ReduceQuads::kAcross ? StoreQuads(result) / fours.count : StoreUnits(result),
          shares_row);
  // A workgroup has several subgroups.
  if (by_subgroups) SetRows(call, DivideRoundingUp(outputs, 4u), shares_row);
  if (one_by_one) SetRows(call, outputs, /*shares_row=*/true);
  call.cost = input.byte_length() * reduction.reduced.size() + result.byte_length();
  builder.AddCall(std::move(call));
}

// How a reduction works on parts, and how their results then become one.
struct PartialOperations {
  ReduceOperation part;
  ReduceOperation whole;
};
PartialOperations PartsOf(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::kL1:
    case ReduceOperation::kSumSquare:
      return {operation, ReduceOperation::kSum};
    case ReduceOperation::kLogSum:
      return {ReduceOperation::kSum, operation};
    default:  // Parts are equally long, so that means have one weight.
      return {operation, operation};
  }
}

// Adds the calls that go by tiles: one, or two where there are several tiles along the axis.
Status AddReduceByTiles(ReduceOperation operation, const Node& node, const AxisView& view,
                        LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(node.operands[0]);
  const auto type = static_cast<uint32_t>(input.data_type());
  const auto add_call = [&](ReduceOperation part, ValueId source, ValueId result,
                            const AxisView& rows, const RowTiles& tiles) {
    LoweredCall call;
    call.shader = ShaderOfClass(ShaderId::kReduceFloat, input.data_type());
    call.specialization = {static_cast<uint32_t>(part),
                           type,
                           /*by workgroup*/ 0,
                           type,
                           /*rank of the reduced dimensions*/ 1,
                           static_cast<uint32_t>(ReduceQuads::kNone),
                           /*fours*/ 1,
                           /*apart*/ 1,
                           static_cast<uint32_t>(ReduceWay::kTiles)};
    call.buffers = {{source, false}, {result, true}};
    call.parameters = tiles.Parameters(rows);
    call.parameters.back() = view.axis;
    call.workgroups = tiles.count;
    call.cost = uint64_t{rows.rows} * rows.axis * 4;
    builder.AddCall(std::move(call));
  };
  const RowTiles tiles = RowTiles::Choose(view, /*stretch_min=*/128);
  if (tiles.along == 1) {
    add_call(operation, node.operands[0], node.results[0], view, tiles);
    return {};
  }
  const uint32_t shape[] = {tiles.along, view.rows};
  ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(input.data_type(), shape));
  const ValueId partial = builder.AddTemporary(std::move(descriptor));
  // Tiles differ in length, so that their means have different weights.
  const PartialOperations operations = operation == ReduceOperation::kMean
                                           ? PartialOperations{ReduceOperation::kSum, operation}
                                           : PartsOf(operation);
  add_call(operations.part, node.operands[0], partial, view, tiles);
  const AxisView of_parts = {view.rows, tiles.along, view.rows};
  add_call(operations.whole, partial, node.results[0], of_parts,
           RowTiles::Choose(of_parts, tiles.along));
  return {};
}

// The call that has columns of the operand in llvmpipe's lanes (shaders/column_parts.glsl), if they
// have enough of them.
std::optional<LoweredCall> MakeColumnsCall(ReduceOperation operation, const Node& node,
                                           const AxisView& view, const LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const OperandDataType type = input.data_type();
  const uint32_t per_word = type == OperandDataType::kFloat16 ? 2 : 1;
  const uint32_t passes = operation == ReduceOperation::kLogSumExp ? 2 : 1;
  // With few lanes, a unit is several.
  const uint64_t turns = uint64_t{passes} * view.axis * (builder.device().narrow ? 4 : 2);
  if (builder.wide() || result.data_type() != type || PerQuad(type) != 4 * per_word ||
      view.inner % per_word != 0 || view.inner / per_word < kColumnLanesMax ||
      turns > kInvocationIterationsMax) {
    return std::nullopt;
  }
  // Whole rows, if they are short, which processors see coming; of longer ones, units for many.
  constexpr uint32_t kUnitsWanted = 16;
  const uint64_t vectors = uint64_t{view.inner} / per_word / kColumnLanesMax * view.outer();
  const auto at_once = static_cast<uint32_t>(
      std::clamp<uint64_t>(vectors / kUnitsWanted, 4 / per_word, 8 / per_word));
  const ColumnParts parts = ColumnParts::Whole(view, per_word, at_once);
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kReduceFloat, type);
  call.specialization = {static_cast<uint32_t>(operation),
                         static_cast<uint32_t>(type),
                         /*by workgroup*/ 0,
                         static_cast<uint32_t>(type),
                         /*rank of the reduced dimensions*/ 1,
                         static_cast<uint32_t>(ReduceQuads::kNone),
                         parts.vectors,
                         /*apart*/ 1,
                         static_cast<uint32_t>(ReduceWay::kColumns)};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  parts.Fill(passes, passes * input.byte_length() + result.byte_length(), /*word=*/0, call);
  return call;
}

std::vector<bool> ReducedDimensions(const Node& node, const OperandDescriptor& input) {
  const auto& axes = std::get<webidl::ReduceAttributes>(node.attributes).axes;
  std::vector<bool> is_reduced(input.rank(), !axes.has_value());
  for (uint32_t axis : axes.value_or(std::vector<uint32_t>())) is_reduced[axis] = true;
  return is_reduced;
}

Reduction ReadReduction(const Node& node, const LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const std::vector<bool> is_reduced = ReducedDimensions(node, input);
  const std::vector<uint32_t> strides = PackedStrides(input.shape());
  Reduction reduction{.operation = ReduceOperationOf(node.kind), .source = node.operands[0]};
  for (uint32_t d = 0; d < input.rank(); ++d) {
    auto& dimensions = is_reduced[d] ? reduction.reduced : reduction.kept;
    dimensions.push_back({input.shape()[d], {strides[d]}});
  }
  reduction.kept = Coalesce(reduction.kept);
  reduction.reduced = Coalesce(reduction.reduced);
  return reduction;
}

// The longest run, of at most so many elements, in which the last reduced dimension is divided.
uint32_t RunOf(const Reduction& reduction, uint64_t elements_max) {
  const uint32_t size = reduction.reduced.back().size;
  auto run = static_cast<uint32_t>(std::min<uint64_t>(size, elements_max));
  while (size % run != 0) --run;
  return run;
}

// Whether neighbours among the elements of the result are neighbours in the source, unlike those of
// which each is made.
bool IsInterleaved(const Reduction& reduction) {
  return reduction.reduced.size() == 1 && reduction.reduced[0].strides[0] != 1 &&
         reduction.kept.back().strides[0] == 1;
}

// Where a result has too few elements to keep a wide device busy, runs of those that each is made
// of are reduced first: of so many; 0 where not.
uint32_t RunForWideDevice(const Reduction& reduction) {
  const uint64_t outputs = ElementsOf(reduction.kept);
  const uint64_t length = ElementsOf(reduction.reduced);
  if (IsInterleaved(reduction)) {
    // Invocations take four neighbours each.
    constexpr uint64_t kOutputsMin = 1 << 17;
    constexpr uint64_t kRunMin = 16;
    if (outputs >= kOutputsMin || length < 4 * kRunMin) return 0;
    const uint32_t run = RunOf(reduction, std::max(kRunMin, length * outputs / kOutputsMin));
    return run >= kRunMin / 2 ? run : 0;
  }
  // Workgroups take one each.
  constexpr uint64_t kOutputsMax = 256;
  constexpr uint64_t kRunMin = 1024;
  constexpr uint64_t kRunMax = 16384;
  if (outputs > kOutputsMax || length <= kRunMax) return 0;
  const uint32_t run = RunOf(reduction, kRunMax);
  return run >= kRunMin ? run : 0;
}

// Adds a call that folds such runs of the last reduced dimension; what is left to do on its
// results.
Result<Reduction> ReduceInPart(Reduction reduction, uint32_t run, LoweringBuilder& builder) {
  StridedDimension last = reduction.reduced.back();
  if (run == 1) {
    return NotSupportedError("a reduced dimension ({}) is long and has no divisor", last.size);
  }
  PartialOperations operations = PartsOf(reduction.operation);
  auto outputs = NarrowCast<uint32_t>(ElementsOf(reduction.kept));
  auto parts = NarrowCast<uint32_t>(ElementsOf(reduction.reduced) / run);

  Reduction part = reduction;
  part.operation = operations.part;
  part.reduced = {{run, last.strides}};
  // The parts of one element of the result follow each other; where they are interleaved, they stay
  // so.
  const bool interleaved = builder.wide() && IsInterleaved(reduction);
  const StridedDimension runs = {last.size / run, {last.strides[0] * run}};
  part.kept.insert(part.kept.end(), reduction.reduced.begin(), reduction.reduced.end() - 1);
  part.kept.insert(interleaved ? part.kept.begin() : part.kept.end(), runs);
  part.kept = Coalesce(part.kept);
  OperandDataType type = builder.descriptor(reduction.source).data_type();
  if (type == OperandDataType::kFloat16) type = OperandDataType::kFloat32;
  const uint32_t shape[] = {interleaved ? parts : outputs, interleaved ? outputs : parts};
  ASSIGN_OR_RETURN(auto descriptor,
                   OperandDescriptor::Create(type, std::span<const uint32_t>(shape)));
  ValueId partial = builder.AddTemporary(std::move(descriptor));
  AddReduceCall(part, partial, builder);
  const uint32_t of_output = interleaved ? 1 : parts;
  const uint32_t of_part = interleaved ? outputs : 1;
  return Reduction{operations.whole, partial, {{outputs, {of_output}}}, {{parts, {of_part}}}};
}

}  // namespace

Status LowerReduce(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const std::vector<bool> is_reduced = ReducedDimensions(node, input);
  const ReduceOperation operation = ReduceOperationOf(node.kind);
  const std::optional<AxisView> view = ViewAlongAll(input.shape(), is_reduced);
  // Which takes two passes.
  const bool has_shift = operation == ReduceOperation::kLogSumExp;
  if (view && !has_shift && PerQuad(input.data_type()) == 4 &&
      TakesRowTiles(*view, builder.wide())) {
    return AddReduceByTiles(operation, node, *view, builder);
  }
  if (view) {
    if (auto call = MakeColumnsCall(operation, node, *view, builder)) {
      builder.AddCall(*std::move(call));
      return {};
    }
  }
  Reduction reduction = ReadReduction(node, builder);
  if (const uint32_t run = builder.wide() ? RunForWideDevice(reduction) : 0; run != 0) {
    ASSIGN_OR_RETURN(reduction, ReduceInPart(reduction, run, builder));
  }
  while (ElementsOf(reduction.reduced) > ReducedMax(reduction, builder, 2)) {
    const uint32_t run = RunOf(reduction, ReducedMax(reduction, builder, 2));
    const bool fits =
        !has_shift && ElementsOf(reduction.reduced) <= ReducedMax(reduction, builder, 1);
    if (run == 1 && fits) break;
    ASSIGN_OR_RETURN(reduction, ReduceInPart(reduction, run, builder));
  }
  AddReduceCall(reduction, node.results[0], builder);
  return {};
}

}  // namespace webnnd::service

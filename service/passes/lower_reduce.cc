#include "service/passes/lower_reduce.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/axis_view.h"
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
  static_assert(static_cast<int>(ShaderId::kCumulativeTilesUint) -
                    static_cast<int>(ShaderId::kCumulativeTilesFloat) ==
                static_cast<int>(ComputeClass::kUint));  // It has no others.
  return static_cast<ShaderId>(static_cast<uint16_t>(float_shader) +
                               static_cast<uint16_t>(ComputeClassOf(type)));
}

// Whether a workgroup shares a row of `length` elements, `stride` apart. Neighbouring invocations
// then read neighbouring elements of one row, else (one invocation a row) the same element of
// neighbouring rows: better where rows are interleaved, unless there are too few of them.
bool SharesRow(uint64_t length, uint64_t rows, uint64_t stride, bool wide) {
  constexpr uint64_t kLengthMin = 32;
  return length >= kLengthMin && (stride == 1 || rows < InterleavedRowsMin(wide));
}

// Work counted in rows: workgroups or invocations.
void SetRows(LoweredCall& call, uint64_t rows, bool shares_row) {
  (shares_row ? call.workgroups : call.invocations) = rows;
}

// Whether fours of interleaved rows are quads, in loops that turn for every element of a row or,
// twice, for every fourth.
bool TakesFoursOfRows(const AxisView& view) {
  return view.inner % 4 == 0 && view.axis <= kInvocationIterationsMax;
}

// Whether rows are quads, in a loop that turns for every four or, shared, for less.
bool LiesInFours(const AxisView& view) {
  return view.inner == 1 && view.axis % 4 == 0 && view.axis / 4 <= kInvocationIterationsMax;
}

// Fours of neighbouring rows that an invocation takes of rows that are interleaved, `inner` of
// them, and how far from each other (FirstOfFours of shaders/tensor.glsl): several, if there are
// enough for all invocations.
struct FoursOfRows {
  uint32_t count = 1;
  uint32_t apart = 1;

  static FoursOfRows Choose(uint32_t inner, uint64_t rows, bool wide) {
    constexpr uint32_t kFours = 4;
    constexpr uint32_t kRowsMin = 1024;
    if (wide || inner % (4 * kFours) != 0 || rows < kRowsMin) return {};
    return {kFours, inner % (4 * kFours * kLocalSizeMin) == 0 ? kLocalSizeMin : 1};
  }
  static FoursOfRows Choose(const AxisView& view, bool wide) {
    return Choose(view.inner, view.rows, wide);
  }
};

// How GPUs divide interleaved rows between workgroups (shaders/interleaved_tiles.glsl).
struct RowTiles {
  uint32_t across = 1;   // Tiles side by side behind the axis.
  uint32_t along = 1;    // Along the axis.
  uint32_t stretch = 1;  // Of the axis, of each but the last.
  uint32_t fours = 1;    // Behind the axis.
  uint32_t count = 0;

  // Of stretches of no less than `stretch_min`.
  static RowTiles Choose(const AxisView& view, uint32_t stretch_min) {
    constexpr uint32_t kFours = 8;
    constexpr uint32_t kParts = 16;
    constexpr uint32_t kTilesMin = 1024;
    RowTiles tiles;
    tiles.fours = view.inner / 4;
    tiles.across = DivideRoundingUp(tiles.fours, kFours);
    const uint32_t wanted = DivideRoundingUp(kTilesMin, view.outer() * tiles.across);
    tiles.stretch = std::max(DivideRoundingUp(view.axis, wanted), stretch_min);
    tiles.stretch = AlignUp(tiles.stretch, kParts);
    tiles.along = DivideRoundingUp(view.axis, tiles.stretch);
    tiles.count = view.outer() * tiles.across * tiles.along;
    return tiles;
  }
  std::vector<uint32_t> Parameters(const AxisView& view) const {
    std::vector<uint32_t> parameters = {count, view.axis, stretch, view.rows};
    AppendDivisor(across, parameters, fours);
    AppendDivisor(along, parameters);
    return parameters;
  }
};

// Whether GPUs take interleaved rows by tiles: with an invocation for each four of them, as they
// take more of them, too few would have work.
bool TakesRowTiles(const AxisView& view, bool wide) {
  constexpr uint32_t kAxisMin = 32;
  constexpr uint32_t kRowsMax = 1 << 18;
  return wide && view.inner > 1 && view.inner % 4 == 0 && view.axis >= kAxisMin &&
         view.rows < kRowsMax;
}

// Invocations for `units` that a subgroup takes each.
uint64_t SubgroupsFor(uint64_t units) { return units * kSubgroupInvocations; }

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

// What one call of reduce.comp does.
struct Reduction {
  ReduceOperation operation{};
  ValueId source = kNoValue;
  std::vector<StridedDimension> kept;  // strides[0]: of the source.
  std::vector<StridedDimension> reduced;
};

// Elements that one call may fold to one, so that an invocation of the workgroup that shares them
// stays within kInvocationIterationsMax. It loops over them at most twice.
uint64_t ReducedMax(std::span<const StridedDimension> reduced) {
  uint64_t loops = kInvocationIterationsMax * kLocalSizeMin / 2;
  // The loop over blocks takes an iteration for many; without a constant rank, each element has a
  // loop over its dimensions.
  if (RankConstant(reduced) != 0) return loops * (kLongLoopUnroll - 1);
  return loops / (reduced.size() + 1);
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
enum class ReduceWay : uint32_t { kPlain, kSubgroups, kTiles };

// Whether a subgroup of a GPU takes a row of so many quads: where there are enough rows, that saves
// workgroups meeting.
bool TakesRowsBySubgroups(uint32_t rows, uint32_t quads) {
  constexpr uint32_t kRowsMin = 1024;
  constexpr uint32_t kQuadsMax = 256;  // Which invocations load at once.
  return rows >= kRowsMin && quads <= kQuadsMax;
}

void AddReduceCall(const Reduction& reduction, ValueId result_value, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(reduction.source);
  const OperandDescriptor& result = builder.descriptor(result_value);
  auto outputs = NarrowCast<uint32_t>(ElementsOf(reduction.kept));
  auto length = NarrowCast<uint32_t>(ElementsOf(reduction.reduced));
  // Of many short rows each is done before a workgroup has met to fold it.
  const bool many_short_rows = length < 256 && outputs >= 512;
  const bool shares_row =
      !many_short_rows &&
      SharesRow(length, outputs, reduction.reduced.back().strides[0], builder.wide());
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kReduceFloat, input.data_type());
  const ReduceQuads quads = QuadsOf(reduction, input.data_type(), result.data_type(), shares_row);
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
  if (by_subgroups) call.specialization.push_back(static_cast<uint32_t>(ReduceWay::kSubgroups));
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

// Of [outer, axis, inner], if all of `is_reduced` lie beside each other: the axis.
std::optional<AxisView> ViewOfReduction(const Shape& shape, const std::vector<bool>& is_reduced) {
  const auto first = std::find(is_reduced.begin(), is_reduced.end(), true);
  const auto last = std::find(first, is_reduced.end(), false);
  if (first == last || std::find(last, is_reduced.end(), true) != is_reduced.end()) {
    return std::nullopt;
  }
  const std::span<const uint32_t> sizes(shape);
  const size_t begin = first - is_reduced.begin();
  const size_t end = last - is_reduced.begin();
  const uint32_t inner = Product(sizes.subspan(end));
  return AxisView{Product(sizes.first(begin)) * inner, Product(sizes.subspan(begin, end - begin)),
                  inner};
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

// `passes` loops of an invocation over its share of an axis.
Status CheckLoops(const AxisView& view, bool shares_row, uint32_t passes) {
  uint64_t at_once = uint64_t{kLongLoopUnroll} * (shares_row ? kLocalSizeMin : 1);
  if (passes * DivideRoundingUp<uint64_t>(view.axis, at_once) > kInvocationIterationsMax) {
    return NotSupportedError("the axis ({}) is longer than a kernel loops over", view.axis);
  }
  return {};
}

}  // namespace

Status LowerReduce(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ReduceAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  std::vector<bool> is_reduced(input.rank(), !attributes.axes.has_value());
  for (uint32_t axis : attributes.axes.value_or(std::vector<uint32_t>())) is_reduced[axis] = true;

  const ReduceOperation operation = ReduceOperationOf(node.kind);
  const std::optional<AxisView> view = ViewOfReduction(input.shape(), is_reduced);
  // Which takes two passes.
  const bool has_shift = operation == ReduceOperation::kLogSumExp;
  if (view && !has_shift && PerQuad(input.data_type()) == 4 &&
      TakesRowTiles(*view, builder.wide())) {
    return AddReduceByTiles(operation, node, *view, builder);
  }
  std::vector<uint32_t> strides = PackedStrides(input.shape());
  Reduction reduction{.operation = operation, .source = node.operands[0]};
  for (uint32_t d = 0; d < input.rank(); ++d) {
    auto& dimensions = is_reduced[d] ? reduction.reduced : reduction.kept;
    dimensions.push_back({input.shape()[d], {strides[d]}});
  }
  reduction.kept = Coalesce(reduction.kept);
  reduction.reduced = Coalesce(reduction.reduced);
  if (const uint32_t run = builder.wide() ? RunForWideDevice(reduction) : 0; run != 0) {
    ASSIGN_OR_RETURN(reduction, ReduceInPart(reduction, run, builder));
  }
  while (ElementsOf(reduction.reduced) > ReducedMax(reduction.reduced)) {
    const uint32_t run = RunOf(reduction, ReducedMax(reduction.reduced));
    ASSIGN_OR_RETURN(reduction, ReduceInPart(reduction, run, builder));
  }
  AddReduceCall(reduction, node.results[0], builder);
  return {};
}

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
  const bool by_four =
      PerQuad(input.data_type()) == 4 && (shares_row ? LiesInFours(view) : TakesFoursOfRows(view));
  TRY(CheckLoops(view, shares_row, /*passes=*/1));
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kArgReduceFloat, input.data_type());
  call.specialization = {node.kind == OperatorKind::kArgMax,
                         static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(result.data_type()), shares_row, by_four};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {view.rows, view.axis, 0, 0};
  AppendDivisor(view.inner, call.parameters);
  SetRows(call, by_four && !shares_row ? view.rows / 4 : view.rows, shares_row);
  call.cost = input.byte_length() + result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

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

Status LowerCumulativeSum(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  if (PerQuad(input.data_type()) == 4 && TakesRowTiles(view, builder.wide())) {
    return AddCumulativeSumByTiles(node, view, builder);
  }
  const bool quads = PerQuad(input.data_type()) == 4;
  const bool along_row = quads && view.inner == 1 && view.axis % 4 == 0 && view.axis >= 32;
  // Otherwise, sharing a row reads it twice.
  const uint64_t rows_min = builder.wide() ? InterleavedRowsMin(true) : 64;
  const bool shares_row = along_row || (view.axis >= 128 && view.rows < rows_min);
  const bool by_four = along_row || (quads && !shares_row && TakesFoursOfRows(view));
  const FoursOfRows fours =
      by_four && !shares_row ? FoursOfRows::Choose(view, builder.wide()) : FoursOfRows();
  TRY(CheckLoops(view, shares_row, /*passes=*/2));
  LoweredCall call = MakeRowsCall(ShaderOfClass(ShaderId::kCumulativeSumFloat, input.data_type()),
                                  node, view, shares_row);
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         shares_row,
                         attributes.exclusive,
                         attributes.reversed,
                         by_four,
                         fours.count,
                         fours.apart};
  if (by_four && !shares_row) SetRows(call, view.rows / (4 * fours.count), shares_row);
  builder.AddCall(std::move(call));
  return {};
}

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

Status LowerSoftmax(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::SoftmaxAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const auto type = static_cast<uint32_t>(input.data_type());
  AxisView view = ViewAlong(input.shape(), attributes.axis);
  bool shares_row = SharesRow(view.axis, view.rows, view.inner, builder.wide());
  TRY(CheckLoops(view, shares_row, /*passes=*/3));
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
  auto specialize = [&](SoftmaxPart part) {
    call.specialization = {type,
                           shares_row,
                           by_four,
                           fours.count,
                           static_cast<uint32_t>(part),
                           fours.apart,
                           static_cast<uint32_t>(in_registers)};
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

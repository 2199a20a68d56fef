#include "service/passes/lower_gather.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/axis_view.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Shape;

// How slices of `slice` neighbouring elements move: as words where they fill
// words.
struct SliceUnits {
  OperandDataType type;
  uint32_t slice;
};
SliceUnits UnitsOf(OperandDataType type, uint32_t slice) {
  uint32_t bits = webidl::BitsPerElement(type);
  if (uint64_t{slice} * bits % 32 != 0) return {type, slice};
  return {OperandDataType::kUint32, static_cast<uint32_t>(uint64_t{slice} * bits / 32)};
}

// The same for kernels that move whole quads of words as well.
struct QuadUnits {
  OperandDataType type;
  uint32_t slice;
  bool quads;
};
QuadUnits QuadUnitsOf(OperandDataType type, uint32_t slice) {
  SliceUnits units = UnitsOf(type, slice);
  const bool quads = units.type == OperandDataType::kUint32 && units.slice % 4 == 0;
  return {units.type, quads ? units.slice / 4 : units.slice, quads};
}

// Whether slices are long enough, and many enough, for a workgroup each: of whole quads, or on
// llvmpipe wherever they begin.
bool TakesSlices(const QuadUnits& units, uint64_t slices, bool wide) {
  constexpr uint64_t kSlicesMin = 64;
  if (slices < kSlicesMin) return false;
  if (units.quads) {
    return units.slice >= RowUnitsMin(wide, 16) && units.slice <= kInvocationIterationsMax;
  }
  constexpr uint32_t kWordsMin = 8;  // Half of a vector.
  constexpr uint32_t kWordsMax = 1 << 18;
  const uint32_t bits = webidl::BitsPerElement(units.type);
  const uint32_t words = bits < 8 || bits > 32 ? 0 : units.slice / (32 / bits);
  return !wide && words >= kWordsMin && words <= kWordsMax;
}

// Iterations for those, by all lanes together at most, which quads have for less than their bytes.
uint64_t SliceLaneTurns(const QuadUnits& units, uint64_t slices, uint32_t coordinates) {
  if (units.quads) return 0;
  const uint64_t words = DivideRoundingUp<uint64_t>(units.slice, PerQuad(units.type) / 4);
  return RowCopyLaneTurns(slices, words, coordinates);
}

// Coordinates that kernels count by a constant, rather than in a loop.
constexpr uint32_t kConstantCoordinatesMax = 4;

// {size, stride} of the first `coordinates` dimensions, strides counted in
// slices times `unit`.
void AppendCoordinates(std::span<const uint32_t> shape, uint32_t coordinates, uint32_t unit,
                       std::vector<uint32_t>& parameters) {
  std::vector<uint32_t> strides = PackedStrides(shape.subspan(0, coordinates));
  for (uint32_t d = 0; d < coordinates; ++d) {
    parameters.push_back(shape[d]);
    parameters.push_back(strides[d] * unit);
  }
}

// The call of gatherElements or scatterElements by strips (shaders/strips.glsl), if the input is so
// large that a cache does not keep it, and elements come back to it along the axis often enough for
// its copy to pay: as many as there are indices.
std::optional<LoweredCall> MakeStripsCall(ShaderId shader, const Node& node, uint32_t axis,
                                          LoweringBuilder& builder) {
  constexpr uint64_t kCachedBytes = uint64_t{1} << 20;
  // Strips of all workgroups take as many at most.
  constexpr uint64_t kInputBytesMax = uint64_t{64} << 20;
  // Of a row of a strip; where strips would take more of a second cache than a quarter, half of it.
  constexpr uint32_t kWideRowBytes = 256;
  constexpr uint64_t kWideStripBytesMax = uint64_t{1} << 19;
  constexpr uint64_t kStripBytesMax = uint64_t{1} << 20;
  constexpr uint64_t kElementsOfIndexMax = 4;
  constexpr uint64_t kStripsMin = 4;  // No more threads have any.
  constexpr uint32_t kRowsOfTurn = 4;
  // For each vector of a row that a turn reads and writes. No loops are inside: an invocation may
  // take that many more turns than others, so that threads keep to one strip's memory each.
  constexpr uint32_t kCostOfVector = 32 * kRowsOfTurn;
  constexpr uint32_t kVectorBytes = 64;
  // An invocation may have a strip more than its share, and with vectors of four lanes each is
  // four, or two.
  constexpr uint64_t kRowsMax = kInvocationIterationsMax / 5;
  const OperandDescriptor input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  const uint32_t bits = webidl::BitsPerElement(input.data_type());
  const AxisView view = ViewAlong(input.shape(), axis);
  const uint32_t along_axis = indices.shape()[axis];
  const uint64_t row_bytes = uint64_t{view.inner} * bits / 8;
  const bool is_wide = uint64_t{view.axis} * kWideRowBytes <= kWideStripBytesMax;
  const uint32_t strip_row_bytes = is_wide ? kWideRowBytes : kWideRowBytes / 2;
  const uint32_t vectors = strip_row_bytes / kVectorBytes;
  // Of fewer rows than a turn takes, turns would be more than what the call costs says.
  if (builder.wide() || bits < 8 || row_bytes % strip_row_bytes != 0 || view.axis < kRowsOfTurn ||
      input.byte_length() / view.outer() <= kCachedBytes || input.byte_length() > kInputBytesMax ||
      uint64_t{view.axis} * strip_row_bytes > kStripBytesMax ||
      input.element_count() > kElementsOfIndexMax * indices.element_count() ||
      (uint64_t{view.axis} + along_axis) * vectors > 4 * kRowsMax) {
    return std::nullopt;
  }
  const auto strips_of_row = static_cast<uint32_t>(row_bytes / strip_row_bytes);
  const uint64_t strips = uint64_t{view.outer()} * strips_of_row;
  if (strips < kStripsMin) return std::nullopt;
  LoweredCall call;
  call.shader = shader;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(indices.data_type()), strip_row_bytes / 4};
  call.parameters = {NarrowCast<uint32_t>(strips), static_cast<uint32_t>(row_bytes / 4), view.axis,
                     along_axis};
  AppendDivisor(strips_of_row, call.parameters);
  call.workgroups = strips;
  call.cost = 2 * builder.descriptor(node.results[0]).byte_length();
  for (ValueId operand : node.operands) {
    call.cost += 2 * builder.descriptor(operand).byte_length();
    call.buffers.push_back({operand, false});
  }
  call.cost_per_turn = vectors * kCostOfVector;
  call.buffers.push_back({node.results[0], true});
  call.buffers.push_back({builder.AddTemporary(input), true});
  return call;
}

// The two calls that write `updates` into `result`, which already holds a copy
// of the input. `places` counts where a slice can go, `rows` the slices; `rank`
// is STRIDED_RANK.
void AddScatterCalls(const Node& node, LoweredCall prototype, SliceUnits units, uint32_t rows,
                     uint32_t rank, const OperandDescriptor& places, LoweringBuilder& builder) {
  ValueId winners = builder.AddTemporary(places);
  auto words = NarrowCast<uint32_t>(places.element_count());
  LoweredCall clear;
  clear.shader = ShaderId::kFillWords;
  clear.buffers = {{winners, true}};
  clear.parameters = {words, 0};
  clear.invocations = StoreQuads(places);
  clear.cost = places.byte_length();
  builder.AddCall(std::move(clear));

  auto index_type = static_cast<uint32_t>(builder.descriptor(node.operands[1]).data_type());
  auto type = static_cast<uint32_t>(units.type);
  constexpr uint32_t kManyCoordinates = 0xffffffff;
  const uint32_t coordinates = prototype.parameters[1] <= kConstantCoordinatesMax
                                   ? prototype.parameters[1]
                                   : kManyCoordinates;
  LoweredCall elect = prototype;
  elect.shader = ShaderId::kScatter;
  elect.specialization = {type, index_type, 0, rank, coordinates};
  elect.buffers = {{node.operands[1], false}, {node.operands[2], false}, {winners, true}};
  elect.parameters[0] = rows;
  elect.invocations = rows;
  elect.cost = builder.descriptor(node.operands[1]).byte_length() + 4 * uint64_t{rows};
  builder.AddCall(std::move(elect));

  LoweredCall write = std::move(prototype);
  const QuadUnits quads = QuadUnitsOf(units.type, units.slice);
  const bool by_slices = TakesSlices(quads, rows, builder.wide());
  if (by_slices) units.slice = quads.slice;
  std::ranges::copy(MakeDivisor(units.slice), write.parameters.begin() + 4);
  write.shader = ShaderId::kScatter;
  write.specialization = {
      type, index_type, 1, rank, coordinates, by_slices, by_slices && !quads.quads};
  write.buffers = {{node.operands[1], false},
                   {node.operands[2], false},
                   {winners, false},
                   {node.results[0], true}};
  write.parameters[0] = rows * units.slice;
  if (by_slices) {
    write.workgroups = rows;
  } else {
    write.invocations = uint64_t{rows} * units.slice;
  }
  write.cost = builder.descriptor(node.operands[1]).byte_length() +
               2 * builder.descriptor(node.operands[2]).byte_length();
  if (by_slices) {
    write.cost = std::max(write.cost, SliceLaneTurns(quads, rows, write.parameters[1]));
  }
  builder.AddCall(std::move(write));
}

// The call that writes updates row by row along the axis, where there are enough rows for all
// invocations.
std::optional<LoweredCall> MakeScatterRowsCall(const Node& node, uint32_t axis,
                                               const LoweringBuilder& builder) {
  const uint64_t rows_min = builder.wide() ? 1 << 15 : 256;
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  const OperandDescriptor& updates = builder.descriptor(node.operands[2]);
  const AxisView view = ViewAlong(result.shape(), axis);
  const uint32_t updates_of_row = updates.shape()[axis];
  if (view.rows < rows_min || updates_of_row > kInvocationIterationsMax) return std::nullopt;
  const bool by_four = PerQuad(result.data_type()) == 4 && view.inner % 4 == 0;
  LoweredCall call;
  call.shader = ShaderId::kScatterRows;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         static_cast<uint32_t>(indices.data_type()), by_four};
  call.buffers = {{node.operands[1], false}, {node.operands[2], false}, {node.results[0], true}};
  call.parameters = {view.rows, updates_of_row, view.axis, 0};
  AppendDivisor(view.inner, call.parameters);
  call.invocations = by_four ? view.rows / 4 : view.rows;
  call.cost = indices.byte_length() + 2 * updates.byte_length();
  return call;
}

// The call that writes tiles of the result whole, on GPUs: what others elect and write in places
// all over memory, workgroups do in memory of their own. They go over the updates for each tile
// along the axis, and over all of the result, so there may not be too many of either.
std::optional<LoweredCall> MakeScatterColumnsCall(const Node& node, uint32_t axis,
                                                  const LoweringBuilder& builder) {
  constexpr uint32_t kPlacesOfTile = 512;  // kPlaces of shaders/scatter_columns.comp.
  constexpr uint32_t kAxisMin = 64;
  constexpr uint64_t kPlacesOfUpdateMax = 8;
  constexpr uint64_t kRepeatsMax = 4;
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  const OperandDescriptor& updates = builder.descriptor(node.operands[2]);
  const AxisView view = ViewAlong(result.shape(), axis);
  const uint32_t updates_of_row = updates.shape()[axis];
  const uint32_t parts = DivideRoundingUp(view.axis, kPlacesOfTile);
  if (!builder.wide() || PerQuad(result.data_type()) != 4 || view.inner % 8 != 0 ||
      view.axis < kAxisMin || view.axis > kPlacesOfUpdateMax * updates_of_row ||
      (parts > 1 && uint64_t{parts} * updates_of_row > kRepeatsMax * view.axis) ||
      updates_of_row > kInvocationIterationsMax) {
    return std::nullopt;
  }
  LoweredCall call;
  call.shader = ShaderId::kScatterColumns;
  call.specialization = {static_cast<uint32_t>(indices.data_type())};
  call.buffers = {{node.operands[0], false},
                  {node.operands[1], false},
                  {node.operands[2], false},
                  {node.results[0], true}};
  call.parameters = {view.rows / 8 * parts, updates_of_row, view.axis, 0};
  AppendDivisor(view.inner / 8, call.parameters);
  AppendDivisor(parts, call.parameters);
  call.workgroups = uint64_t{view.rows} / 8 * parts;
  call.cost = parts * indices.byte_length() + updates.byte_length() + 2 * result.byte_length();
  return call;
}

// log2 of the quads of a block, where gatherElements takes quads by blocks (gather_elements.comp),
// else 0: where it would come back to a place in its input only after caches have let go of it.
// Smaller inputs they keep whole, and blocks of fewer quads are read and written in too short runs.
uint32_t BlockLog2(const OperandDescriptor& input, const AxisView& view, bool wide) {
  constexpr uint64_t kWholeBytesMax = uint64_t{16} << 20;
  constexpr uint64_t kKeptBytesMax = uint64_t{512} << 10;
  constexpr uint64_t kQuadsMin = 64;
  const uint32_t per_quad = PerQuad(input.data_type());
  const uint64_t row_quads = view.inner / per_quad;
  const uint64_t slab_bytes = input.byte_length() / view.outer();
  if (wide) {
    // Caches are large, but all that runs at once shares them, indices and results among it; what
    // is left out arrives by 32 bytes or more for each element.
    constexpr uint64_t kSharedBytesMax = uint64_t{4} << 20;
    constexpr uint32_t kWideBlockLog2 = 4;
    const bool blocks = slab_bytes > kSharedBytesMax && view.inner % per_quad == 0 &&
                        row_quads >= uint64_t{2} << kWideBlockLog2;
    return blocks ? kWideBlockLog2 : 0;
  }
  if (slab_bytes <= kWholeBytesMax || view.inner % per_quad != 0 || row_quads < 2 * kQuadsMin) {
    return 0;
  }
  return static_cast<uint32_t>(
      std::bit_width(std::max(kKeptBytesMax * row_quads / slab_bytes, kQuadsMin)) - 1);
}

}  // namespace

Status LowerGather(const Node& node, LoweringBuilder& builder) {
  uint32_t axis = std::get<webidl::GatherAttributes>(node.attributes).axis;
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  std::span<const uint32_t> shape = input.shape();
  CHECK(axis < shape.size());
  QuadUnits units = QuadUnitsOf(input.data_type(), Product(shape.subspan(axis + 1)));
  uint32_t outer = Product(shape.subspan(0, axis));
  auto index_count = NarrowCast<uint32_t>(indices.element_count());
  const uint64_t slices = uint64_t{outer} * index_count;
  auto count = NarrowCast<uint32_t>(slices * units.slice);
  const bool tiled = builder.tiled_loads(node.operands[0]) != 0;
  const bool by_slices = !tiled && TakesSlices(units, slices, builder.wide());
  LoweredCall call;
  call.shader = ShaderId::kGather;
  call.specialization = {static_cast<uint32_t>(units.type),
                         static_cast<uint32_t>(indices.data_type()), units.quads, tiled, by_slices};
  call.buffers = {{node.operands[0], false}, {node.operands[1], false}, {node.results[0], true}};
  call.parameters = {count, shape[axis], index_count, 0};
  AppendDivisor(units.slice, call.parameters);
  AppendDivisor(index_count, call.parameters);
  if (by_slices) {
    call.workgroups = slices;
  } else {
    call.invocations = StoreQuads(builder.descriptor(node.results[0]));
  }
  call.cost = 2 * builder.descriptor(node.results[0]).byte_length() + indices.byte_length();
  if (by_slices) call.cost = std::max(call.cost, SliceLaneTurns(units, slices, /*coordinates=*/1));
  builder.AddCall(std::move(call));
  return {};
}

Status LowerGatherElements(const Node& node, LoweringBuilder& builder) {
  uint32_t axis = std::get<webidl::GatherAttributes>(node.attributes).axis;
  if (auto call = MakeStripsCall(ShaderId::kGatherStrips, node, axis, builder)) {
    // With who reads the result next, 8 MiB take as long either way, and 16 MiB 0.8 of the time.
    const bool is_streamed =
        builder.streamed_stores().gathered &&
        builder.descriptor(node.results[0]).byte_length() >= 2 * kStreamedBytesMin;
    call->specialization.push_back(is_streamed);
    builder.AddCall(std::move(*call));
    return {};
  }
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  std::vector<uint32_t> strides = PackedStrides(input.shape());
  CHECK(axis < strides.size());
  uint32_t axis_stride = strides[axis];
  strides[axis] = 0;
  std::vector<StridedDimension> dimensions = Coalesce(
      MakeDimensions(result.shape(), std::vector<std::vector<uint32_t>>{std::move(strides)}));
  LoweredCall call;
  call.shader = ShaderId::kGatherElements;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         static_cast<uint32_t>(indices.data_type())};
  call.buffers = {{node.operands[0], false}, {node.operands[1], false}, {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(result.element_count()),
                     static_cast<uint32_t>(dimensions.size()), input.shape()[axis], axis_stride};
  const uint32_t per_quad = PerQuad(result.data_type());
  const AxisView view = ViewAlong(input.shape(), axis);
  const uint32_t block_log2 = BlockLog2(input, view, builder.wide());
  const uint32_t row_quads = view.inner / per_quad;
  const uint32_t blocks = std::max(DivideRoundingUp(row_quads, 1u << block_log2), 1u);
  const uint32_t along_axis = indices.shape()[axis];
  const uint64_t quads = block_log2 == 0
                             ? StoreQuads(result)
                             : (uint64_t{view.outer()} * blocks * along_axis) << block_log2;
  AppendDivisor(along_axis, call.parameters, row_quads);
  AppendDivisor(blocks, call.parameters, block_log2);
  call.parameters.insert(call.parameters.end(), {NarrowCast<uint32_t>(quads), 0, 0, 0});
  AppendDimensions(dimensions, call.parameters);
  call.specialization.push_back(RankConstant(dimensions));
  call.specialization.push_back(QuadsLieInRows(dimensions, per_quad));
  call.specialization.push_back(PerQuad(indices.data_type()) == per_quad);
  call.specialization.push_back(block_log2 != 0);
  call.invocations = quads;
  call.cost = indices.byte_length() + 2 * result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

Status LowerGatherNd(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  std::span<const uint32_t> shape = input.shape();
  uint32_t coordinates = indices.shape().back();
  CHECK(coordinates <= shape.size());
  QuadUnits units = QuadUnitsOf(input.data_type(), Product(shape.subspan(coordinates)));
  auto rows = NarrowCast<uint32_t>(indices.element_count() / coordinates);
  uint32_t count = rows * units.slice;
  const bool by_slices = TakesSlices(units, rows, builder.wide());
  LoweredCall call;
  call.shader = ShaderId::kGatherNd;
  call.specialization = {static_cast<uint32_t>(units.type),
                         static_cast<uint32_t>(indices.data_type()), units.quads,
                         coordinates <= kConstantCoordinatesMax ? coordinates : 0, by_slices};
  call.buffers = {{node.operands[0], false}, {node.operands[1], false}, {node.results[0], true}};
  call.parameters = {count, coordinates, 0, 0};
  AppendDivisor(units.slice, call.parameters);
  AppendCoordinates(shape, coordinates, units.slice, call.parameters);
  if (by_slices) {
    call.workgroups = rows;
  } else {
    call.invocations = StoreQuads(builder.descriptor(node.results[0]));
  }
  call.cost = indices.byte_length() + 2 * builder.descriptor(node.results[0]).byte_length();
  if (by_slices) call.cost = std::max(call.cost, SliceLaneTurns(units, rows, coordinates));
  builder.AddCall(std::move(call));
  return {};
}

Status LowerScatterElements(const Node& node, LoweringBuilder& builder) {
  uint32_t axis = std::get<webidl::ScatterAttributes>(node.attributes).axis;
  if (auto call = MakeScatterColumnsCall(node, axis, builder)) {
    builder.AddCall(std::move(*call));
    return {};
  }
  if (auto call = MakeStripsCall(ShaderId::kScatterStrips, node, axis, builder)) {
    builder.AddCall(std::move(*call));
    return {};
  }
  if (auto call = MakeScatterRowsCall(node, axis, builder)) {
    builder.AddUpdate(node.results[0], node.operands[0]);
    builder.AddCall(std::move(*call));
    return {};
  }
  const OperandDescriptor result = builder.descriptor(node.results[0]);
  const OperandDescriptor& updates = builder.descriptor(node.operands[2]);
  std::vector<uint32_t> strides = PackedStrides(result.shape());
  CHECK(axis < strides.size());
  uint32_t axis_stride = strides[axis];
  strides[axis] = 0;
  std::vector<StridedDimension> dimensions = Coalesce(
      MakeDimensions(updates.shape(), std::vector<std::vector<uint32_t>>{std::move(strides)}));
  auto rows = NarrowCast<uint32_t>(updates.element_count());
  SliceUnits units = UnitsOf(result.data_type(), 1);
  LoweredCall prototype;
  prototype.parameters = {0, 0, static_cast<uint32_t>(dimensions.size()), 0};
  AppendDivisor(units.slice, prototype.parameters);
  prototype.parameters.insert(prototype.parameters.end(),
                              {result.shape()[axis], axis_stride, 0, 0});
  AppendDimensions(dimensions, prototype.parameters);
  ASSIGN_OR_RETURN(auto places,
                   OperandDescriptor::Create(OperandDataType::kUint32,
                                             std::span<const uint32_t>(result.shape())));
  builder.AddUpdate(node.results[0], node.operands[0]);
  AddScatterCalls(node, std::move(prototype), units, rows, RankConstant(dimensions), places,
                  builder);
  return {};
}

Status LowerScatterNd(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor result = builder.descriptor(node.results[0]);
  const OperandDescriptor& indices = builder.descriptor(node.operands[1]);
  std::span<const uint32_t> shape = result.shape();
  uint32_t coordinates = indices.shape().back();
  CHECK(coordinates <= shape.size());
  SliceUnits units = UnitsOf(result.data_type(), Product(shape.subspan(coordinates)));
  auto rows = NarrowCast<uint32_t>(indices.element_count() / coordinates);
  LoweredCall prototype;
  prototype.parameters = {0, coordinates, 0, 0};
  AppendDivisor(units.slice, prototype.parameters);
  AppendCoordinates(shape, coordinates, /*unit=*/1, prototype.parameters);
  ASSIGN_OR_RETURN(auto places, OperandDescriptor::Create(OperandDataType::kUint32,
                                                          shape.subspan(0, coordinates)));
  builder.AddUpdate(node.results[0], node.operands[0]);
  AddScatterCalls(node, std::move(prototype), units, rows, /*rank=*/1, places, builder);
  return {};
}

}  // namespace webnnd::service

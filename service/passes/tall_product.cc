#include "service/passes/tall_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "service/graph/row_tiles.h"
#include "service/passes/block_gemv.h"
#include "service/passes/kernel_parameters.h"
#include "service/plan/plan.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

// Rows of a tile, and rows or columns of a panel: ROWS of shaders/table.txt.
constexpr uint32_t kPanelWidth = 32;
// Columns of a tile, at least.
constexpr uint32_t kTileColumns = 4 * kLocalSizeMin;
// Of a tile of shaders/shared_tile.glsl, where an invocation has one four of rows.
constexpr uint32_t kSharedTileRows = 32;
constexpr uint32_t kSharedTileColumns = 64;
// kBlock of shaders/product.glsl.
constexpr uint32_t kBlock = 8;
// Steps up to which the kernel takes four in a turn.
constexpr uint32_t kShallowDepthMax = 256;
// What panels may take beside the operands.
constexpr uint64_t kPanelBytesMax = uint64_t{32} << 20;
// The same of weights by block, which can be unpacked part by part: little enough that graphs keep
// room for their largest sizes (limits::kRoomForAllSizesBytesMax).
constexpr uint64_t kBlockPanelBytesMax = uint64_t{8} << 20;

// What tall_matmul.comp adds (C_...) and how it stores (STORES_...).
enum class Addend : uint32_t { kNone, kElements, kOfRow, kOfColumn };
enum class Store : uint32_t { kOne, kPairs, kFourAlongN, kFourAlongM, kBlocks };

uint32_t PanelDepth(const Product& product) {
  return DivideRoundingUp(product.depth, kBlock) * kBlock;
}
uint32_t PanelElements(const Product& product) { return kPanelWidth * PanelDepth(product); }

// Of a (operand 0) or b (1).
uint32_t WidthOf(const Product& product, size_t operand) {
  return operand == 0 ? product.rows : product.columns;
}

// The dimensions of the batch in which the operand has a matrix for each step.
std::vector<StridedDimension> OwnBatch(const Product& product, size_t operand) {
  std::vector<StridedDimension> own;
  for (const StridedDimension& dimension : product.batch) {
    if (dimension.strides[operand] == 0) continue;
    own.push_back({dimension.size, {dimension.strides[operand]}});
  }
  if (own.empty()) own.emplace_back();
  return own;
}

uint64_t CountPanels(const Product& product, size_t operand) {
  uint64_t panels = DivideRoundingUp(WidthOf(product, operand), kPanelWidth);
  for (const StridedDimension& dimension : OwnBatch(product, operand)) panels *= dimension.size;
  return panels;
}

bool PanelsFit(const Product& product, size_t operand) {
  return CountPanels(product, operand) <= kPanelBytesMax / sizeof(float) / PanelElements(product);
}

bool IsInPanels(ValueId value, const LoweringBuilder& builder) {
  return builder.graph().values[value].panels_of != nullptr;
}

uint64_t CountTiles(const Product& product, uint32_t rows, uint32_t columns) {
  return uint64_t{CountMatrices(product)} * DivideRoundingUp(product.rows, rows) *
         DivideRoundingUp(product.columns, columns);
}
// Where workgroups are smallest.
uint64_t CountTiles(const Product& product) {
  return CountTiles(product, kPanelWidth, kTileColumns);
}

// Whether invocations of GPUs have two fours of rows (shaders/shared_tile.glsl): two spare loads,
// where there are tiles enough to keep a large GPU busy.
constexpr uint64_t kWideTilesMin = 256;
constexpr uint32_t kDividedTilesMax = kWideTilesMin / 2;
bool HasManyTiles(const Product& product) {
  return CountTiles(product, 2 * kSharedTileRows, kSharedTileColumns) >= kWideTilesMin / 4 * 3;
}

// Of which kernels of cores do not loop too long over panels of both operands, or over what comes
// in turns: there a tile's columns, where vectors are shortest, are eight times four, of which each
// step takes an eighth of a turn to be brought and four for the groups of rows.
constexpr uint32_t kDepthOfPanelsMax = 16384;
constexpr uint32_t kTurnsPerStepMax = 6;
constexpr uint32_t kDepthOfTurnsMax = kInvocationIterationsMax / kTurnsPerStepMax;

// Packing an element costs about as much as 25 multiply-adds; single ones load several times slower
// than packed ones. Others come in turns on llvmpipe (TakesTurns), again for each panel of rows,
// which costs float16 less. GPUs load what lies in fours as it is, but for many tiles, which would
// turn it over time and again.
bool PacksB(const Product& product, const LoweringBuilder& builder) {
  constexpr uint32_t kRowsMin = 96;
  constexpr uint32_t kRowsMinOfHalves = 224;
  constexpr uint32_t kRowsMinByOne = 64;
  if (product.image || !PanelsFit(product, 1)) return false;
  if (!builder.wide() && product.depth > kDepthOfPanelsMax) return false;
  const LoadPattern loads = ChooseLoadOfB(product);
  if (loads == LoadPattern::kOne) return product.rows >= kRowsMinByOne;
  if (builder.wide()) return loads == LoadPattern::kFourAlongK && HasManyTiles(product);
  const bool turns_halves = loads == LoadPattern::kFourAlongK &&
                            builder.descriptor(product.b).data_type() == OperandDataType::kFloat16;
  return product.rows >= (turns_halves ? kRowsMinOfHalves : kRowsMin);
}

// How a loads, of what is not in panels yet: GPUs load four steps of a row at a time as they lie.
LoadPattern LoadsOfA(const Product& product, const LoweringBuilder& builder) {
  const bool as_it_is =
      builder.wide() && !IsInPanels(product.a, builder) && !HasManyTiles(product) &&
      builder.descriptor(product.a).data_type() == builder.descriptor(product.result).data_type() &&
      ChooseLoadOfA(product) == LoadPattern::kFourAlongK;
  return as_it_is ? LoadPattern::kFourAlongK : LoadPattern::kPanels;
}

// Distances in the panels take the place of those in the operand.
void SetPanelStrides(Product& product, size_t operand) {
  uint32_t stride =
      PanelElements(product) * DivideRoundingUp(WidthOf(product, operand), kPanelWidth);
  for (size_t d = product.batch.size(); d-- > 0;) {
    if (product.batch[d].strides[operand] == 0) continue;
    product.batch[d].strides[operand] = stride;
    stride *= product.batch[d].size;
  }
}

// The product's operand becomes panels, unless it is.
Status Pack(Product& product, size_t operand, LoweringBuilder& builder) {
  ValueId& matrix = operand == 0 ? product.a : product.b;
  if (!IsInPanels(matrix, builder)) {
    ASSIGN_OR_RETURN(matrix, AddPanels(product, operand, builder));
  }
  SetPanelStrides(product, operand);
  return {};
}

// How shaders/shared_tile.glsl divides a product.
struct SharedTiling {
  uint32_t fours_of_rows = 2;  // Of an invocation.
  uint32_t parts = 1;          // Of the steps, where there are too few tiles.
  uint32_t steps = 0;          // Of a part.
  uint64_t tiles = 0;          // Of all parts.
};

SharedTiling ChooseTiling(const Product& product) {
  constexpr uint32_t kStepsAtOnce = 32;  // kSteps of shared_tile.glsl.
  constexpr uint32_t kPartsMax = 16;
  SharedTiling tiling{.steps = product.depth};
  const uint32_t rows = DivideRoundingUp(product.rows, kSharedTileRows);
  const uint32_t rows_by_two = 2 * DivideRoundingUp(product.rows, 2 * kSharedTileRows);
  const bool has_many = HasManyTiles(product);
  // What tiles of two fours of rows spare, they lose where many of their rows are none.
  if (!has_many && 8 * rows_by_two > 9 * rows) tiling.fours_of_rows = 1;
  tiling.tiles = CountTiles(product, tiling.fours_of_rows * kSharedTileRows, kSharedTileColumns);
  // A few tiles less are as good.
  if (has_many || tiling.tiles > kDividedTilesMax) return tiling;
  const uint32_t blocks = DivideRoundingUp(product.depth, kStepsAtOnce);
  const auto wanted = NarrowCast<uint32_t>(DivideRoundingUp<uint64_t>(kWideTilesMin, tiling.tiles));
  // Each part has two loads to hide.
  const uint32_t parts = std::min({wanted, blocks / 2, kPartsMax});
  if (parts <= 1) return tiling;
  tiling.steps = DivideRoundingUp(blocks, parts) * kStepsAtOnce;
  tiling.parts = DivideRoundingUp(product.depth, tiling.steps);
  tiling.tiles *= tiling.parts;
  return tiling;
}

Addend ChooseAddend(const Product& product) {
  if (product.c == kNoValue) return Addend::kNone;
  if (product.c_strides.column == 0) return Addend::kOfRow;
  return product.c_strides.row == 0 ? Addend::kOfColumn : Addend::kElements;
}

Store ChooseStore(const Product& product, OperandDataType type) {
  if (product.block_width != 0) return Store::kBlocks;
  const MatrixStrides& strides = product.result_strides;
  bool by_four = true;
  for (const StridedDimension& dimension : product.batch) {
    by_four = by_four && dimension.strides[3] % 4 == 0;
  }
  if (by_four && strides.column == 1 && strides.row % 4 == 0 && product.columns % 4 == 0) {
    return Store::kFourAlongN;
  }
  if (by_four && strides.row == 1 && strides.column % 4 == 0 && product.rows % 4 == 0) {
    return Store::kFourAlongM;
  }
  return StoresPairs(product, type) ? Store::kPairs : Store::kOne;
}

ShaderId ChooseKernel(const Product& product) {
  const bool shallow = product.depth <= kShallowDepthMax;
  if (product.image) return shallow ? ShaderId::kConv2dShallowTile : ShaderId::kConv2dTallTile;
  return shallow ? ShaderId::kMatmulShallowTile : ShaderId::kMatmulTallTile;
}

// Columns of tiles in a group: as many as cores may keep b of, where they cannot keep a.
uint32_t GroupColumns(const Product& product) {
  constexpr uint64_t kKeptBytesMax = uint64_t{512} << 10;
  const uint64_t across = DivideRoundingUp(product.columns, kTileColumns);
  const uint64_t row_bytes = PanelDepth(product) * sizeof(float);
  if (product.rows * row_bytes <= kKeptBytesMax) return 1;
  return NarrowCast<uint32_t>(
      std::clamp<uint64_t>(kKeptBytesMax / (kTileColumns * row_bytes), 1, across));
}

// Of b, where it is unpacked part by part so that its panels fit: 0 where no part does.
uint32_t ColumnsOfPart(const Product& product) {
  const uint64_t fit = kBlockPanelBytesMax / sizeof(float) / PanelDepth(product);
  return NarrowCast<uint32_t>(
      std::min<uint64_t>(product.columns, fit / kBufferAlignment * kBufferAlignment));
}

// Where an operand's panels go.
Result<ValueId> AddRoomForPanels(const Product& product, size_t operand, LoweringBuilder& builder) {
  const auto panels = NarrowCast<uint32_t>(CountPanels(product, operand));
  const uint32_t shape[] = {panels, PanelElements(product)};
  ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
  return builder.AddTemporary(std::move(descriptor));
}

// GPUs take no step more than there are: a may have none where b has zeros.
uint32_t StepsOf(const Product& product, LoadPattern b_loads, const LoweringBuilder& builder) {
  return b_loads == LoadPattern::kPanels && !builder.wide() ? PanelDepth(product) : product.depth;
}

// Of a turn of shaders/lane_columns.glsl: none are left behind the last turn but those of a rest.
uint32_t StepsOfTurn(uint32_t steps) {
  constexpr uint32_t kMany = 2 * kBlock;
  return steps % kMany == 0 ? kMany : kBlock;
}

// a, where it does not load as it is, and b where it loads so, are panels.
LoweredCall MakeTallCall(const Product& product, LoadPattern a_loads, LoadPattern b_loads,
                         const LoweringBuilder& builder) {
  const OperandDataType type = builder.descriptor(product.result).data_type();
  const bool has_rest = b_loads != LoadPattern::kPanels && product.depth % kBlock != 0;
  const bool has_residual = product.residual != kNoValue;
  const uint64_t first_byte = uint64_t{product.first_column} * webidl::BitsPerElement(type) / 8;
  const uint64_t first_byte_of_c = product.c_strides.column != 0 ? first_byte : 0;
  LoweredCall call;
  call.shader = ChooseKernel(product);
  call.specialization = {static_cast<uint32_t>(builder.descriptor(product.b).data_type()),
                         static_cast<uint32_t>(type),
                         static_cast<uint32_t>(b_loads),
                         static_cast<uint32_t>(ChooseAddend(product)),
                         static_cast<uint32_t>(ChooseStore(product, type)),
                         product.image && product.image->channels_last,
                         has_rest,
                         has_residual,
                         ActivationConstant(product.activation)};
  call.buffers = {{product.a, false}, {product.b, false}, {product.result, true, first_byte}};
  // The module declares all slots, so something must be bound there.
  call.buffers.push_back(product.c != kNoValue ? LoweredBuffer{product.c, false, first_byte_of_c}
                                               : LoweredBuffer{product.a, false});
  call.buffers.push_back(has_residual ? LoweredBuffer{product.residual, false, first_byte}
                                      : LoweredBuffer{product.a, false});
  call.parameters = {
      CountMatrices(product),
      product.rows,
      product.columns,
      StepsOf(product, b_loads, builder),
      a_loads == LoadPattern::kFourAlongK ? product.a_strides.row : PanelElements(product),
      PanelElements(product),
      b_loads == LoadPattern::kPanels ? kPanelWidth : product.b_strides.row,
      product.b_strides.column,
      product.c_strides.row,
      product.c_strides.column,
      FloatBits(product.alpha),
      FloatBits(product.beta),
      static_cast<uint32_t>(product.batch.size()),
      product.result_strides.row,
      product.result_strides.column,
      GroupColumns(product)};
  AppendDimensions(product.batch, call.parameters);
  if (product.image) AppendImage(*product.image, call.parameters);
  if (product.block_width != 0) {
    constexpr size_t kWidthOfBlocks = 24;  // Of tall_matmul.comp, in uvec4.
    call.parameters.resize(4 * kWidthOfBlocks);
    AppendDivisor(product.block_width, call.parameters);
  }
  AppendActivation(product.activation, call.parameters);
  call.workgroups = CountTiles(product);
  call.cost = CountMultiplyAdds(product);
  // At least; more would keep fewer workgroups than balance the load.
  call.cost_per_turn = 8;
  return call;
}

// Has `call` divide its tiles.
Status Divide(const SharedTiling& tiling, LoweringBuilder& builder, LoweredCall& call) {
  constexpr size_t kPartsWord = 164;  // Of shaders/shared_tile.glsl.
  const auto tiles = NarrowCast<uint32_t>(tiling.tiles / tiling.parts);
  const uint32_t sums = tiling.fours_of_rows * kSharedTileRows * kSharedTileColumns;
  const uint32_t shape[] = {tiles, tiling.parts, sums};
  ASSIGN_OR_RETURN(auto parts, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
  // Of any number, so that plans of other sizes are alike.
  ASSIGN_OR_RETURN(const ValueId counters, builder.AddCounters(kDividedTilesMax));
  call.buffers.push_back({builder.AddTemporary(std::move(parts)), true});
  call.buffers.push_back({counters, true});
  CHECK(call.parameters.size() <= kPartsWord);
  call.parameters.resize(kPartsWord);
  call.parameters.insert(call.parameters.end(), {tiling.parts, tiling.steps});
  return {};
}

// As MakeTallCall's operands are.
Status AddTallCalls(const Product& product, LoadPattern a_loads, LoadPattern b_loads,
                    LoweringBuilder& builder) {
  if (!builder.wide()) {
    LoweredCall call = MakeTallCall(product, a_loads, b_loads, builder);
    call.specialization.push_back(StepsOfTurn(StepsOf(product, b_loads, builder)));
    builder.AddCall(std::move(call));
    return {};
  }
  const SharedTiling tiling = ChooseTiling(product);
  const bool is_divided = tiling.parts > 1;
  LoweredCall call = MakeTallCall(product, a_loads, b_loads, builder);
  call.specialization.insert(call.specialization.end(),
                             {tiling.fours_of_rows, is_divided, static_cast<uint32_t>(a_loads)});
  call.workgroups = tiling.tiles;
  if (is_divided) TRY(Divide(tiling, builder, call));
  builder.AddCall(std::move(call));
  return {};
}

// The panels of the part's columns of `product`, by shaders/block_panels.comp.
Result<ValueId> AddBlockPanels(const Product& product, const Product& part, ValueId scale,
                               ValueId zero_point, LoweringBuilder& builder) {
  constexpr uint32_t kWeightsPerWord = 8;
  ASSIGN_OR_RETURN(const ValueId panels, AddRoomForPanels(part, 1, builder));
  const webidl::OperandDescriptor& weights = builder.descriptor(product.b);
  const uint32_t words = product.depth / kWeightsPerWord;
  const uint32_t units = DivideRoundingUp(part.columns, kPanelWidth) * words * (kPanelWidth / 4);
  LoweredCall call;
  call.shader = ShaderId::kBlockPanels;
  call.specialization = {static_cast<uint32_t>(builder.descriptor(scale).data_type()),
                         static_cast<uint32_t>(weights.data_type()),
                         HasScalesByTiles(builder.descriptor(scale)),
                         builder.tiled_loads(product.b) != 0};
  call.buffers = {{product.b, false}, {scale, false}, {zero_point, false}, {panels, true}};
  call.parameters = {units, product.columns, weights.shape()[1],
                     static_cast<uint32_t>(std::countr_zero(weights.shape()[2] / kWeightsPerWord))};
  AppendDivisor(words, call.parameters, part.first_column / kPanelWidth);
  call.invocations = units;
  call.cost = uint64_t{part.columns} * product.depth;
  builder.AddCall(std::move(call));
  return panels;
}

// Whether a kernel unpacks some weights by block after the other and multiplies them while they are
// in a cache: where few panels of rows would each unpack all of them.
bool UnpacksInTurns(const Product& product, ValueId scale, const LoweringBuilder& builder) {
  constexpr uint32_t kRowsMax = 96;
  constexpr uint64_t kMultiplyAddsMin = uint64_t{1} << 20;
  return !builder.wide() && product.rows <= kRowsMax && product.depth <= kDepthOfTurnsMax &&
         PanelsFit(product, 0) && CountMultiplyAdds(product) >= kMultiplyAddsMin &&
         HasScalesByTiles(builder.descriptor(scale)) && builder.tiled_loads(product.b) != 0;
}

// b comes in turns, by the kernel `shader`, which reads `turns` of it (kTurnsWord of
// tall_matmul.comp).
Result<LoweredCall> MakeCallInTurns(const Product& product, LoadPattern b_loads, ShaderId shader,
                                    const std::array<uint32_t, 4>& turns,
                                    LoweringBuilder& builder) {
  constexpr size_t kTurnsWord = 24;  // Of tall_matmul.comp, in uvec4.
  Product packed = product;
  TRY(Pack(packed, 0, builder));
  LoweredCall call = MakeTallCall(packed, LoadPattern::kPanels, b_loads, builder);
  call.shader = shader;
  constexpr size_t kDepth = 3;
  call.parameters.at(kDepth) = PanelDepth(product);
  call.specialization.push_back(StepsOfTurn(PanelDepth(product)));
  call.parameters.resize(std::max(call.parameters.size(), 4 * kTurnsWord + turns.size()));
  std::copy(turns.begin(), turns.end(), call.parameters.begin() + 4 * kTurnsWord);
  // Each workgroup has memory: no more of them than threads that there may be, but so many that an
  // invocation does not loop too long.
  constexpr uint64_t kWorkgroupsMin = 64;
  const uint64_t iterations = CountTiles(product) * PanelDepth(product) * kTurnsPerStepMax;
  call.workgroups = std::min(
      call.workgroups,
      std::max(kWorkgroupsMin, DivideRoundingUp<uint64_t>(iterations, kInvocationIterationsMax)));
  return call;
}

Status AddMemoryForTurns(LoweredCall& call, LoweringBuilder& builder) {
  constexpr uint32_t kStepsOfBlock = 128;  // Of lane_columns.glsl.
  const uint32_t shape[] = {NarrowCast<uint32_t>(call.workgroups), kStepsOfBlock * kPanelWidth};
  ASSIGN_OR_RETURN(auto memory, OperandDescriptor::Create(OperandDataType::kFloat32, shape));
  call.buffers.push_back({builder.AddTemporary(std::move(memory)), true});
  return {};
}

Status AddBlockTallCall(const Product& product, ValueId scale, ValueId zero_point,
                        LoweringBuilder& builder) {
  const webidl::OperandDescriptor& weights = builder.descriptor(product.b);
  const uint32_t blocks = weights.shape()[1];
  const uint32_t loads_of_block = weights.shape()[2] / kWeightsPerLoad;
  ASSIGN_OR_RETURN(LoweredCall call,
                   MakeCallInTurns(product, LoadPattern::kPanels, ShaderId::kBlockTallTile,
                                   {blocks, static_cast<uint32_t>(std::countr_zero(loads_of_block)),
                                    blocks * loads_of_block, 0},
                                   builder));
  call.specialization.push_back(static_cast<uint32_t>(builder.descriptor(scale).data_type()));
  call.buffers.push_back({scale, false});
  call.buffers.push_back({zero_point, false});
  TRY(AddMemoryForTurns(call, builder));
  builder.AddCall(std::move(call));
  return {};
}

Status AddTurnTallCall(const Product& product, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(LoweredCall call,
                   MakeCallInTurns(product, ChooseLoadOfB(product), ShaderId::kTurnTallTile,
                                   {product.depth, 0, 0, 0}, builder));
  constexpr size_t kHasRest = 6;
  constexpr uint32_t kStepsOfSquareMax = 32;
  call.specialization.at(kHasRest) = product.depth % kStepsOfSquareMax != 0;
  // Of scale and zero point, which b has not.
  call.buffers.push_back({product.b, false});
  call.buffers.push_back({product.b, false});
  TRY(AddMemoryForTurns(call, builder));
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace

bool TakesTurns(const Product& product, const LoweringBuilder& builder) {
  // Smaller matrices would not be worth a tile of 32 rows, nor loops that there are for each.
  constexpr uint32_t kColumnsMin = 64;
  constexpr uint32_t kDepthMin = 32;
  constexpr uint64_t kMultiplyAddsMin = uint64_t{1} << 20;
  constexpr uint64_t kTilesMin = 8;
  if (builder.wide() || product.image || product.block_width != 0 || product.rows == 1 ||
      product.columns < kColumnsMin || product.depth < kDepthMin ||
      product.depth > kDepthOfTurnsMax || IsInPanels(product.b, builder) ||
      PacksB(product, builder)) {
    return false;
  }
  return ChooseLoadOfB(product) != LoadPattern::kOne && PanelsFit(product, 0) &&
         CountMultiplyAdds(product) >= kMultiplyAddsMin && CountTiles(product) >= kTilesMin;
}

bool IsTall(const Product& product, bool wide) {
  constexpr uint64_t kMultiplyAddsMin = uint64_t{1} << 20;
  constexpr uint64_t kMultiplyAddsMinOfWide = uint64_t{1} << 20;
  constexpr uint32_t kRowsMin = 8;
  constexpr uint64_t kTilesMin = 8;
  if (IsColumn(product) || !PanelsFit(product, 0)) return false;
  // Tiles that are not full cost them less than all of the steps one after the other.
  if (wide) return product.rows > 1 && CountMultiplyAdds(product) >= kMultiplyAddsMinOfWide;
  return CountMultiplyAdds(product) >= kMultiplyAddsMin && product.rows >= kRowsMin &&
         CountTiles(product) >= kTilesMin;
}

bool CanTakePanels(const Product& product, size_t operand, bool wide) {
  return IsTall(product, wide) && !(operand == 1 && product.image) && PanelsFit(product, operand);
}

uint64_t PanelBytes(const Product& product, size_t operand) {
  return CountPanels(product, operand) * PanelElements(product) * sizeof(float);
}

// By shaders/pack_panels.comp.
Result<ValueId> AddPanels(const Product& product, size_t operand, LoweringBuilder& builder) {
  const ValueId matrix = operand == 0 ? product.a : product.b;
  const std::vector<StridedDimension> batch = OwnBatch(product, operand);
  const auto panels = NarrowCast<uint32_t>(CountPanels(product, operand));
  ASSIGN_OR_RETURN(const ValueId packed, AddRoomForPanels(product, operand, builder));

  LoweredCall call;
  call.shader = ShaderId::kPackPanels;
  const MatrixStrides& strides = operand == 0 ? product.a_strides : product.b_strides;
  const uint32_t along_width = operand == 0 ? strides.row : strides.column;
  const uint32_t along_depth = operand == 0 ? strides.column : strides.row;
  call.specialization = {
      static_cast<uint32_t>(builder.descriptor(matrix).data_type()),
      static_cast<uint32_t>(operand == 0 ? ChooseLoadOfA(product) : ChooseLoadOfB(product)),
      along_width < along_depth};
  call.buffers = {{matrix, false}, {packed, true}};
  const uint32_t blocks = PanelDepth(product) / kBlock;
  const uint32_t units = panels * blocks * (kPanelWidth / 4);
  call.parameters = {units,
                     WidthOf(product, operand),
                     product.depth,
                     along_width,
                     along_depth,
                     static_cast<uint32_t>(batch.size()),
                     0,
                     0};
  for (uint32_t divisor : {blocks, DivideRoundingUp(WidthOf(product, operand), kPanelWidth)}) {
    AppendDivisor(divisor, call.parameters);
  }
  AppendDimensions(batch, call.parameters);
  call.invocations = units;
  call.cost = uint64_t{panels} * PanelElements(product);
  builder.AddCall(std::move(call));
  return packed;
}

bool UnpacksBlocks(const Product& product, ValueId scale, const LoweringBuilder& builder) {
  const uint32_t few = FewRowsMax(builder.wide());
  if (!IsBlockGemvWeight(builder.descriptor(product.b)) || product.rows <= few) return false;
  if (UnpacksInTurns(product, scale, builder)) return true;
  const bool is_short = builder.wide() || product.depth <= kDepthOfPanelsMax;
  return is_short && IsTall(product) && ColumnsOfPart(product) > 0;
}

Status AddBlockProduct(const Product& product, ValueId scale, ValueId zero_point,
                       LoweringBuilder& builder) {
  if (UnpacksInTurns(product, scale, builder)) {
    return AddBlockTallCall(product, scale, zero_point, builder);
  }
  Product part = product;
  const LoadPattern a_loads = LoadsOfA(product, builder);
  if (a_loads == LoadPattern::kPanels) TRY(Pack(part, 0, builder));
  while (part.first_column < product.columns) {
    part.columns = std::min(ColumnsOfPart(product), product.columns - part.first_column);
    ASSIGN_OR_RETURN(part.b, AddBlockPanels(product, part, scale, zero_point, builder));
    TRY(AddTallCalls(part, a_loads, LoadPattern::kPanels, builder));
    part.first_column += part.columns;
  }
  return {};
}

Status AddTallProductCalls(const Product& product, LoweringBuilder& builder) {
  if (TakesTurns(product, builder)) return AddTurnTallCall(product, builder);
  Product packed = product;
  LoadPattern b_loads = ChooseLoadOfB(product);
  const LoadPattern a_loads = LoadsOfA(product, builder);
  if (a_loads == LoadPattern::kPanels) TRY(Pack(packed, 0, builder));
  if (IsInPanels(product.b, builder) || PacksB(product, builder)) {
    TRY(Pack(packed, 1, builder));
    b_loads = LoadPattern::kPanels;
  }
  return AddTallCalls(packed, a_loads, b_loads, builder);
}

}  // namespace webnnd::service

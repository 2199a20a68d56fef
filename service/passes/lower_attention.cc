#include "service/passes/lower_attention.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

// Elements that kernels move at once.
constexpr uint32_t kFour = 4;
// Invocations that share a tile of lines (kTeam of shaders/attention.comp).
uint32_t TeamOf(const DeviceTraits& device) { return device.narrow ? 4 : 8; }
// Vectors of four elements that an invocation holds of all lines of a tile: 16 make a prompt of
// 2000 tokens 2 % faster, and take llvmpipe 0.3 s more to compile. Where there is one row, more is
// worth it: keys are then read once for all heads that share them.
constexpr uint32_t kFoursPerTileMax = 8;
constexpr uint32_t kFoursPerTileOfOneRowMax = 16;
constexpr uint32_t kLinesPerTileMax = 8;
// One row of queries against a longer cache is divided: otherwise there are no more workgroups than
// heads of keys, and threads wait for the last of them. Combining costs a call.
constexpr uint32_t kUndividedKeysMax = 512;
constexpr uint32_t kSplits = 8;
constexpr uint32_t kKeysPerSplitMax = 24000;  // For none to loop too long.
// On wide devices: keys that give each team of a workgroup a block (kKeysPerSplitMin of
// shaders/attention.glsl); and tiles for more of which teams need not share them.
constexpr uint32_t kKeysPerSplitOfWide = 128;
constexpr uint32_t kSplitsOfWideMax = 32;
constexpr uint32_t kSharedTilesMax = 4096;

bool IsHalf(const OperandDescriptor& descriptor) {
  return descriptor.data_type() == OperandDataType::kFloat16;
}

uint32_t FoursPerRow(const OperandDescriptor& rows, uint32_t count) {
  return NarrowCast<uint32_t>(rows.element_count() / count / kFour);
}

// cos, sin and positions of a macro operator, and the constants and parameters of
// shaders/rotation.glsl.
struct LoweredRotation {
  ValueId cos;
  ValueId sin;
  ValueId positions;
  std::vector<uint32_t> constants;
  uint32_t table_rows = 0;
};

// From operand `first` of the node on. The module declares all slots, so something must be bound
// where there is nothing: `stand_in`.
LoweredRotation LowerRotation(const HeadRotation& rotation, const Node& node, size_t first,
                              ValueId stand_in, const LoweringBuilder& builder) {
  if (rotation.rotary_size == 0) return {stand_in, stand_in, stand_in, {0, 0, 0, 0, 0}};
  LoweredRotation lowered{
      node.operands[first], node.operands[first + 1], node.operands[first + 2], {}};
  const bool has_positions = lowered.positions != kNoValue;
  const auto type =
      has_positions ? builder.descriptor(lowered.positions).data_type() : OperandDataType::kInt32;
  lowered.constants = {static_cast<uint32_t>(type), 1, has_positions, rotation.consecutive,
                       rotation.interleaved};
  lowered.table_rows = NarrowCast<uint32_t>(builder.descriptor(lowered.cos).element_count() /
                                            (rotation.rotary_size / 2));
  if (!has_positions) lowered.positions = stand_in;
  return lowered;
}

// How the lines of attention (queries: heads of all rows) are divided into tiles, and keys into
// splits.
struct Tiling {
  uint32_t lines = 0;  // For each head of keys.
  uint32_t lines_per_tile = 0;
  uint32_t splits = 1;
  bool teams_share = false;
  uint32_t loads = 0;  // 128 bits each, of a head.
  uint32_t loads_per_invocation = 0;
  uint32_t fours_per_invocation = 0;
};

Tiling MakeTiling(const Attention& macro, uint32_t rows, uint32_t keys, bool is_half,
                  const DeviceTraits& device) {
  Tiling tiling;
  const uint32_t fours_per_load = is_half ? 2 : 1;
  tiling.lines = rows * macro.group;
  tiling.loads = macro.head_size / (kFour * fours_per_load);
  tiling.loads_per_invocation = DivideRoundingUp(tiling.loads, TeamOf(device));
  tiling.fours_per_invocation = tiling.loads_per_invocation * fours_per_load;
  const uint32_t fours_max = rows == 1 ? kFoursPerTileOfOneRowMax : kFoursPerTileMax;
  const uint32_t lines_max =
      std::clamp(fours_max / tiling.fours_per_invocation, 1u, kLinesPerTileMax);
  // As even as they get.
  const uint32_t tiles = DivideRoundingUp(tiling.lines, lines_max);
  tiling.lines_per_tile = DivideRoundingUp(tiling.lines, tiles);
  if (rows == 1 && keys > kUndividedKeysMax) {
    tiling.splits = device.wide ? std::min(keys / kKeysPerSplitOfWide, kSplitsOfWideMax)
                                : std::max(kSplits, DivideRoundingUp(keys, kKeysPerSplitMax));
  }
  tiling.teams_share = device.wide && uint64_t{macro.key_value_heads} * tiles <= kSharedTilesMax;
  return tiling;
}

}  // namespace

Status Lower(const Attention& macro, const Node& node, LoweringBuilder& builder) {
  const ValueId queries = node.operands[0];
  const ValueId keys = node.operands[1];
  const ValueId start = node.operands[3];
  // A copy: descriptors of the graph move when a temporary is added.
  const OperandDescriptor result = builder.descriptor(node.results[0]);
  const bool is_half = IsHalf(result);
  const auto type = static_cast<uint32_t>(result.data_type());
  const auto rows = NarrowCast<uint32_t>(result.element_count() /
                                         (uint64_t{macro.query_heads()} * macro.head_size));
  const auto capacity = NarrowCast<uint32_t>(builder.descriptor(keys).element_count() /
                                             (uint64_t{macro.key_value_heads} * macro.head_size));
  const uint32_t key_count = macro.keys != 0 ? macro.keys : capacity;
  const Tiling tiling = MakeTiling(macro, rows, key_count, is_half, builder.device());
  const bool is_divided = tiling.splits > 1;
  const uint32_t window = macro.window != 0 ? macro.window : std::numeric_limits<int32_t>::max();
  const auto reach = static_cast<uint32_t>(macro.reach);
  const auto beyond = static_cast<uint32_t>(macro.beyond);
  const LoweredRotation rotation = LowerRotation(macro.rotation, node, 4, queries, builder);
  const uint32_t lines = rows * macro.query_heads();

  ValueId parts = kNoValue;
  if (is_divided) {
    const uint32_t shape[] = {tiling.splits, lines, macro.head_size + kFour};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32,
                                                                std::span<const uint32_t>(shape)));
    parts = builder.AddTemporary(descriptor);
  }

  LoweredCall call;
  call.shader = ShaderId::kAttention;
  call.specialization = {type,
                         start != kNoValue,
                         tiling.lines_per_tile,
                         tiling.loads_per_invocation,
                         tiling.fours_per_invocation,
                         macro.nothing_is_nan,
                         is_divided};
  call.specialization.insert(call.specialization.end(), rotation.constants.begin(),
                             rotation.constants.end());
  call.buffers = {{queries, false},
                  {keys, false},
                  {node.operands[2], false},
                  {start != kNoValue ? start : queries, false},
                  {rotation.cos, false},
                  {rotation.sin, false},
                  {rotation.positions, false},
                  {is_divided ? parts : node.results[0], true}};
  call.parameters = {tiling.lines, macro.key_value_heads, key_count, tiling.loads};
  AppendDivisor(macro.group, call.parameters);
  call.parameters.back() = tiling.splits;
  call.parameters.insert(
      call.parameters.end(),
      {FoursPerRow(builder.descriptor(queries), rows), macro.query_offset / kFour,
       FloatBits(macro.scale), reach, window, macro.rotation.rotary_size, rotation.table_rows,
       capacity, beyond, macro.rows_wrap ? ~0U : 0, 0, 0});
  const uint64_t tiles = uint64_t{macro.key_value_heads} *
                         DivideRoundingUp(tiling.lines, tiling.lines_per_tile) * tiling.splits;
  if (tiling.teams_share) {
    call.specialization.push_back(1);
    call.workgroups = tiles;
  } else {
    call.invocations = TeamOf(builder.device()) * tiles;
  }
  call.cost = 2 * uint64_t{lines} * key_count * macro.head_size;
  builder.AddCall(std::move(call));
  if (!is_divided) return {};

  LoweredCall combine;
  combine.shader = ShaderId::kAttentionCombine;
  combine.specialization = {type, start != kNoValue};
  combine.buffers = {
      {parts, false}, {start != kNoValue ? start : parts, false}, {node.results[0], true}};
  combine.parameters = {NarrowCast<uint32_t>(result.element_count() / kFour), tiling.splits, lines,
                        key_count};
  AppendDivisor(macro.head_size / kFour, combine.parameters);
  combine.parameters.back() = reach;
  combine.parameters.insert(combine.parameters.end(), {window, beyond, 0, 0});
  combine.invocations = result.element_count() / kFour;
  combine.cost = result.element_count() * tiling.splits;
  builder.AddCall(std::move(combine));
  return {};
}

Status Lower(const KeyValueWrite& macro, const Node& node, LoweringBuilder& builder) {
  const ValueId keys = node.operands[0];
  const ValueId values = node.operands[1];
  const ValueId start = node.operands[4];
  const OperandDescriptor& cache = builder.descriptor(node.results[0]);
  const auto capacity = NarrowCast<uint32_t>(cache.element_count() /
                                             (uint64_t{macro.key_value_heads} * macro.head_size));
  const LoweredRotation rotation = LowerRotation(macro.rotation, node, 5, keys, builder);
  const uint32_t fours_per_head = macro.head_size / kFour;
  builder.AddUpdate(node.results[0], node.operands[2]);
  builder.AddUpdate(node.results[1], node.operands[3]);
  LoweredCall call;
  call.shader = ShaderId::kKeyValueWrite;
  call.specialization = {static_cast<uint32_t>(cache.data_type()), start != kNoValue};
  call.specialization.insert(call.specialization.end(), rotation.constants.begin(),
                             rotation.constants.end());
  call.buffers = {{keys, false},
                  {values, false},
                  {node.results[0], true},
                  {start != kNoValue ? start : keys, false},
                  {rotation.cos, false},
                  {rotation.sin, false},
                  {rotation.positions, false},
                  {node.results[1], true}};
  const uint32_t fours = macro.rows * macro.key_value_heads * fours_per_head;
  call.parameters = {fours, capacity, static_cast<uint32_t>(macro.offset), macro.rows};
  AppendDivisor(fours_per_head, call.parameters);
  AppendDivisor(macro.key_value_heads, call.parameters);
  call.parameters.insert(
      call.parameters.end(),
      {FoursPerRow(builder.descriptor(keys), macro.rows), macro.key_offset / kFour,
       FoursPerRow(builder.descriptor(values), macro.rows), macro.value_offset / kFour,
       macro.rotation.rotary_size, rotation.table_rows, macro.wraps, 0});
  call.invocations = fours;
  call.cost = uint64_t{4} * kFour * fours;
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

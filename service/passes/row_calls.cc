#include "service/passes/row_calls.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/limits.h"

namespace webnnd::service {

using shaders::ShaderId;
using webidl::OperandDataType;

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

bool SharesRow(uint64_t length, uint64_t rows, uint64_t stride, bool wide, uint64_t alone_max) {
  constexpr uint64_t kLengthMin = 32;
  return length >= kLengthMin &&
         (stride == 1 || rows < InterleavedRowsMin(length, wide, alone_max));
}

void SetRows(LoweredCall& call, uint64_t rows, bool shares_row) {
  (shares_row ? call.workgroups : call.invocations) = rows;
}

bool TakesFoursOfRows(const AxisView& view) {
  return view.inner % 4 == 0 && view.axis <= kInvocationIterationsMax;
}

uint32_t CountRowVectors(const AxisView& view, bool wide) {
  constexpr uint32_t kLengthMin = 10;
  constexpr uint32_t kLengthMax = 256;
  constexpr uint32_t kLanesMax = 16;
  const bool is_held = kLengthMin <= view.axis && view.axis <= kLengthMax;
  return !wide && view.inner == 1 && is_held ? DivideRoundingUp(view.axis, kLanesMax) : 0;
}

HeldVectors HeldVectors::Choose(uint32_t count, bool has_other_sizes) {
  constexpr uint32_t kMost = 16;
  if (count == 0) return {};
  if (!has_other_sizes) return {count, count - 1};
  return {kMost, 0};
}

bool LiesInFours(const AxisView& view) {
  return view.inner == 1 && view.axis % 4 == 0 && view.axis / 4 <= kInvocationIterationsMax;
}

FoursOfRows FoursOfRows::Choose(uint32_t inner, uint64_t rows, bool wide) {
  constexpr uint32_t kFours = 4;
  constexpr uint32_t kRowsMin = 1024;
  if (wide || inner % (4 * kFours) != 0 || rows < kRowsMin) return {};
  return {kFours, inner % (4 * kFours * kLocalSizeMin) == 0 ? kLocalSizeMin : 1};
}

RowTiles RowTiles::Choose(const AxisView& view, uint32_t stretch_min) {
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

std::vector<uint32_t> RowTiles::Parameters(const AxisView& view) const {
  std::vector<uint32_t> parameters = {count, view.axis, stretch, view.rows};
  AppendDivisor(across, parameters, fours);
  AppendDivisor(along, parameters);
  return parameters;
}

bool TakesRowTiles(const AxisView& view, bool wide) {
  constexpr uint32_t kAxisMin = 32;
  constexpr uint32_t kRowsMax = 1 << 18;
  return wide && view.inner > 1 && view.inner % 4 == 0 && view.axis >= kAxisMin &&
         view.rows < kRowsMax;
}

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

Status CheckLoops(const AxisView& view, bool shares_row, uint32_t passes, bool narrow) {
  uint64_t at_once = uint64_t{kLongLoopUnroll} * (shares_row ? LocalSizeMin(narrow) : 1);
  if (passes * DivideRoundingUp<uint64_t>(view.axis, at_once) > kInvocationIterationsMax) {
    return NotSupportedError("the axis ({}) is longer than a kernel loops over", view.axis);
  }
  return {};
}

uint32_t VectorsOfTurn(uint32_t words, const LoweringBuilder& builder) {
  constexpr uint32_t kVectorsOfAnySize = 4;
  constexpr uint32_t kVectorsMax = 5;
  constexpr uint32_t kLanesMax = 16;
  if (builder.has_other_sizes()) return kVectorsOfAnySize;
  // A turn takes as long as one more.
  const auto time = [&](uint32_t vectors) {
    return uint64_t{DivideRoundingUp(words, vectors * kLanesMax)} * (vectors + 1);
  };
  uint32_t best = kVectorsMax;
  for (uint32_t vectors = kVectorsMax - 1; vectors > 0; --vectors) {
    if (time(vectors) < time(best)) best = vectors;
  }
  return best;
}

uint64_t LaneTurnsOfRow(uint32_t length, size_t dimensions) {
  // Each turn of vectors, of 16 lanes at most, walks all dimensions, and so does each element of a
  // word that rows share.
  return (uint64_t{length} / 4 + 16) * (1 + dimensions);
}

uint64_t RowCopyLaneTurns(uint64_t rows, uint64_t words, uint64_t turns_besides) {
  // By vectors of up to 16 words, up to seven by themselves and others eight at a time.
  constexpr uint64_t kLanesMax = 16;
  constexpr uint64_t kTurnsBetween = 10;
  return rows * (words / 32 + kTurnsBetween + turns_besides) * kLanesMax;
}

}  // namespace webnnd::service

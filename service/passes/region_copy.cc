#include "service/passes/region_copy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/region_streams.h"
#include "service/passes/region_transposes.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;

bool IsFlat(const RegionCopy& copy) {
  return copy.dimensions.size() == 1 &&
         (copy.dimensions[0].strides[0] == 1 || copy.dimensions[0].size == 1) &&
         copy.run_length == ElementCount(copy);
}

// Whether the result has exactly the bytes of the source.
bool ChangesNothing(const RegionCopy& copy, const LoweringBuilder& builder) {
  uint64_t count = ElementCount(copy);
  return IsFlat(copy) && copy.source_offset == 0 && copy.result_offset == 0 &&
         builder.descriptor(copy.source).element_count() == count &&
         builder.descriptor(copy.result).element_count() == count;
}

void DoubleToWords(RegionCopy& copy) {
  for (StridedDimension& dimension : copy.dimensions) dimension.strides[0] *= 2;
  copy.dimensions.push_back({.size = 2, .strides = {1}});
  copy.dimensions = Coalesce(copy.dimensions);
  copy.source_offset *= 2;
  copy.result_offset *= 2;
  copy.run_length *= 2;
  copy.run_stride *= 2;
}

// Elements of `per_word` to a word move as words where rows of both sides begin
// and end on words.
bool ShrinkToWords(RegionCopy& copy, uint32_t per_word) {
  auto aligned = [per_word](uint32_t position) { return position % per_word == 0; };
  const StridedDimension& last = copy.dimensions.back();
  bool fits = last.strides[0] == 1 && aligned(last.size) && aligned(copy.source_offset) &&
              aligned(copy.result_offset) && aligned(copy.run_length) && aligned(copy.run_stride);
  for (size_t d = 0; d + 1 < copy.dimensions.size(); ++d) {
    fits = fits && aligned(copy.dimensions[d].strides[0]);
  }
  if (!fits) return false;
  auto shrink = [per_word](uint32_t& position) {
    // Strides may be negative.
    position =
        static_cast<uint32_t>(static_cast<int32_t>(position) / static_cast<int32_t>(per_word));
  };
  for (size_t d = 0; d + 1 < copy.dimensions.size(); ++d) shrink(copy.dimensions[d].strides[0]);
  shrink(copy.dimensions.back().size);
  shrink(copy.source_offset);
  shrink(copy.result_offset);
  shrink(copy.run_length);
  shrink(copy.run_stride);
  copy.dimensions = Coalesce(copy.dimensions);
  return true;
}

std::vector<uint32_t> Parameters(const RegionCopy& copy, uint64_t units,
                                 std::array<uint32_t, 3> run_divisor) {
  std::vector<uint32_t> parameters = {NarrowCast<uint32_t>(units),
                                      static_cast<uint32_t>(copy.dimensions.size()),
                                      copy.source_offset,
                                      copy.result_offset,
                                      run_divisor[0],
                                      run_divisor[1],
                                      run_divisor[2],
                                      copy.run_stride,
                                      copy.run_length,
                                      0,
                                      0,
                                      0};
  AppendDimensions(copy.dimensions, parameters);
  return parameters;
}

// Whether the rows of a region whose access is kQuad are long enough, and many enough, for a
// workgroup each.
bool TakesRows(const RegionCopy& copy, uint32_t per_quad, bool wide) {
  constexpr uint64_t kRowsMin = 64;
  const uint32_t quads = copy.dimensions.back().size / per_quad;
  return copy.run_stride == 0 && copy.dimensions.size() > 1 && quads >= RowUnitsMin(wide, 16) &&
         quads <= kInvocationIterationsMax &&
         ElementCount(copy) / copy.dimensions.back().size >= kRowsMin;
}

// The dimensions of the rows, with strides in the result, in quads. In the order of the source: it
// is streams of reads that processors see coming.
std::vector<StridedDimension> RowDimensions(const RegionCopy& copy, uint32_t per_quad) {
  std::vector<StridedDimension> rows(copy.dimensions.begin(), copy.dimensions.end() - 1);
  uint32_t stride = copy.dimensions.back().size / per_quad;
  bool repeats = false;
  for (size_t d = rows.size(); d-- > 0;) {
    rows[d].strides[1] = stride;
    stride *= rows[d].size;
    repeats = repeats || rows[d].strides[0] == 0;
  }
  auto distance = [](const StridedDimension& dimension) {  // Strides may be negative.
    return std::abs(static_cast<int64_t>(static_cast<int32_t>(dimension.strides[0])));
  };
  if (!repeats) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const auto& a, const auto& b) { return distance(a) > distance(b); });
  }
  return rows;
}

bool FillQuadCall(RegionCopy copy, OperandDataType type, bool wide, LoweredCall& call) {
  const uint32_t per_quad = PerQuad(type);
  if (!HasQuads(copy, per_quad)) return false;
  const uint64_t count = ElementCount(copy);
  const bool many_runs = copy.run_stride != 0;
  const QuadAccess access =
      AccessByQuads(copy.dimensions, per_quad, /*operand=*/0, copy.source_offset);
  const bool by_rows = access == QuadAccess::kQuad && TakesRows(copy, per_quad, wide);
  const uint32_t row = copy.dimensions.back().size;
  if (by_rows) copy.dimensions = RowDimensions(copy, per_quad);
  call.shader = shaders::ShaderId::kCopyQuads;
  call.specialization = {static_cast<uint32_t>(type),   many_runs,
                         RankConstant(copy.dimensions), QuadsLieInRows(copy.dimensions, per_quad),
                         static_cast<uint32_t>(access), by_rows};
  if (by_rows) {
    copy.result_offset /= per_quad;
    call.workgroups = count / row;
    // By vectors of 16 words: those of long rows eight at a time, up to seven by themselves.
    constexpr uint32_t kLongRowQuads = 128;
    if (row / per_quad >= kLongRowQuads) call.cost_per_turn = 8;
    call.parameters =
        Parameters(copy, count, {row / per_quad, NarrowCast<uint32_t>(count / row), 0});
    return true;
  }
  const uint32_t quads_per_run = std::max(1u, copy.run_length / per_quad);
  copy.result_offset /= per_quad;
  copy.run_stride /= per_quad;
  call.parameters = Parameters(copy, count, MakeDivisor(quads_per_run));
  call.invocations = DivideRoundingUp<uint64_t>(count, per_quad);
  return true;
}

// How many of the innermost dimensions make up a row that shaders/copy_rows.comp takes, where that
// is faster than to find each element's place; 0 where it is not.
size_t DimensionsOfRow(const RegionCopy& copy, uint32_t bits, bool wide) {
  constexpr size_t kDimensionsMax = 3;
  constexpr uint64_t kRowMin = 64;
  constexpr uint64_t kRowMax = 1 << 14;
  constexpr uint64_t kRowsMin = 16;
  const uint32_t per_word = 32 / bits;
  const std::vector<StridedDimension>& dimensions = copy.dimensions;
  // Long ones of few dimensions are found as fast by quads, and those in one piece faster.
  const StridedDimension& last = dimensions.back();
  const bool is_short = last.size < kRowMin;
  const bool is_shuffled = RankConstant(dimensions) == 0
                               ? is_short || last.strides[0] != 1
                               : is_short && !QuadsLieInRows(dimensions, 4 * per_word);
  if (wide || bits < 8 || !is_shuffled || copy.run_stride != 0 ||
      copy.result_offset % per_word != 0) {
    return 0;
  }
  uint64_t length = 1;
  for (size_t count = 1; count <= std::min(kDimensionsMax, dimensions.size()); ++count) {
    length *= dimensions[dimensions.size() - count].size;
    if (length > kRowMax) break;
    if (length >= kRowMin && length % per_word == 0) {
      return ElementCount(copy) / length >= kRowsMin ? count : 0;
    }
  }
  return 0;
}

bool FillRowsCall(const RegionCopy& copy, uint32_t bits, bool wide, LoweredCall& call) {
  const size_t row_dimensions = DimensionsOfRow(copy, bits, wide);
  if (row_dimensions == 0) return false;
  const auto rows = copy.dimensions.end() - static_cast<std::ptrdiff_t>(row_dimensions);
  const std::vector<StridedDimension> outer(copy.dimensions.begin(), rows);
  // From the innermost one on.
  std::array<StridedDimension, 3> row;
  std::copy(std::make_reverse_iterator(copy.dimensions.end()), std::make_reverse_iterator(rows),
            row.begin());
  uint64_t length = 1;
  for (size_t d = 0; d < row_dimensions; ++d) length *= row[d].size;
  const uint64_t count = ElementCount(copy) / length;
  const uint32_t per_word = 32 / bits;
  call.shader = shaders::ShaderId::kCopyRows;
  call.specialization = {static_cast<uint32_t>(std::bit_width(bits) - 1), RankConstant(outer)};
  call.parameters = {NarrowCast<uint32_t>(count), static_cast<uint32_t>(outer.size()),
                     copy.source_offset, copy.result_offset / per_word};
  AppendDivisor(row[0].size, call.parameters, NarrowCast<uint32_t>(length / per_word));
  AppendDivisor(row[1].size, call.parameters, 0);
  call.parameters.insert(call.parameters.end(),
                         {row[0].strides[0], row[1].strides[0], row[2].strides[0], 0});
  AppendDimensions(outer, call.parameters);
  call.workgroups = count;
  return true;
}

// Whether rows are one piece of the source, or one element, that quads do not go along: those of
// shaders/copy_runs.comp.
bool TakesRuns(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder) {
  constexpr uint32_t kWordsMin = 8;        // Half of a vector.
  constexpr uint32_t kWordsMax = 1 << 18;  // Of a row, four of which a workgroup loops over.
  constexpr uint64_t kRowsMin = 16;
  const uint32_t per_word = 32 / bits;
  const StridedDimension& last = copy.dimensions.back();
  const bool are_quads = AccessByQuads(copy.dimensions, 4 * per_word, /*operand=*/0,
                                       copy.source_offset) != QuadAccess::kStrided &&
                         HasQuads(copy, 4 * per_word);
  return !builder.wide() && bits >= 8 && copy.dimensions.size() > 1 && last.strides[0] <= 1 &&
         (copy.run_stride == 0 || copy.run_length == last.size) &&
         last.size <= kWordsMax * per_word && last.size >= kWordsMin * per_word &&
         ElementCount(copy) / last.size >= kRowsMin && !are_quads;
}

// The same copy with runs of a source in one piece as rows.
RegionCopy WithRunsAsRows(RegionCopy copy) {
  const StridedDimension all = copy.dimensions[0];
  if (copy.dimensions.size() != 1 || copy.run_stride == 0 || all.strides[0] != 1) return copy;
  copy.dimensions = {{.size = all.size / copy.run_length, .strides = {copy.run_length}},
                     {.size = copy.run_length, .strides = {1}}};
  return copy;
}

bool FillRunsCall(const RegionCopy& runs, OperandDataType unit, const LoweringBuilder& builder,
                  LoweredCall& call) {
  const RegionCopy copy = WithRunsAsRows(runs);
  if (!TakesRuns(copy, webidl::BitsPerElement(unit), builder)) return false;
  const std::vector<StridedDimension> outer(copy.dimensions.begin(), copy.dimensions.end() - 1);
  const StridedDimension& row = copy.dimensions.back();
  const uint64_t rows = ElementCount(copy) / row.size;
  call.shader = shaders::ShaderId::kCopyRuns;
  call.specialization = {static_cast<uint32_t>(unit), RankConstant(outer), row.strides[0] == 0};
  call.parameters = {NarrowCast<uint32_t>(rows),
                     static_cast<uint32_t>(outer.size()),
                     copy.source_offset,
                     copy.result_offset,
                     row.size,
                     copy.run_stride == 0 ? row.size : copy.run_stride,
                     0,
                     0};
  AppendDimensions(outer, call.parameters);
  call.workgroups = rows;
  const uint64_t words = DivideRoundingUp<uint64_t>(row.size, PerQuad(unit) / 4);
  call.cost = std::max(call.cost, RowCopyLaneTurns(rows, words, outer.size()));
  return true;
}

void FillElementCall(const RegionCopy& copy, OperandDataType unit, LoweredCall& call) {
  const uint64_t count = ElementCount(copy);
  call.shader = shaders::ShaderId::kCopyElements;
  call.specialization = {RankConstant(copy.dimensions), copy.run_length != count ? 1u : 0u,
                         static_cast<uint32_t>(unit)};
  call.parameters = Parameters(copy, count, MakeDivisor(copy.run_length));
  call.invocations = count;
  // Without a constant rank, each element walks all dimensions in a loop.
  if (RankConstant(copy.dimensions) == 0) {
    call.cost = std::max(call.cost, count * copy.dimensions.size());
  }
}

// By a shader to which elements of 64 bits, and those of less than 32, are what they are.
bool FillCallOfElements(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                        LoweredCall& call) {
  return FillInterleaveCall(copy, bits, builder, call) ||
         FillBackwardsCall(copy, bits, builder, call) ||
         (bits == 64 && FillTransposeWordsCall(copy, bits, builder, call));
}

// By one to which they are words where they can be: the first of these that takes the region.
void FillCallOfUnits(const RegionCopy& copy, OperandDataType unit, const LoweringBuilder& builder,
                     LoweredCall& call) {
  const uint32_t bits = webidl::BitsPerElement(unit);
  const bool filled = (bits >= 16 && FillTransposeCall(copy, PerQuad(unit), builder, call)) ||
                      FillRunsCall(copy, unit, builder, call) ||
                      FillTransposeWordsCall(copy, bits, builder, call) ||
                      FillRowsCall(copy, bits, builder.wide(), call) ||
                      FillQuadCall(copy, unit, builder.wide(), call);
  if (!filled) FillElementCall(copy, unit, call);
}

}  // namespace

void AddRegionCopy(RegionCopy copy, LoweringBuilder& builder) {
  const OperandDescriptor& descriptor = builder.descriptor(copy.result);
  uint32_t bits = webidl::BitsPerElement(descriptor.data_type());
  copy.dimensions = Coalesce(copy.dimensions);
  auto count = NarrowCast<uint32_t>(ElementCount(copy));
  if (copy.run_length == 0 || copy.run_length == count) {
    copy.run_length = count;
    copy.run_stride = 0;
  }
  CHECK(count % copy.run_length == 0);
  if (ChangesNothing(copy, builder)) {
    builder.AddAlias(copy.result, copy.source);
    return;
  }
  LoweredCall call;
  call.buffers = {{copy.source, false}, {copy.result, true}};
  call.cost = uint64_t{count} * bits / 4;  // Read and written.
  if (!FillCallOfElements(copy, bits, builder, call)) {
    bool whole_words = bits >= 32;
    if (bits == 64) DoubleToWords(copy);
    if (bits < 32) whole_words = ShrinkToWords(copy, 32 / bits);
    FillCallOfUnits(copy, whole_words ? OperandDataType::kUint32 : descriptor.data_type(), builder,
                    call);
  }
  builder.AddCall(std::move(call));
}

}  // namespace webnnd::service

#include "service/passes/region_copy.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;

uint64_t ElementCount(const RegionCopy& copy) {
  uint64_t count = 1;
  for (const StridedDimension& dimension : copy.dimensions) count *= dimension.size;
  return count;
}

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

// Whether the region lies in the result as whole quads of elements.
bool HasQuads(const RegionCopy& copy, uint32_t per_quad) {
  if (copy.result_offset % per_quad != 0) return false;
  return copy.run_stride == 0 ||
         (copy.run_length % per_quad == 0 && copy.run_stride % per_quad == 0);
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

void FillQuadCall(RegionCopy copy, OperandDataType type, bool wide, LoweredCall& call) {
  const uint32_t per_quad = PerQuad(type);
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
    return;
  }
  const uint32_t quads_per_run = std::max(1u, copy.run_length / per_quad);
  copy.result_offset /= per_quad;
  copy.run_stride /= per_quad;
  call.parameters = Parameters(copy, count, MakeDivisor(quads_per_run));
  call.invocations = DivideRoundingUp<uint64_t>(count, per_quad);
}

// The dimension that is contiguous in the source, where blocks of it and the
// innermost one, `per_quad` elements each way, move as quads on both sides.
std::optional<size_t> FindTransposed(const RegionCopy& copy, uint32_t per_quad) {
  const std::vector<StridedDimension>& dimensions = copy.dimensions;
  std::optional<size_t> contiguous;
  bool aligned = copy.run_stride == 0 && copy.result_offset % per_quad == 0 &&
                 copy.source_offset % per_quad == 0 && dimensions.back().size % per_quad == 0;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (!contiguous && dimensions[d].strides[0] == 1 && dimensions[d].size % per_quad == 0) {
      contiguous = d;
    } else {
      aligned = aligned && dimensions[d].strides[0] % per_quad == 0;
    }
  }
  return aligned && contiguous != dimensions.size() - 1 ? contiguous : std::nullopt;
}

// The blocks of a matrix in the source, whose rows become columns of the result, outermost
// dimension first.
struct TransposedBlocks {
  StridedDimension rows;     // As many as the result's innermost dimension has.
  StridedDimension columns;  // Which follow each other in the source.
};

uint32_t LargestDivisor(uint32_t number, uint32_t at_most) {
  uint32_t divisor = std::min(number, at_most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

// In which order blocks go: so many beside each other in the result that lines of the caches are
// used in full at once, on either side; then in tiles, of few enough lines that those begun are
// there when their neighbours come, rows a power of two apart included, and of few enough pages.
void AppendTiles(const TransposedBlocks& blocks, std::vector<StridedDimension>& order) {
  constexpr uint32_t kTogether = 4;  // What lanes beside each other load and store as vectors.
  constexpr uint32_t kTileMax = 32;  // Columns, and groups of rows.
  constexpr uint32_t kTileMin = 4;
  const uint32_t together = std::gcd(blocks.rows.size, kTogether);
  uint32_t rows = LargestDivisor(blocks.rows.size / together, kTileMax);
  uint32_t columns = LargestDivisor(blocks.columns.size, kTileMax);
  if (columns < kTileMin) {
    rows = 1;
    columns = blocks.columns.size;
  }
  auto times = [](const StridedDimension& dimension, uint32_t count) {
    return std::array<uint32_t, 4>{dimension.strides[0] * count, dimension.strides[1] * count};
  };
  order.push_back({blocks.rows.size / together / rows, times(blocks.rows, together * rows)});
  order.push_back({blocks.columns.size / columns, times(blocks.columns, columns)});
  order.push_back({rows, times(blocks.rows, together)});
  order.push_back({columns, blocks.columns.strides});
  order.push_back({together, blocks.rows.strides});
}

// Blocks beside each other, in either tensor, that shaders/transpose.comp takes at once.
constexpr uint32_t kSquare = 4;

// In which order blocks go that are squares of them: some beside each other in the result, whose
// lines the processor writes to memory together, then along its columns.
void AppendSquares(const TransposedBlocks& blocks, uint32_t part_max,
                   std::vector<StridedDimension>& order) {
  auto times = [](const StridedDimension& dimension, uint32_t count) {
    return std::array<uint32_t, 4>{dimension.strides[0] * count, dimension.strides[1] * count};
  };
  const uint32_t rows = blocks.rows.size / kSquare;
  const uint32_t part = LargestDivisor(rows, part_max);
  order.push_back({rows / part, times(blocks.rows, kSquare * part)});
  order.push_back({blocks.columns.size / kSquare, times(blocks.columns, kSquare)});
  order.push_back({part, times(blocks.rows, kSquare)});
  order.push_back({kSquare, blocks.columns.strides});
  order.push_back({kSquare, blocks.rows.strides});
}

void FillTransposeCall(const RegionCopy& copy, size_t contiguous, uint32_t per_quad,
                       const LoweringBuilder& builder, LoweredCall& call) {
  auto quads = [&](uint32_t elements) {  // Strides may be negative.
    return static_cast<uint32_t>(static_cast<int32_t>(elements) / static_cast<int32_t>(per_quad));
  };
  const size_t innermost = copy.dimensions.size() - 1;
  std::vector<uint32_t> result_strides(copy.dimensions.size(), 1);
  for (size_t d = innermost; d > 0; --d) {
    result_strides[d - 1] = result_strides[d] * copy.dimensions[d].size;
  }
  std::vector<StridedDimension> blocks;
  for (size_t d = 0; d < innermost; ++d) {
    if (d == contiguous) continue;
    const StridedDimension& dimension = copy.dimensions[d];
    blocks.push_back({dimension.size, {quads(dimension.strides[0]), quads(result_strides[d])}});
  }
  const StridedDimension& rows = copy.dimensions[innermost];
  const StridedDimension& columns = copy.dimensions[contiguous];
  const TransposedBlocks transposed = {
      .rows = {rows.size / per_quad, {rows.strides[0], 1}},
      .columns = {columns.size / per_quad, {1, result_strides[contiguous]}}};
  const bool is_halves = per_quad == 8;
  const bool streams_words = builder.streamed_stores().transposed_words;
  // Where the result's rows lie further apart than the source's, words that are read next would
  // take 1.14 times as long (nhwc to nchw).
  const bool can_stream =
      is_halves || (streams_words && rows.strides[0] >= result_strides[contiguous]);
  constexpr uint32_t kQuadBytes = 16;
  const bool is_streamed =
      can_stream && ElementCount(copy) / per_quad * kQuadBytes >= kStreamedBytesMin;
  // GPUs were measured with tiles of halves.
  const bool in_squares = !(is_halves && builder.wide()) && transposed.rows.size % kSquare == 0 &&
                          transposed.columns.size % kSquare == 0;
  if (in_squares) {
    // Of 4 and of 64 squares and more, float16 takes 1.03 to 1.2 of the time, as rows lie far
    // apart. Where only the source comes through caches, processors that stream words read 32 rows
    // of it ahead: 0.65 to 0.91 of the time.
    const uint32_t rows_of_square = kSquare * per_quad;
    AppendSquares(transposed, is_streamed && streams_words ? 32 / rows_of_square : 32, blocks);
  } else {
    AppendTiles(transposed, blocks);
  }
  blocks = Coalesce(blocks);
  const uint64_t count = ElementCount(copy) / (per_quad * per_quad);
  call.shader = shaders::ShaderId::kTranspose;
  constexpr size_t kUnrolledMax = 6;
  call.specialization = {RankConstant(blocks, kUnrolledMax), is_halves, in_squares, is_streamed};
  call.parameters = {NarrowCast<uint32_t>(count),
                     static_cast<uint32_t>(blocks.size()),
                     quads(rows.strides[0]),
                     quads(result_strides[contiguous]),
                     copy.source_offset / per_quad,
                     copy.result_offset / per_quad,
                     0,
                     0};
  AppendDimensions(blocks, call.parameters);
  call.invocations = count;
}

// Squares of shaders/transpose_words.comp: of words, or of elements of less than one.
struct Squares {
  uint32_t bits = 32;  // Of an element.
  bool by_elements = false;

  uint32_t per_word() const { return bits >= 32 || by_elements ? 1 : 32 / bits; }
  uint32_t side() const { return bits == 64 ? 8 : 16 * per_word(); }  // kSide there.
};

// Of a row of the result's elements, those that squares take, however it begins.
uint32_t TransposedOfRow(uint32_t row, const Squares& squares) {
  const uint32_t per_word = squares.per_word();
  if (row % per_word == 0) return row;
  return row < per_word ? 0 : (row + 1 - per_word) / per_word * per_word;
}

// Whether the region begins with a word, and ends with one, or with the result: what is behind it
// in its last word is lost.
bool IsOfWholeWords(const RegionCopy& copy, const Squares& squares,
                    const LoweringBuilder& builder) {
  const uint32_t per_word = squares.per_word();
  const uint64_t end = copy.result_offset + ElementCount(copy);
  return copy.result_offset % per_word == 0 &&
         (end % per_word == 0 || end == builder.descriptor(copy.result).element_count());
}

// Whether squares take all of rows that are shorter than their sides: those of a matrix, whose
// columns are dimension `contiguous`, follow each other.
bool TakesAllOfRows(const RegionCopy& copy, size_t contiguous, const Squares& squares) {
  const uint32_t row = copy.dimensions.back().size;
  const uint32_t side = squares.side();
  const uint32_t row_min = squares.per_word() > 1 ? side / 2 : DivideRoundingUp(side * 5, 16u);
  return contiguous + 2 == copy.dimensions.size() && TransposedOfRow(row, squares) < side &&
         row >= row_min && copy.dimensions[contiguous].size % squares.per_word() == 0;
}

struct TransposedWords {
  size_t contiguous = 0;  // The dimension of elements that follow each other in the source.
  Squares squares;
};

// Where rows of either side begin anywhere, if the innermost dimension and that of elements that
// follow each other in the source are long enough for shaders/transpose_words.comp.
std::optional<TransposedWords> FindTransposedWords(const RegionCopy& copy, uint32_t bits,
                                                   const LoweringBuilder& builder) {
  const std::vector<StridedDimension>& dimensions = copy.dimensions;
  if (builder.wide() || bits < 8 || copy.run_stride != 0) return std::nullopt;
  for (bool by_elements : {false, true}) {
    const Squares squares = {.bits = bits, .by_elements = by_elements};
    if ((by_elements && bits >= 32) || !IsOfWholeWords(copy, squares, builder)) continue;
    const bool has_long_rows = TransposedOfRow(dimensions.back().size, squares) >= squares.side();
    for (size_t d = 0; d + 1 < dimensions.size(); ++d) {
      if (dimensions[d].strides[0] == 1 && dimensions[d].size >= squares.side() &&
          (has_long_rows || TakesAllOfRows(copy, d, squares))) {
        return TransposedWords{.contiguous = d, .squares = squares};
      }
    }
  }
  return std::nullopt;
}

// The dimensions around two of a region, with their strides in the result, and that of the first.
struct DimensionsAround {
  std::vector<StridedDimension> outer;
  uint32_t result_step = 0;
};
DimensionsAround SplitOff(const RegionCopy& copy, size_t first, size_t second) {
  DimensionsAround around;
  uint32_t stride = 1;
  for (size_t d = copy.dimensions.size(); d-- > 0;) {
    const StridedDimension& dimension = copy.dimensions[d];
    if (d == first) {
      around.result_step = stride;
    } else if (d != second) {
      around.outer.insert(around.outer.begin(), {dimension.size, {dimension.strides[0], stride}});
    }
    stride *= dimension.size;
  }
  around.outer = Coalesce(around.outer);
  return around;
}

void FillTransposeWordsCall(const RegionCopy& copy, const TransposedWords& transposed,
                            LoweredCall& call) {
  const size_t contiguous = transposed.contiguous;
  const Squares& square = transposed.squares;
  const StridedDimension& row = copy.dimensions.back();
  const StridedDimension& columns = copy.dimensions[contiguous];
  const auto [outer, result_step] = SplitOff(copy, contiguous, copy.dimensions.size() - 1);
  const std::vector<StridedDimension> rows(copy.dimensions.begin(), copy.dimensions.end() - 1);
  const uint32_t side = square.side();
  const bool takes_all = TakesAllOfRows(copy, contiguous, square);
  const uint32_t of_row = takes_all ? side : TransposedOfRow(row.size, square);
  const uint32_t along = DivideRoundingUp(of_row, side);
  const uint32_t down = DivideRoundingUp(columns.size, side);
  const uint64_t squares = ElementsOf(outer) * along * down;
  const uint64_t row_count = ElementsOf(rows);
  call.shader = shaders::ShaderId::kTransposeWords;
  call.specialization = {
      RankConstant(outer), static_cast<uint32_t>(std::bit_width(square.bits) - 1),
      square.per_word() > 1 ? RankConstant(rows) : 0, takes_all, square.by_elements};
  call.parameters = {NarrowCast<uint32_t>(squares),
                     static_cast<uint32_t>(outer.size()),
                     row.size,
                     of_row,
                     columns.size,
                     row.strides[0],
                     result_step,
                     copy.source_offset};
  AppendDivisor(along, call.parameters, copy.result_offset);
  AppendDivisor(down, call.parameters, NarrowCast<uint32_t>(row_count));
  call.parameters.insert(call.parameters.end(), {static_cast<uint32_t>(rows.size()), 0, 0, 0});
  AppendDimensions(outer, call.parameters);
  AppendDimensions(rows, call.parameters);
  call.workgroups = squares;
  // With few lanes, a square is sixteen, for each part of a word; and there are the ends of rows.
  const uint64_t ends = square.per_word() > 1 ? row_count : 0;
  const uint64_t lane_turns = squares * 16 * 16 * square.per_word() + ends * (1 + rows.size()) * 8;
  call.cost = std::max(call.cost, lane_turns);
}

// Elements that the vectors of shaders/vectors_of_elements.glsl have at most.
uint32_t VectorMax(uint32_t bits) { return bits == 64 ? 8 : 16; }

// What workgroups take of `length` elements that follow each other, at least a vector: parts as
// long as each other, of which the last one begins early enough to be whole.
struct Parts {
  uint32_t count = 0;
  uint32_t length = 0;  // Of each.
};
Parts SplitByVectors(uint32_t length, uint32_t part_max, uint32_t bits) {
  const uint32_t count = DivideRoundingUp(length, part_max);
  const uint32_t vector = VectorMax(bits);
  const uint32_t part = DivideRoundingUp(DivideRoundingUp(length, count), vector) * vector;
  return {.count = count, .length = std::min(part, length)};
}

// Turns that lanes take for `parts` such parts, all lanes together: vectors, the shortest of which
// are four words, and one more turn of lanes for each part.
uint64_t LaneTurnsOf(uint64_t parts, const Parts& split) {
  constexpr uint32_t kWordsMax = 2;  // Of an element.
  return parts * (kWordsMax * uint64_t{split.length} + 32);
}

// What shaders/interleave.comp takes: streams of elements that follow each other on one side, and
// take turns on the other.
struct Streams {
  size_t along = 0;    // The dimension of a stream's elements.
  size_t across = 0;   // That of streams.
  bool apart = false;  // Where they lie apart: in the result, or in the source.
};

std::optional<Streams> FindStreams(const RegionCopy& copy, uint32_t bits,
                                   const LoweringBuilder& builder) {
  constexpr uint32_t kStreamsMin = 2;
  constexpr uint32_t kStreamsMax = 4;  // As in shaders/interleave.comp.
  const uint32_t vector = VectorMax(bits);
  const std::vector<StridedDimension>& dimensions = copy.dimensions;
  if (builder.wide() || bits < 8 || copy.run_stride != 0 || dimensions.size() < 2) {
    return std::nullopt;
  }
  const size_t last = dimensions.size() - 1;
  auto are_few = [&](size_t d) {
    return dimensions[d].size >= kStreamsMin && dimensions[d].size <= kStreamsMax;
  };
  for (size_t d = 0; d < last; ++d) {
    if (dimensions[d].strides[0] != 1) continue;
    if (d + 1 == last && are_few(last) && dimensions[d].size >= vector) {
      return Streams{.along = d, .across = last, .apart = false};
    }
    if (are_few(d) && dimensions[last].strides[0] == dimensions[d].size &&
        dimensions[last].size >= vector) {
      return Streams{.along = last, .across = d, .apart = true};
    }
  }
  return std::nullopt;
}

void FillInterleaveCall(const RegionCopy& copy, const Streams& streams, uint32_t bits,
                        LoweredCall& call) {
  constexpr uint32_t kPartMax = 512;
  const auto [outer, result_step] = SplitOff(copy, streams.across, streams.along);
  const uint32_t count = copy.dimensions[streams.across].size;
  const uint32_t length = copy.dimensions[streams.along].size;
  const Parts split = SplitByVectors(length, kPartMax, bits);
  const uint64_t parts = ElementsOf(outer) * split.count;
  call.shader = shaders::ShaderId::kInterleave;
  call.specialization = {static_cast<uint32_t>(std::bit_width(bits) - 1), RankConstant(outer),
                         count, streams.apart};
  call.parameters = {NarrowCast<uint32_t>(parts),
                     static_cast<uint32_t>(outer.size()),
                     copy.source_offset,
                     copy.result_offset,
                     split.length,
                     streams.apart ? result_step : copy.dimensions[streams.across].strides[0],
                     length - split.length,
                     0};
  AppendDivisor(split.count, call.parameters);
  AppendDimensions(outer, call.parameters);
  call.workgroups = parts;
  call.cost = std::max(call.cost, LaneTurnsOf(parts, split));
}

// Whether rows are pieces of the source from their ends on, that quads do not go along: those of
// shaders/copy_backwards.comp.
bool TakesRowsBackwards(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder) {
  const StridedDimension& last = copy.dimensions.back();
  if (builder.wide() || bits < 8 || copy.run_stride != 0 || last.strides[0] != ~uint32_t{0} ||
      last.size < VectorMax(bits)) {
    return false;
  }
  const uint32_t per_quad = 128 / bits;
  return bits == 64 || !HasQuads(copy, per_quad) ||
         AccessByQuads(copy.dimensions, per_quad, /*operand=*/0, copy.source_offset) ==
             QuadAccess::kStrided;
}

void FillBackwardsCall(const RegionCopy& copy, uint32_t bits, LoweredCall& call) {
  constexpr uint32_t kPartMax = 2048;
  const size_t last = copy.dimensions.size() - 1;
  const std::vector<StridedDimension> outer = SplitOff(copy, last, last).outer;
  const uint32_t length = copy.dimensions.back().size;
  const Parts split = SplitByVectors(length, kPartMax, bits);
  const uint64_t parts = ElementsOf(outer) * split.count;
  call.shader = shaders::ShaderId::kCopyBackwards;
  call.specialization = {static_cast<uint32_t>(std::bit_width(bits) - 1), RankConstant(outer)};
  call.parameters = {NarrowCast<uint32_t>(parts),
                     static_cast<uint32_t>(outer.size()),
                     copy.source_offset,
                     copy.result_offset,
                     split.length,
                     length - split.length,
                     0,
                     0};
  AppendDivisor(split.count, call.parameters);
  AppendDimensions(outer, call.parameters);
  call.workgroups = parts;
  call.cost = std::max(call.cost, LaneTurnsOf(parts, split));
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

void FillRowsCall(const RegionCopy& copy, size_t row_dimensions, uint32_t bits, LoweredCall& call) {
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

void FillRunsCall(const RegionCopy& copy, OperandDataType unit, LoweredCall& call) {
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
}

// The same with runs of a source in one piece as rows.
RegionCopy WithRunsAsRows(RegionCopy copy) {
  const StridedDimension all = copy.dimensions[0];
  if (copy.dimensions.size() != 1 || copy.run_stride == 0 || all.strides[0] != 1) return copy;
  copy.dimensions = {{.size = all.size / copy.run_length, .strides = {copy.run_length}},
                     {.size = copy.run_length, .strides = {1}}};
  return copy;
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
  bool whole_words = bits >= 32;
  if (const auto streams = FindStreams(copy, bits, builder)) {
    FillInterleaveCall(copy, *streams, bits, call);
    builder.AddCall(std::move(call));
    return;
  }
  if (TakesRowsBackwards(copy, bits, builder)) {
    FillBackwardsCall(copy, bits, call);
    builder.AddCall(std::move(call));
    return;
  }
  if (const auto pairs = bits == 64 ? FindTransposedWords(copy, bits, builder) : std::nullopt) {
    FillTransposeWordsCall(copy, *pairs, call);
    builder.AddCall(std::move(call));
    return;
  }
  if (bits == 64) DoubleToWords(copy);
  if (bits < 32) whole_words = ShrinkToWords(copy, 32 / bits);
  const OperandDataType unit = whole_words ? OperandDataType::kUint32 : descriptor.data_type();
  const bool can_transpose = whole_words || bits == 16;
  std::optional<size_t> transposed =
      can_transpose ? FindTransposed(copy, PerQuad(unit)) : std::nullopt;
  if (transposed) {
    FillTransposeCall(copy, *transposed, PerQuad(unit), builder, call);
  } else if (const RegionCopy rows = WithRunsAsRows(copy);
             TakesRuns(rows, whole_words ? 32 : bits, builder)) {
    FillRunsCall(rows, unit, call);
  } else if (const auto words = FindTransposedWords(copy, whole_words ? 32 : bits, builder)) {
    FillTransposeWordsCall(copy, *words, call);
  } else if (const size_t row = DimensionsOfRow(copy, whole_words ? 32 : bits, builder.wide())) {
    FillRowsCall(copy, row, whole_words ? 32 : bits, call);
  } else if (HasQuads(copy, PerQuad(unit))) {
    FillQuadCall(std::move(copy), unit, builder.wide(), call);
  } else {
    FillElementCall(copy, unit, call);
  }
  builder.AddCall(std::move(call));
}

}  // namespace webnnd::service

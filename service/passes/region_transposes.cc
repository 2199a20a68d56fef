#include "service/passes/region_transposes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked_math.h"

namespace webnnd::service {
namespace {

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

}  // namespace

bool FillTransposeCall(const RegionCopy& copy, uint32_t per_quad, const LoweringBuilder& builder,
                       LoweredCall& call) {
  const std::optional<size_t> found = FindTransposed(copy, per_quad);
  if (!found) return false;
  const size_t contiguous = *found;
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
  return true;
}

bool FillTransposeWordsCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                            LoweredCall& call) {
  const std::optional<TransposedWords> transposed = FindTransposedWords(copy, bits, builder);
  if (!transposed) return false;
  const size_t contiguous = transposed->contiguous;
  const Squares& square = transposed->squares;
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
  return true;
}

}  // namespace webnnd::service

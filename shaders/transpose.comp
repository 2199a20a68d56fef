// Transposes blocks of 4 x 4 words, or of 8 x 8 halves of words: slot 1 -> slot 2. What copies that change
// the innermost dimension do, where both tensors' rows are whole quads: quads in, quads out, and each cache
// line of either side soon used in full. On llvmpipe squares of blocks go row by row.
//
// Parameters: 0 blocks; 1 rank of their dimensions; 2 quads between the rows of a block in the source
// and 3 in the result; 4 first quad of the source; 5 of the result; from uvec4 2 dimensions
// (strided.glsl; strides in quads: x of the source, y of the result). Specialisation constants: 1 rank,
// 2 whether elements are halves of words, 3 whether every sixteen blocks are a square: four beside each
// other in the result, and four of these beside each other in the source, 4 whether what squares become
// is streamed (stream.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kRank = 0u;
layout(constant_id = 2) const uint kHalves = 0u;
layout(constant_id = 3) const uint kInSquares = 0u;
layout(constant_id = 4) const uint kIsStreamed = 0u;
#define STRIDED_RANK kRank
#define STRIDED_UNROLLED_MAX 6
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

uvec2 OffsetsOfBlock(uint block) { return StridedOffsets(block, 2u, P(1)).xy + uvec2(P(4), P(5)); }

uvec4 ColumnOfWords(uvec4 rows[4], uint k) {
  return uvec4(rows[0][k], rows[1][k], rows[2][k], rows[3][k]);
}

void TransposeWords(uvec2 offsets, uint source_step, uint result_step) {
  uvec4 rows[4];
  [[unroll]] for (uint k = 0u; k < 4u; ++k) rows[k] = LOAD_QUAD(1, offsets.x + k * source_step);
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    STORE_QUAD(2, offsets.y + k * result_step, ColumnOfWords(rows, k))
  }
}

uvec4 ColumnOfHalves(uvec4 rows[8], uint k) {
  uvec4 column;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const uint low = rows[2u * i][k >> 1];
    const uint high = rows[2u * i + 1u][k >> 1];
    column[i] = (k & 1u) == 0u ? (low & 0xffffu) | (high << 16) : (low >> 16) | (high & 0xffff0000u);
  }
  return column;
}

void TransposeHalves(uvec2 offsets, uint source_step, uint result_step) {
  uvec4 rows[8];
  [[unroll]] for (uint k = 0u; k < 8u; ++k) rows[k] = LOAD_QUAD(1, offsets.x + k * source_step);
  [[unroll]] for (uint k = 0u; k < 8u; ++k) {
    STORE_QUAD(2, offsets.y + k * result_step, ColumnOfHalves(rows, k))
  }
}

// On llvmpipe, where quads are shuffled on the way from and to memory, squares go by words: a row of one is a
// word of each invocation, loaded and stored as one vector.
#if TENSOR_READS == READS_TEXELS
#include "square_of_words.glsl"
#include "stream.glsl"

bool GoesBySquares() {
  return kInSquares != 0u && kSubgroupSize == 16u && IsWorkgroupOneSubgroup();
}

uint LoadOfRow(uint first) { return LOAD_WORD(1, UNIFORM(first) + gl_SubgroupInvocationID); }
void StoreOfRow(uint first, uint word) {
  if (kIsStreamed != 0u) {
    STREAM_WORD(2, UNIFORM(first) + gl_SubgroupInvocationID, word);
  } else {
    STORE_WORD(2, UNIFORM(first) + gl_SubgroupInvocationID, word);
  }
}

// Places and steps of these are in words.
void TransposeSquareOfWords(uint from, uint to, uint source_step, uint result_step) {
  uint rows[16];
  [[unroll]] for (uint k = 0u; k < 16u; ++k) rows[k] = LoadOfRow(from + k * source_step);
  TransposeRows(rows);
  [[unroll]] for (uint k = 0u; k < 16u; ++k) StoreOfRow(to + k * result_step, rows[k]);
}

// Of 32 rows, whose words are halves of two columns.
void TransposeSquareOfHalves(uint from, uint to, uint source_step, uint result_step) {
  uint low[16];
  uint high[16];
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    const uint first = LoadOfRow(from + 2u * k * source_step);
    const uint second = LoadOfRow(from + (2u * k + 1u) * source_step);
    low[k] = (first & 0xffffu) | (second << 16);
    high[k] = (first >> 16) | (second & 0xffff0000u);
  }
  TransposeRows(low);
  [[unroll]] for (uint k = 0u; k < 16u; ++k) StoreOfRow(to + 2u * k * result_step, low[k]);
  TransposeRows(high);
  [[unroll]] for (uint k = 0u; k < 16u; ++k) StoreOfRow(to + (2u * k + 1u) * result_step, high[k]);
}

uvec2 OffsetsOfSquare(uint square) { return OffsetsOfBlock(16u * square); }

void TransposeSquares(uint squares, uint source_step, uint result_step) {
  const uint source_words = 4u * source_step;
  const uint result_words = 4u * result_step;
#define TRANSPOSE(from, to)                                                       \
  if (kHalves != 0u) {                                                            \
    TransposeSquareOfHalves(4u * from, 4u * to, source_words, result_words);      \
  } else {                                                                        \
    TransposeSquareOfWords(4u * from, 4u * to, source_words, result_words);       \
  }
  PLACED_UNITS_LOOP(squares, OffsetsOfSquare, TRANSPOSE)
#undef TRANSPOSE
}
#else
bool GoesBySquares() { return false; }
void TransposeSquares(uint squares, uint source_step, uint result_step) {}
#endif

void main() {
  if (GoesBySquares()) {
    TransposeSquares(P(0) / 16u, P(2), P(3));
    return;
  }
  GRID_STRIDE_LOOP(i, P(0)) {
    if (kHalves != 0u) {
      TransposeHalves(OffsetsOfBlock(i), P(2), P(3));
    } else {
      TransposeWords(OffsetsOfBlock(i), P(2), P(3));
    }
  }
}

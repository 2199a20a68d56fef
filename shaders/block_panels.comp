// Weights of 4 bits with scales by block as panels of float32, for tall_matmul.comp: what
// pack_panels.comp makes of a matrix b with a column for each row of w. Slots: 1 w, 2 scale, 3 zero
// point, all as block_gemv.comp reads them; 4 the panels.
//
// An invocation unpacks a word of four neighbouring rows, eight steps: eight neighbours write 128
// bytes of each step.
//
// Parameters: 0 units; 1 rows of w; 2 blocks in a row; 3 log2 of the words in a block; uvec4 1 a
// divisor, the words in a row, and behind it which panel is the first. Specialisation constants: 1 data
// type of scale; 2 of w and zero point; 3 whether scales and zero points come by tiles; 4 whether w
// does.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "scale_tiles.glsl"
#include "strided.glsl"

layout(constant_id = 1) const uint kScaleType = 0u;
layout(constant_id = 2) const uint kWeightType = 0u;
layout(constant_id = 3) const uint kByTiles = 0u;
layout(constant_id = 4) const uint kTiledWeights = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
WRITE_SLOT(4)

// Signed weights and their zero points are moved up by half their range.
const uint kMoved = kWeightType == kInt4 ? 0x88888888u : 0u;

// Where a word of a row lies.
uint WordAt(uint row, uint word) {
  if (kTiledWeights == 0u) return row * P4(1).x + word;
  const uint loads = P4(1).x >> 2;
  return 4u * (((row >> 5) * loads + (word >> 2)) * 32u + (row & 31u)) + (word & 3u);
}

// Which element of scale, and of zero point, is that of a block of a row.
uint ScaleAt(uint row, uint block) {
  return kByTiles == 0u ? row * P(2) + block : ScaleOfTiles(row, block, P(2));
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) {
    const uint place = unit >> 3;
    const uint panel = Divide(place, P4(1).xyz);
    const uint word = place - panel * P4(1).x;
    const uint first_row = 32u * (P4(1).w + panel) + 4u * (unit & 7u);
    uvec4 weights;
    vec4 scales;
    vec4 zero_points;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      // Beyond the last row, nothing: what is 0 times as much.
      const uint row = min(first_row + i, P(1) - 1u);
      const uint at = ScaleAt(row, word >> P(3));
      weights[i] = LOAD_WORD(1, WordAt(row, word)) ^ kMoved;
      scales[i] = first_row + i < P(1) ? LOAD(2, kScaleType, at) : 0.0;
      zero_points[i] = float(int(((LOAD_WORD(3, at >> 3) ^ kMoved) >> (4u * (at & 7u))) & 15u));
    }
    [[unroll]] for (uint k = 0u; k < 8u; ++k) {
      const vec4 values = vec4(ivec4((weights >> (4u * k)) & 15u));
      const uvec4 bits = floatBitsToUint((values - zero_points) * scales);
      STORE_QUAD(4, 8u * (8u * place + k) + (unit & 7u), bits)
    }
  }
}

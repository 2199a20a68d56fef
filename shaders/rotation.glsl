// Rotary embedding of four neighbouring elements of a head, for kernels that load rows of heads:
// slots 5 cos, 6 sin (rows of rotary size / 2), 7 positions. ROTATION_FIRST_CONSTANT numbers the
// specialisation constants: data type of positions; whether heads turn; whether there are positions
// (else row r takes row r of cos and sin); whether there is one, for the first row; whether pairs are
// neighbours (else halves are paired).
#ifndef WEBNND_SHADERS_ROTATION_GLSL_
#define WEBNND_SHADERS_ROTATION_GLSL_

#include "fours.glsl"
#include "index.glsl"

layout(constant_id = ROTATION_FIRST_CONSTANT) const uint kPositionType = 0u;
layout(constant_id = ROTATION_FIRST_CONSTANT + 1) const uint kTurns = 0u;
layout(constant_id = ROTATION_FIRST_CONSTANT + 2) const uint kHasPositions = 0u;
layout(constant_id = ROTATION_FIRST_CONSTANT + 3) const uint kConsecutive = 0u;
layout(constant_id = ROTATION_FIRST_CONSTANT + 4) const uint kInterleaved = 0u;

READ_SLOT(5)
READ_SLOT_WIDE(5)
DECLARE_LOAD_FOURS(5)
READ_SLOT(6)
READ_SLOT_WIDE(6)
DECLARE_LOAD_FOURS(6)
READ_SLOT(7)

// The row of cos and sin, of `rows`, for row `row` of a sequence.
uint TableRow(uint row, uint rows) {
  if (kHasPositions == 0u) return min(row, rows - 1u);
  if (kConsecutive == 0u) return LOAD_INDEX(7, kPositionType, row, rows);
  // The sum wraps as it does where it is an operator of its own.
  uvec2 position = LOAD_RAW(7, kPositionType, 0u);
  uvec2 sum = uvec2(position.x + row, position.y);
  if (sum.x < row) ++sum.y;
  return ClampIndex(sum, kPositionType, rows);
}

// Where the other elements of the pairs start, for the elements from d on.
uint PartnerOf(uint d, uint rotary_size) {
  uint half_size = rotary_size >> 1;
  if (kInterleaved != 0u || d >= rotary_size) return d;
  return d < half_size ? d + half_size : d - half_size;
}

// Elements d to d + 3 of a head; `partner` are those that start at PartnerOf(d).
vec4 Turn(uint type, vec4 x, vec4 partner, uint d, uint rotary_size, uint table_row) {
  uint half_size = rotary_size >> 1;
  uint angle = table_row * half_size;
  vec4 cosine, sine, other;
  if (kInterleaved != 0u) {
    angle += min(d, rotary_size - 4u) >> 1;
    vec2 c = vec2(LOAD(5, type, angle), LOAD(5, type, angle + 1u));
    vec2 s = vec2(LOAD(6, type, angle), LOAD(6, type, angle + 1u));
    cosine = c.xxyy;
    sine = s.xxyy * vec4(-1.0, 1.0, -1.0, 1.0);
    other = x.yxwz;
  } else {
    bool is_first = d < half_size;
    angle += is_first ? d : min(d - half_size, half_size - 4u);
    cosine = LoadFours5(type, angle >> 2);
    sine = LoadFours6(type, angle >> 2) * (is_first ? -1.0 : 1.0);
    other = partner;
  }
  return d < rotary_size ? x * cosine + other * sine : x;
}

#endif  // WEBNND_SHADERS_ROTATION_GLSL_

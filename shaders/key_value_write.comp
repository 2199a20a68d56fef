// Writes rows of keys, which may turn first (rotation.glsl), and of values into a cache: slots 1 keys,
// 2 values, 4 start -> 3 and 8 the cache of keys and of values, [heads, capacity, head size]. Row r
// goes to row start + offset + r of every head, an index of scatterND; where several go to one, the
// last one stays.
//
// Parameters: 0 fours of elements in all rows; 1 capacity; 2 offset; 3 rows; divisors (Divide) 4..6
// fours of a head, 8..10 heads; 12 fours of a row of keys; 13 fours before its first head; 14, 15 the
// same of values; 16 rotary size; 17 rows of cos and sin; 18 whether start + offset + r is modulo 2^32.
// Specialisation constants: 1 data type; 2 whether there is a start (else it is 0); 3 and on those of
// the rotation.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROTATION_FIRST_CONSTANT 3
#include "rotation.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasStart = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_LOAD_FOURS(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
DECLARE_LOAD_FOURS(2)
WRITE_SLOT(3)
READ_SLOT(4)
WRITE_SLOT(8)

// The row of the cache for row `row`.
uint Place(uint row) {
  uint start = kHasStart != 0u ? LOAD_WORD(4, 0u) : 0u;
  uint offset = P(2) + row;
  uint place = P(18) != 0u ? start + offset : uint(AddSaturated(int(start), int(offset)));
  return ClampIndex(uvec2(place, 0u), kInt32, P(1));
}

vec4 LoadKeys(uint first, uint four, uint row) {
  vec4 x = LoadFours1(kType, first + four);
  if (kTurns == 0u) return x;
  uint d = 4u * four;
  vec4 partner = LoadFours1(kType, first + (PartnerOf(d, P(16)) >> 2));
  return Turn(kType, x, partner, d, P(16), TableRow(row, P(17)));
}

void main() {
  uvec3 fours = P4(1).xyz;
  uvec3 heads = P4(2).xyz;
  GRID_STRIDE_LOOP(i, P(0)) {
    uint line = Divide(i, fours);
    uint four = i - line * fours.x;
    uint row = Divide(line, heads);
    uint head = line - row * heads.x;
    uint place = Place(row);
    uint to = (head * P(1) + place) * fours.x + four;
    vec4 keys = LoadKeys(row * P(12) + P(13) + head * fours.x, four, row);
    vec4 values = LoadFours2(kType, row * P(14) + P(15) + head * fours.x + four);
    if (row + 1u == P(3) || Place(row + 1u) != place) {
      STORE_FOURS(3, kType, to, keys)
      STORE_FOURS(8, kType, to, values)
    }
  }
}

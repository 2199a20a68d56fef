// Rotary position embedding: slots 1 x, 2 cos, 3 sin, 4 positions -> 5 the result, which is laid
// out like x: [rows, heads, head size], or [batch, heads, sequence, head size].
//
// Parameters: 0 elements; 1 rotary size; 2 rows of cos and sin; divisors (Divide) 4..6 head size,
// 8..10 heads, 12..14 sequence. Specialisation constants: 1 data type; 2 of positions; 3 whether
// there are positions (else row r takes row r of cos and sin); 4 whether there is one, for the first
// row of a sequence; 5 whether pairs are neighbours (else halves are paired); 6 whether heads come
// before rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kPositionType = 0u;
layout(constant_id = 3) const uint kHasPositions = 0u;
layout(constant_id = 4) const uint kConsecutive = 0u;
layout(constant_id = 5) const uint kInterleaved = 0u;
layout(constant_id = 6) const uint kHeadsFirst = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)
WRITE_SLOT(5)

// The row of cos and sin for row `row`, which is row `step` of its sequence.
uint TableRow(uint row, uint step) {
  uint rows = P(2);
  if (kHasPositions == 0u) return min(row, rows - 1u);
  if (kConsecutive == 0u) return LOAD_INDEX(4, kPositionType, row, rows);
  // The sum wraps as it does where it is an operator of its own.
  uvec2 position = LOAD_RAW(4, kPositionType, 0u);
  uvec2 sum = uvec2(position.x + step, position.y);
  if (sum.x < step) ++sum.y;
  return ClampIndex(sum, kPositionType, rows);
}

uvec2 ComputeElement(uint e) {
  uint rotary_size = P(1);
  uint half_size = rotary_size >> 1;
  uvec3 head_size = P4(1).xyz;
  uvec3 heads = P4(2).xyz;
  uvec3 sequence = P4(3).xyz;
  uint head = Divide(e, head_size);
  uint d = e - head * head_size.x;
  if (d >= rotary_size) return LOAD_RAW(1, kType, e);
  uint row, step;
  if (kHeadsFirst == 0u) {
    row = Divide(head, heads);
    step = row - Divide(row, sequence) * sequence.x;
  } else {
    uint line = Divide(head, sequence);
    step = head - line * sequence.x;
    row = Divide(line, heads) * sequence.x + step;
  }
  bool is_first = kInterleaved != 0u ? (d & 1u) == 0u : d < half_size;
  uint to_partner = kInterleaved != 0u ? 1u : half_size;
  uint angle = kInterleaved != 0u ? d >> 1 : is_first ? d : d - half_size;
  uint at = TableRow(row, step) * half_size + angle;
  float partner = LOAD(1, kType, is_first ? e + to_partner : e - to_partner);
  float turned = partner * LOAD(3, kType, at);
  return Encode(LOAD(1, kType, e) * LOAD(2, kType, at) + (is_first ? -turned : turned), kType);
}

void main() { STORE_ELEMENTS(5, kType, P(0), ComputeElement); }

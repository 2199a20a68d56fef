// scatterElements: writes the elements of slot 2 into slot 3 at the places along one axis that the
// indices of slot 1 name. An invocation takes the updates of a row along the axis one after the other,
// so that the last wins where several name one place.
//
// Parameters: 0 rows; 1 updates of a row; 2 size of the axis of the result; 4..6 elements behind the
// axis, as divisor. Specialisation constants: 1 element type, 2 data type of the indices, 3 whether an
// invocation takes four neighbouring rows, whose elements lie in quads and are as wide as words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kByFour = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)

struct Row {
  uint updates;  // Where its elements start in the updates and the result.
  uint result;
  uint stride;
};

Row RowAt(uint index) {
  uvec3 inner = P4(1).xyz;
  uint outer = Divide(index, inner);
  uint in_row = index - outer * inner.x;
  return Row(outer * P(1) * inner.x + in_row, outer * P(2) * inner.x + in_row, inner.x);
}

void ScatterRow(Row row) {
  for (uint k = UNKNOWN_ZERO; k < P(1); ++k) {
    uint from = row.updates + k * row.stride;
    uint to = row.result + LOAD_INDEX(1, kIndexType, from, P(2)) * row.stride;
    uvec2 raw = LOAD_RAW(2, kType, from);
    STORE_ELEMENT(3, kType, to, raw)
  }
}

// The same of four neighbouring rows. Their next updates are a page away and nobody sees them coming: some
// are loaded before the first of them is stored.
void ScatterFour(Row row) {
  const uint kAtOnce = 4u;
  const bool wide = BitsLog2(kIndexType) == 6u;
  for (uint k = UNKNOWN_ZERO; k < P(1); k += kAtOnce) {
    uvec4 low[kAtOnce];
    uvec4 high[kAtOnce];
    uvec4 values[kAtOnce];
    [[unroll]] for (uint u = 0u; u < kAtOnce; ++u) {
      const uint from = row.updates + min(k + u, P(1) - 1u) * row.stride;
      low[u] = LOAD_QUAD(1, wide ? from >> 1 : from >> 2);
      high[u] = wide ? LOAD_QUAD(1, (from >> 1) + 1u) : low[u];
      values[u] = LOAD_QUAD(2, from >> 2);
    }
    [[unroll]] for (uint u = 0u; u < kAtOnce; ++u) {
      const bool is_there = k + u < P(1);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        const uvec4 quad = wide && i >= 2u ? high[u] : low[u];
        const uint index = ClampIndex(ElementOfQuad(quad, kIndexType, wide ? i & 1u : i), kIndexType, P(2));
        if (is_there) STORE_WORD(3, row.result + i + index * row.stride, values[u][i]);
      }
    }
  }
}

void main() {
  if (kByFour != 0u) {
    GRID_STRIDE_LOOP(i, P(0) >> 2) { ScatterFour(RowAt(4u * i)); }
  } else {
    GRID_STRIDE_LOOP(i, P(0)) { ScatterRow(RowAt(i)); }
  }
}

// Kernels that read a row of an axis and write as long a row: slot 1 -> slot 2, both [outer, axis,
// inner] of one float or integer type.
//
// Parameters: 0 rows (outer * inner); 1 size of the axis; 4..6 inner as divisor.
#ifndef WEBNND_SHADERS_ROWS_GLSL_
#define WEBNND_SHADERS_ROWS_GLSL_

#include "tensor.glsl"

uint RowBase(uint row) {
  uvec3 inner = P4(1).xyz;
  uint outer = Divide(row, inner);
  return outer * P(1) * inner.x + (row - outer * inner.x);
}

// Writes one element where the row's owner writes no whole words. float16 shares its word with
// another row.
#define STORE_ROW_ELEMENT(slot, type, e, raw)                                                     \
  {                                                                                               \
    if ((type) == kFloat16) {                                                                     \
      uint shift_ = ((e) & 1u) << 4;                                                              \
      MERGE_WORD(slot, (e) >> 1, 0xffffu << shift_, (raw).x << shift_);                           \
    } else if (BitsLog2(type) == 6u) {                                                            \
      STORE_WORD(slot, 2u * (e), (raw).x);                                                        \
      STORE_WORD(slot, 2u * (e) + 1u, (raw).y);                                                   \
    } else {                                                                                      \
      STORE_WORD(slot, e, (raw).x);                                                               \
    }                                                                                             \
  }

#endif  // WEBNND_SHADERS_ROWS_GLSL_

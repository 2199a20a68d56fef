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

#endif  // WEBNND_SHADERS_ROWS_GLSL_

// Sets words of slot 1 to one value. Parameters: 0 words; 1 value.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

WRITE_SLOT(1)

void main() {
  uint count = P(0);
  uint value = P(1);
  GRID_STRIDE_LOOP(i, (count + 3u) >> 2) { STORE_QUAD_BEFORE(1, i, count, uvec4(value)) }
}

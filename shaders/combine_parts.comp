// Adds up the parts of a product's sums (shared_tile.glsl): result[e] = activation(sum over p of
// parts[p, e]), in this order. Slots: 1 the parts, float32; 2 the result.
//
// Parameters: 0 elements of the result; 1 parts; 2 elements from one part to the next, a multiple of 4.
// Specialisation constants: 1 data type of the result; 2 the activation (epilogue.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

#include "product_loads.glsl"
#define EPILOGUE_CONSTANT 2
#include "epilogue.glsl"

layout(constant_id = 1) const uint kType = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

DECLARE_LOAD_FOUR(1, kFloat32)

// Parts whose loads are on their way at once.
const uint kAtOnce = 4u;

vec4 SumOfParts(uint e) {
  vec4 sum = vec4(0.0);
  for (uint first = 0u; first < P(1); first += kAtOnce) {
    vec4 parts[kAtOnce];
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      // Beyond the last one it stands in.
      parts[i] = LoadFour1(min(first + i, P(1) - 1u) * P(2) + e);
    }
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) sum += first + i < P(1) ? parts[i] : vec4(0.0);
  }
  return sum;
}

void main() {
  const uint words = WordsOf(kType, P(0));
  GRID_STRIDE_LOOP(i, (P(0) + 3u) / 4u) {
    vec4 values = SumOfParts(4u * i);
    [[unroll]] for (uint k = 0u; k < 4u; ++k) values[k] = Activate(values[k]);
    if (kType == kFloat32) {
      STORE_QUAD_BEFORE(2, i, words, floatBitsToUint(values))
    } else {
      // Of elements that are not there, nothing.
      uvec4 halves;
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        halves[k] = 4u * i + k < P(0) ? FloatToHalf(values[k]) : 0u;
      }
      STORE_WORD(2, 2u * i, halves.x | (halves.y << 16));
      if (2u * i + 1u < words) STORE_WORD(2, 2u * i + 1u, halves.z | (halves.w << 16));
    }
  }
}

// What the kernels for depthwise convolutions share: operands, and how four neighbours of a line are
// finished and stored. depthwise_conv2d.comp says what the constants and slots are.
#ifndef WEBNND_SHADERS_DEPTHWISE_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_GLSL_

#include "fours.glsl"
#include "window.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kChannelsLast = 0u;
layout(constant_id = 3) const uint kHasBias = 0u;
layout(constant_id = 4) const uint kIsAligned = 0u;
layout(constant_id = 5) const uint kFilterByFour = 0u;
layout(constant_id = 6) const uint kHasResidual = 0u;

#define EPILOGUE_CONSTANT 7
#include "epilogue.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
READ_SLOT_WIDE(5)
DECLARE_LOAD_FOURS(1)
DECLARE_LOAD_FOURS_INSIDE(1)
DECLARE_LOAD_FOURS(2)
DECLARE_LOAD_FOURS(5)

const uint kHeight = 6u;
const uint kWidth = 9u;

// Of elements e to e + 3, of which `count` are in the line.
vec4 LoadResidual(uint e, uint count) {
  if (kIsAligned != 0u) return LoadFours5(kType, e >> 2);
  vec4 residual = vec4(0.0);
  for (uint i = 0u; i < count; ++i) residual[i] = LOAD(5, kType, e + i);
  return residual;
}

// Elements e to e + 3, of which `count` are in the line.
void StoreFour(uint e, uint count, vec4 values) {
  if (kIsAligned != 0u && kType == kFloat32) {
    STORE_QUAD(3, e >> 2, floatBitsToUint(values))
  } else if (kIsAligned != 0u) {
    STORE_WORD(3, e >> 1, FloatToHalf(values.x) | (FloatToHalf(values.y) << 16));
    STORE_WORD(3, (e >> 1) + 1u, FloatToHalf(values.z) | (FloatToHalf(values.w) << 16));
  } else {
    for (uint i = 0u; i < count; ++i) STORE_ELEMENT(3, kType, e + i, Encode(values[i], kType))
  }
}

// Adds the residual to `sums`, elements e to e + 3, activates and stores them.
void FinishFour(uint e, uint count, vec4 sums) {
  if (kHasResidual != 0u) sums += LoadResidual(e, count);
  if (kActivation != kNoActivation) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sums[i] = Activate(sums[i]);
  }
  StoreFour(e, count, sums);
}

#endif  // WEBNND_SHADERS_DEPTHWISE_GLSL_

// slot 1 with a border -> slot 2, both packed.
//
// Parameters: 0 elements of the result; 1 rank; 2, 3 raw bits of the constant; from 4 per dimension,
// outermost first, {size of the result, multiplier, shift, elements before} and {size, stride of slot
// 1, 0, 0}. Specialisation constants: 1 data type, 2 mode: MLPaddingMode (0 constant, 1 edge, 2
// reflection, 3 symmetric: as reflection, with the edge repeated).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kMode = 0u;

READ_SLOT(1)
WRITE_SLOT(2)

uvec2 ComputeElement(uint e) {
  uint source = 0u;
  bool inside = true;
  uint rest = e;
  for (uint d = P(1); d > 0u; --d) {
    uvec4 result = P4(2u * d - 1u);
    uvec4 operand = P4(2u * d);
    uint outer = Divide(rest, result.xyz);
    int position = int(rest - outer * result.x) - int(result.w);
    int last = int(operand.x) - 1;
    rest = outer;
    if (kMode == 0u) {
      inside = inside && position >= 0 && position <= last;
    } else if (kMode == 2u) {
      position = abs(position);
      position = position > last ? 2 * last - position : position;
    } else if (kMode == 3u) {
      position = position < 0 ? -1 - position : position;
      position = position > last ? 2 * last + 1 - position : position;
    }
    source += uint(clamp(position, 0, last)) * operand.y;
  }
  if (kMode == 0u && !inside) return uvec2(P(2), P(3));
  return LOAD_RAW(1, kType, source);
}

void main() { STORE_ELEMENTS(2, kType, P(0), ComputeElement); }

// Windows that slide over one spatial dimension of an image: which of their taps lie within it.
//
// A dimension takes three uvec4 of the parameters from number `axis` on: {size of the image, taps
// of the window, padding before the image, 0}, then the dilation and the stride as divisors.
#ifndef WEBNND_SHADERS_WINDOW_GLSL_
#define WEBNND_SHADERS_WINDOW_GLSL_

#include "tensor.glsl"

#define WINDOW_DILATION(axis) (P4((axis) + 1u).x)
#define WINDOW_STRIDE(axis) (P4((axis) + 2u).x)

// Taps from .x on and below .y lie within the image where the window is at `position`. Tap k is
// then at WindowStart(axis, position) + k * WINDOW_DILATION(axis), modulo 2^32.
uvec2 TapsInside(uint axis, uint position) {
  uvec4 sizes = P4(axis);
  uvec3 dilation = P4(axis + 1u).xyz;
  uint start = position * WINDOW_STRIDE(axis);  // Counted from the start of the padding.
  uint end = sizes.z + sizes.x;
  if (start >= end) return uvec2(0u);
  uint first = start < sizes.z ? Divide(sizes.z - start - 1u, dilation) + 1u : 0u;
  return uvec2(first, min(sizes.y, Divide(end - start - 1u, dilation) + 1u));
}
uint WindowStart(uint axis, uint position) { return position * WINDOW_STRIDE(axis) - P4(axis).z; }

// The transposed window: tap k of position i of the image lands on i * stride + k * dilation -
// padding. Taps below .x or from .y on land elsewhere than `target` from any position.
uvec2 TapsOnto(uint axis, uint target) {
  uvec4 sizes = P4(axis);
  uvec3 dilation = P4(axis + 1u).xyz;
  uint reached = target + sizes.z;
  uint last_start = (sizes.x - 1u) * WINDOW_STRIDE(axis);
  uint first = reached > last_start ? Divide(reached - last_start - 1u, dilation) + 1u : 0u;
  return uvec2(first, min(sizes.y, Divide(reached, dilation) + 1u));
}
// Whether tap k (of TapsOnto) lands on `target`, and from which position of the image.
bool FindSource(uint axis, uint target, uint k, out uint position) {
  uint start = target + P4(axis).z - k * WINDOW_DILATION(axis);
  position = Divide(start, P4(axis + 2u).xyz);
  return position * WINDOW_STRIDE(axis) == start;
}

#endif  // WEBNND_SHADERS_WINDOW_GLSL_

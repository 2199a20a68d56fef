// Indices of gather and scatter: negative ones count from the end, then every index is clamped, so
// that none leaves its dimension whatever the client wrote.
#ifndef WEBNND_SHADERS_INDEX_GLSL_
#define WEBNND_SHADERS_INDEX_GLSL_

#include "tensor.glsl"

uint ClampIndex(uvec2 raw, uint type, uint size) {
  int index = int(raw.x);
  if (type == kInt64) {
    int high = int(raw.y);
    // Beyond 32 bits only the sign matters: sizes are below 2^31.
    if (high != (index >> 31)) index = high < 0 ? int(0x80000000u) : 0x7fffffff;
  } else if (type == kUint32) {
    index = int(min(raw.x, 0x7fffffffu));
  }
  if (index < 0) index += int(size);
  return uint(clamp(index, 0, int(size) - 1));
}

// a + b, or the end of the numbers of 32 bits where that is beyond.
int AddSaturated(int a, int b) {
  int sum = a + b;
  const bool is_beyond = ((a ^ sum) & (b ^ sum)) < 0;
  const int end = (a >> 31) ^ 0x7fffffff;
  return is_beyond ? end : sum;
}

#define LOAD_INDEX(slot, type, i, size) ClampIndex(LOAD_RAW(slot, type, i), type, size)

#endif  // WEBNND_SHADERS_INDEX_GLSL_

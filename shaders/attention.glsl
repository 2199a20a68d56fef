// Which keys a row of attention sees, and how they are divided between workgroups.
#ifndef WEBNND_SHADERS_ATTENTION_GLSL_
#define WEBNND_SHADERS_ATTENTION_GLSL_

#include "index.glsl"
#include "tensor.glsl"

// Keys that are worth a workgroup of their own: on GPUs a block for each team.
#if TENSOR_READS == READS_STORAGE
const uint kKeysPerSplitMin = 128u;
#else
const uint kKeysPerSplitMin = 64u;
#endif
// Of which splits have whole numbers: as many keys as a team (attention.comp) looks at together, or twice that.
const uint kKeysPerBlock = 8u;

struct Keys {
  uint begin;
  uint end;
  bool is_nothing;  // The row sees none; begin and end are then those of all keys.
};

// Those before limit + beyond (modulo 2^32, signed numbers, whose sum is not), of `capacity`, at most
// `window`.
Keys VisibleKeys(uint limit, uint beyond, uint capacity, uint window) {
  uint end = uint(clamp(AddSaturated(int(limit), int(beyond)), 0, int(capacity)));
  if (end == 0u) return Keys(0u, capacity, true);
  return Keys(end - min(end, window), end, false);
}

// Into how many splits, of `splits` at most, so many keys are divided; and the keys of each.
uvec2 DivideKeys(uint count, uint splits) {
  uint used = clamp(count / kKeysPerSplitMin, 1u, splits);
  uint size = (count + used - 1u) / used;
  size = (size + kKeysPerBlock - 1u) & ~(kKeysPerBlock - 1u);
  return uvec2((count + size - 1u) / size, size);
}

#endif  // WEBNND_SHADERS_ATTENTION_GLSL_

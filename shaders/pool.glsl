// What windows make of their taps, for modules with constants kOperation (operations.inc) and kType, the data type.
#ifndef WEBNND_SHADERS_POOL_GLSL_
#define WEBNND_SHADERS_POOL_GLSL_

#include "arithmetic.glsl"

#define POOL_OPERATION(name, value) const uint kPool##name = value;
#include "operations.inc"

VALUE Least() {
#if COMPUTE == COMPUTE_FLOAT
  return -INFINITY;
#elif COMPUTE == COMPUTE_INT
  if (kType == kUint8) return 0;
  return kType == kInt8 ? -128 : int(0x80000000u);
#elif COMPUTE == COMPUTE_INT64
  return int64_t(packUint2x32(uvec2(0u, 0x80000000u)));
#else
  return VALUE(0);
#endif
}

VALUE Identity() { return kOperation == kPoolMax ? Least() : VALUE(0); }

VALUE Combine(VALUE a, VALUE b) { return kOperation == kPoolMax ? Max(a, b) : a + b; }

VALUE MapTap(VALUE tap) { return kOperation == kPoolL2 ? tap * tap : tap; }

VALUE Finish(VALUE x, uvec2 counts) {
#if COMPUTE == COMPUTE_FLOAT
  // As floats: their product may be beyond 32 bits.
  if (kOperation == kPoolAverage) return x / max(float(counts.x) * float(counts.y), 1.0);
  if (kOperation == kPoolL2) return sqrt(x);
#endif
  return x;
}

#endif  // WEBNND_SHADERS_POOL_GLSL_

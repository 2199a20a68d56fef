// Kernels in which a workgroup shares the work on one element of the result.
#ifndef WEBNND_SHADERS_WORKGROUP_GLSL_
#define WEBNND_SHADERS_WORKGROUP_GLSL_

#include "tensor.glsl"

#include "subgroup.glsl"

// As STORE_ELEMENTS, of 8 bits and more, but all invocations of a workgroup call COMPUTE_ELEMENT(e)
// together, which gives each of them the raw bits; the first one writes.
#define STORE_ELEMENTS_BY_WORKGROUP(slot, type, count, COMPUTE_ELEMENT)                         \
  WORKGROUP_STRIDE_LOOP(element_, count) {                                                      \
    const uvec2 raw_ = COMPUTE_ELEMENT(element_);                                               \
    if (gl_LocalInvocationID.x == 0u) STORE_ELEMENT(slot, type, element_, raw_)                 \
  }

// The value of invocation `lane` of the subgroup.
#define VALUE_OF(type) \
  type ValueOf(type value, uint lane) { return subgroupShuffle(value, lane); }
VALUE_OF(float)
VALUE_OF(vec2)
VALUE_OF(int)
VALUE_OF(uint)
VALUE_OF(uvec2)
#undef VALUE_OF
uint64_t ValueOf(uint64_t value, uint lane) {
  return packUint2x32(ValueOf(unpackUint2x32(value), lane));
}
int64_t ValueOf(int64_t value, uint lane) { return int64_t(ValueOf(uint64_t(value), lane)); }

// Whether a workgroup is several whole subgroups, one after the other.
bool FoldsBySubgroups() {
#if TENSOR_READS == READS_STORAGE
  return kSubgroupSize != 0u && gl_WorkGroupSize.x % max(kSubgroupSize, 1u) == 0u;
#else
  return false;
#endif
}

// Declares `name`, which folds `value` over a workgroup in a fixed order: every invocation gets the
// result. COMBINE(a, b) is evaluated on values of type `type`, for which there is a ValueOf, and does not
// depend on their order. A small workgroup that is one subgroup, as on llvmpipe, needs no shared memory and
// no barrier; there a loop by powers of two, with its `if`, would not be unrolled, and only lanes that differ by
// constants are cheap. Of a few subgroups, as on GPUs, each folds its own values first.
#define WORKGROUP_FOLD(name, type, COMBINE)                                              \
  shared type name##Shared[gl_WorkGroupSize.x];                                          \
  type name(type value) {                                                                \
    const uint size = gl_WorkGroupSize.x;                                                \
    if (size == kSubgroupSize && size <= 16u) {                                        \
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {                                        \
        const uint other = gl_SubgroupInvocationID ^ (1u << i);                          \
        if (1u << i < size) value = COMBINE(value, ValueOf(value, other));               \
      }                                                                                  \
      return value;                                                                      \
    }                                                                                    \
    if (FoldsBySubgroups()) {                                                            \
      for (uint step = 1u; step < kSubgroupSize; step *= 2u) {                           \
        value = COMBINE(value, ValueOf(value, gl_SubgroupInvocationID ^ step));          \
      }                                                                                  \
      if (gl_SubgroupInvocationID == 0u) name##Shared[gl_SubgroupID] = value;            \
      barrier();                                                                         \
      type all = name##Shared[0];                                                        \
      for (uint i = 1u; i < size / kSubgroupSize; ++i) {                                 \
        all = COMBINE(all, name##Shared[i]);                                             \
      }                                                                                  \
      barrier();                                                                         \
      return all;                                                                        \
    }                                                                                    \
    const uint lane = gl_LocalInvocationID.x;                                            \
    name##Shared[lane] = value;                                                          \
    barrier();                                                                           \
    for (uint left = size; left > 1u;) {                                                 \
      uint kept = (left + 1u) / 2u;                                                      \
      if (lane + kept < left) {                                                          \
        name##Shared[lane] = COMBINE(name##Shared[lane], name##Shared[lane + kept]);     \
      }                                                                                  \
      left = kept;                                                                       \
      barrier();                                                                         \
    }                                                                                    \
    type result = name##Shared[0];                                                       \
    barrier();                                                                           \
    return result;                                                                       \
  }

#endif  // WEBNND_SHADERS_WORKGROUP_GLSL_

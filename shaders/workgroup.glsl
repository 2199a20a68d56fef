// Kernels in which a workgroup shares the work on one element of the result.
#ifndef WEBNND_SHADERS_WORKGROUP_GLSL_
#define WEBNND_SHADERS_WORKGROUP_GLSL_

#include "tensor.glsl"

// As STORE_ELEMENTS, but all invocations of a workgroup call COMPUTE_ELEMENT(e) together, which
// gives each of them the raw bits; the first one writes.
#define STORE_ELEMENTS_BY_WORKGROUP(slot, type, count, COMPUTE_ELEMENT)                         \
  {                                                                                             \
    const uint log2_bits_ = BitsLog2(type);                                                     \
    const uint log2_per_unit_ = log2_bits_ < 5u ? 5u - log2_bits_ : 0u;                         \
    const uint count_ = (count);                                                                \
    const uint units_ = (count_ + (1u << log2_per_unit_) - 1u) >> log2_per_unit_;               \
    WORKGROUP_STRIDE_LOOP(unit_, units_) {                                                      \
      uvec2 raw_ = uvec2(0u);                                                                   \
      for (uint k_ = 0u; k_ < (1u << log2_per_unit_); ++k_) {                                   \
        uint element_ = (unit_ << log2_per_unit_) + k_;                                         \
        if (element_ < count_) {                                                                \
          uvec2 bits_ = COMPUTE_ELEMENT(element_);                                              \
          raw_.x = log2_bits_ < 5u ? bitfieldInsert(raw_.x, bits_.x, int(k_ << log2_bits_),     \
                                                    int(1u << log2_bits_))                      \
                                   : bits_.x;                                                   \
          raw_.y = bits_.y;                                                                     \
        }                                                                                       \
      }                                                                                         \
      if (gl_LocalInvocationID.x == 0u) {                                                       \
        if (log2_bits_ == 6u) {                                                                 \
          STORE_WORD(slot, 2u * unit_, raw_.x);                                                 \
          STORE_WORD(slot, 2u * unit_ + 1u, raw_.y);                                            \
        } else {                                                                                \
          STORE_WORD(slot, unit_, raw_.x);                                                      \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }

// Declares `name`, which folds `value` over a workgroup in a fixed order: every invocation gets the
// result. COMBINE(a, b) is evaluated on values of type `type`.
#define WORKGROUP_FOLD(name, type, COMBINE)                                   \
  shared type name##Shared[gl_WorkGroupSize.x];                               \
  type name(type value) {                                                     \
    const uint lane = gl_LocalInvocationID.x;                                 \
    name##Shared[lane] = value;                                               \
    barrier();                                                                \
    for (uint left = gl_WorkGroupSize.x; left > 1u;) {                        \
      uint kept = (left + 1u) / 2u;                                           \
      if (lane + kept < left) {                                               \
        name##Shared[lane] = COMBINE(name##Shared[lane], name##Shared[lane + kept]); \
      }                                                                       \
      left = kept;                                                            \
      barrier();                                                              \
    }                                                                         \
    type result = name##Shared[0];                                            \
    barrier();                                                                \
    return result;                                                            \
  }

#endif  // WEBNND_SHADERS_WORKGROUP_GLSL_

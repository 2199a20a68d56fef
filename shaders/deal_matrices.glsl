// Units of work of up to MATRICES matrices, one matrix behind the other, dealt to who computes them.
#ifndef WEBNND_SHADERS_DEAL_MATRICES_GLSL_
#define WEBNND_SHADERS_DEAL_MATRICES_GLSL_

// The body of main(): `StrideLoop` deals, CountUnits(matrix) says how many units one has and
// ComputeUnit(matrix, unit) computes one.
#if MATRICES > 2
#define DEAL_MATRICES(StrideLoop, CountUnits, ComputeUnit) \
  const uint before = CountUnits(0u);                      \
  const uint before_last = before + CountUnits(1u);        \
  StrideLoop(unit, before_last + CountUnits(2u)) {         \
    if (unit < before) {                                   \
      ComputeUnit(0u, unit);                               \
    } else if (unit < before_last) {                       \
      ComputeUnit(1u, unit - before);                      \
    } else {                                               \
      ComputeUnit(2u, unit - before_last);                 \
    }                                                      \
  }
#else
#define DEAL_MATRICES(StrideLoop, CountUnits, ComputeUnit) \
  StrideLoop(unit, CountUnits(0u)) { ComputeUnit(0u, unit); }
#endif

#endif  // WEBNND_SHADERS_DEAL_MATRICES_GLSL_

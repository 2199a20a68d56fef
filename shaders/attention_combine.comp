// Puts together the parts of attention whose keys are divided (attention.comp): slots 1 parts, 2
// start -> 3 the result.
//
// Parameters: 0 fours of elements in the result; 1 splits; 2 lines (heads of all rows); 3 capacity;
// 4..6 fours of a line, as divisor; 7 reach; 8 window; 9 what is beyond. Specialisation constants:
// 1 data type of the result; 2 whether there is a start.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "attention.glsl"
#include "fours.glsl"
#include "math.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasStart = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
WRITE_SLOT(3)

vec4 LoadPart(uint i) { return uintBitsToFloat(LOAD_QUAD(1, i)); }

uint CountSplits() {
  uint start = kHasStart != 0u ? LOAD_WORD(2, 0u) : 0u;
  Keys keys = VisibleKeys(start + P(7), P(9), P(3), P(8));
  return DivideKeys(keys.end - keys.begin, P(1)).x;
}

// On GPUs: parts whose loads are on their way at once.
const uint kParts = 8u;

void main() {
  uvec3 fours = P4(1).xyz;
  GRID_STRIDE_LOOP(i, P(0)) {
    uint splits = CountSplits();
    uint line = Divide(i, fours);
    uint four = i - line * fours.x;
    vec4 sum = vec4(0.0);
    float weights = 0.0;
    float greatest = -3e38;
#if TENSOR_READS == READS_STORAGE
    for (uint first = 0u; first < splits; first += kParts) {
      vec2 scores[kParts];
      vec4 parts[kParts];
      float both = greatest;
      [[unroll]] for (uint i = 0u; i < kParts; ++i) {
        // Beyond the last one it stands in.
        uint part = (min(first + i, splits - 1u) * P(2) + line) * (fours.x + 1u);
        scores[i] = LoadPart(part + fours.x).xy;
        parts[i] = LoadPart(part + four);
      }
      [[unroll]] for (uint i = 0u; i < kParts; ++i) both = max(both, scores[i].x);
      float kept = ExpOfNegative(greatest - both);
      sum *= kept;
      weights *= kept;
      [[unroll]] for (uint i = 0u; i < kParts; ++i) {
        if (first + i < splits) {
          float added = ExpOfNegative(scores[i].x - both);
          sum += parts[i] * added;
          weights += scores[i].y * added;
        }
      }
      greatest = both;
    }
#else
    for (uint split = 0u; split < splits; ++split) {
      uint part = (split * P(2) + line) * (fours.x + 1u);
      vec2 scores = LoadPart(part + fours.x).xy;
      float both = max(greatest, scores.x);
      float kept = ExpOfNegative(greatest - both);
      float added = ExpOfNegative(scores.x - both);
      sum = sum * kept + LoadPart(part + four) * added;
      weights = weights * kept + scores.y * added;
      greatest = both;
    }
#endif
    sum /= weights;
    STORE_FOURS(3, kType, i, sum)
  }
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias for each row of slot 1, which is one piece:
// slot 1 -> slot 4. Slots 2 and 3 are scale and bias. A workgroup shares a row. On llvmpipe it has short ones in
// registers.
//
// Parameters: 0 rows; 1 fours of elements in a row; 2 epsilon (float); 3 whether a row may be summed
// twice; 4..6 elements of scale and bias as divisor, where rows take turns with them; 7 elements of a row. Specialisation
// constants: 1 data type, 2 whether there is a scale, 3 whether there is a bias, 4 whether scale and
// bias have an element for each of a row, not one for the row, 5 and 6 how many times kLanesMax elements rows in
// registers have at most (held_rows.glsl), or 0, and at least.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasScale = 0u;
layout(constant_id = 3) const uint kHasBias = 0u;
layout(constant_id = 4) const uint kAffineAlongRow = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
WRITE_SLOT(4)
DECLARE_LOAD_FOURS(1)
DECLARE_LOAD_FOURS(2)
DECLARE_LOAD_FOURS(3)
DECLARE_LOAD_TURN(1)
DECLARE_LOAD_TURN(2)
DECLARE_LOAD_TURN(3)

float Add(float a, float b) { return a + b; }
WORKGROUP_FOLD(FoldSum, float, Add)

// Of some elements, their number, mean and sum of squares around it, component by component; all less
// a shift.
struct Moments {
  float count;
  vec4 mean;
  vec4 squares;
};

// Adds kFoursAtOnce turns, `step` apart. Squares around the mean of few, so that a large mean takes
// nothing from them.
void AddFours(inout Moments moments, uint first, uint step, float shift) {
  const float added = float(kFoursAtOnce);
  vec4 x[kFoursAtOnce];
  vec4 mean = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < kFoursAtOnce; ++i) {
    x[i] = LoadTurn1(kType, first + i * step) - shift;
    mean += x[i];
  }
  mean *= 1.0 / added;
  [[unroll]] for (uint i = 0u; i < kFoursAtOnce; ++i) {
    vec4 distance = x[i] - mean;
    moments.squares += distance * distance;
  }
  float part = added / (moments.count + added);
  vec4 distance = mean - moments.mean;
  moments.squares += distance * distance * (moments.count * part);
  moments.mean += distance * part;
  moments.count += added;
}

void AddFour(inout Moments moments, uint i, float shift) {
  vec4 distance = LoadFours1(kType, i) - shift - moments.mean;
  float part = 1.0 / (moments.count + 1.0);
  moments.squares += distance * distance * (moments.count * part);
  moments.mean += distance * part;
  moments.count += 1.0;
}

// From so many deviations from the mean on, an element is no shift: what rounding takes from elements
// less it would show in those near the mean.
const float kOutlier = 4.0;

// What the elements of a row are multiplied by, and what is added then where that is one for the row.
vec2 FactorAndBias(uint row, float variance) {
  vec2 result = vec2(1.0 / sqrt(variance + uintBitsToFloat(P(2))), 0.0);
  if (kAffineAlongRow == 0u) {
    const uvec3 elements_of_affine = P4(1).xyz;
    const uint own = row - Divide(row, elements_of_affine) * elements_of_affine.x;
    if (kHasScale != 0u) result.x *= LOAD(2, kType, own);
    if (kHasBias != 0u) result.y = LOAD(3, kType, own);
  }
  return result;
}

#if TENSOR_READS == READS_TEXELS
layout(constant_id = 5) const uint kRowVectors = 0u;
layout(constant_id = 6) const uint kWholeVectors = 0u;
#include "held_rows.glsl"

// The mean of a row of which invocations hold vectors, with nothing beyond its elements. Parts of it are summed, which
// are finite wherever it is.
float MeanOfHeld(float x[kVectorsMax]) {
  const float part = 1.0 / float(P(7));
  precise float sum = 0.0;  // Of two vectors alone drivers would add before they multiply: other bits.
  FOR_VECTORS_OF_ROW(k) sum += x[k] * part;
  return FoldSum(sum);
}

void ComputeHeldRow(uint row) {
  const uint size = P(7);
  const uint base = UNIFORM(row * size);
  float x[kVectorsMax];
  FOR_VECTORS_OF_ROW(k) {
    x[k] = 0.0;
    IN_ROW(k, size, x[k] = LOAD(1, kType, base + PlaceInStretch(k)))
  }
  const float mean = MeanOfHeld(x);
  float squares[kVectorsMax];
  FOR_VECTORS_OF_ROW(k) {
    float distance = 0.0;
    IN_ROW(k, size, distance = x[k] - mean)
    x[k] = distance;
    squares[k] = distance * distance;
  }
  // What rounding took from the mean.
  const float rest = MeanOfHeld(x);
  const float variance = max(MeanOfHeld(squares) - rest * rest, 0.0);
  const vec2 affine = FactorAndBias(row, variance);
  FOR_VECTORS_OF_ROW(k) {
    float y = (x[k] - rest) * affine.x + affine.y;
    if (kAffineAlongRow != 0u && kHasScale != 0u) IN_ROW(k, size, y *= LOAD(2, kType, PlaceInStretch(k)))
    if (kAffineAlongRow != 0u && kHasBias != 0u) IN_ROW(k, size, y += LOAD(3, kType, PlaceInStretch(k)))
    IN_ROW(k, size, STORE_ELEMENT(4, kType, base + PlaceInStretch(k), Encode(y, kType)))
  }
}
#endif

void ComputeRow(uint row) {
  uint count = P(1);
  uint base = row * count;
  uint first = gl_LocalInvocationID.x;
  uint step = gl_WorkGroupSize.x;
  float elements = 4.0 * float(count);

  // Near the mean, so that what is summed is about as small as the elements differ: an element, and
  // where it is an outlier, which few are, the mean that came of it.
  float shift = LOAD(1, kType, 4u * base);
  float mean;
  float variance;
  bool may_shift = P(3) != 0u;
  bool again;
  do {
    Moments moments = Moments(0.0, vec4(0.0), vec4(0.0));
    uint turn = UNKNOWN_ZERO;
    for (; turn + kFoursAtOnce * step <= count; turn += kFoursAtOnce * step) {
      AddFours(moments, base + turn + first, step, shift);
    }
    for (uint next = turn + first; next < count; next += step) AddFour(moments, base + next, shift);
    mean = FoldSum(moments.count * SumOfFour(moments.mean)) / elements;
    vec4 distance = moments.mean - mean;
    vec4 squares = moments.squares + moments.count * distance * distance;
    variance = FoldSum(SumOfFour(squares)) / elements;
    again = may_shift && mean * mean > kOutlier * kOutlier * variance;
    may_shift = false;
    shift += again ? mean : 0.0;
  } while (again);
  // The whole mean in two floats: what is left of elements near it is then exact.
  precise float center = shift + mean;
  precise float added = center - shift;
  precise float rest = (shift - (center - added)) + (mean - added);

  const vec2 affine = FactorAndBias(row, variance);
  // What LOAD_OF(slot) loads of the row; of scale and bias, of as much of them.
#define NORMALIZED(x, LOAD_OF, i)                                                                   \
  vec4 x = (LOAD_OF##1(kType, base + (i)) - center - rest) * affine.x;                              \
  if (kAffineAlongRow == 0u) {                                                                      \
    x += affine.y;                                                                                  \
  } else {                                                                                          \
    if (kHasScale != 0u) x *= LOAD_OF##2(kType, i);                                                 \
    if (kHasBias != 0u) x += LOAD_OF##3(kType, i);                                                  \
  }
  uint turn = UNKNOWN_ZERO;
  for (; turn + kFoursAtOnce * step <= count; turn += kFoursAtOnce * step) {
    [[unroll]] for (uint i = 0u; i < kFoursAtOnce; ++i) {
      NORMALIZED(x, LoadTurn, turn + i * step + first)
      STORE_TURN(4, kType, base + turn + i * step + first, x)
    }
  }
  for (; turn + step <= count; turn += step) {
    NORMALIZED(x, LoadTurn, turn + first)
    STORE_TURN(4, kType, base + turn + first, x)
  }
  if (turn + first < count) {
    NORMALIZED(x, LoadFours, turn + first)
    STORE_FOURS(4, kType, base + turn + first, x)
  }
#undef NORMALIZED
}

void main() {
#if TENSOR_READS == READS_TEXELS
  if (kRowVectors > 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeHeldRow(row);
    return;
  }
#endif
  WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRow(row);
}

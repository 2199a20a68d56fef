// gain * x / sqrt(mean(x * x) + epsilon) for each row, with x = a + b + bias: slots 1 a, 2 gain,
// 3 b, 4 bias -> 5 the result, 6 x. A workgroup shares a row. With slot 7, row r of a is that of the
// r-th index there.
//
// Parameters: 0 rows; 1 units in a row; 2 elements in a row; 3 epsilon (float); 4 rows of a, where
// there are indices. A unit is what an invocation loads at once: four words, or one. Specialisation constants: 1 data type (a float16
// row is a whole number of words); 2 whether there is a b; 3 a bias; 4 whether x is wanted;
// 5 whether a unit is four words; 6 whether there are indices; 7 their data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasB = 0u;
layout(constant_id = 3) const uint kHasBias = 0u;
layout(constant_id = 4) const uint kHasSum = 0u;
layout(constant_id = 5) const uint kByQuad = 0u;
layout(constant_id = 6) const uint kHasIndices = 0u;
layout(constant_id = 7) const uint kIndexType = 2u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
READ_SLOT(4)
READ_SLOT_WIDE(4)
WRITE_SLOT(5)
WRITE_SLOT(6)
READ_SLOT(7)

float Add(float a, float b) { return a + b; }
WORKGROUP_FOLD(FoldSum, float, Add)

// The elements of a unit: of float32 those in .low alone, of single words .x alone (and .high.x).
struct Unit {
  vec4 low;   // Of float16, the lower halves of the words.
  vec4 high;  // The upper halves.
};

Unit Unpack(uvec4 words) {
  if (kType == kFloat32) return Unit(uintBitsToFloat(words), vec4(0.0));
  Unit unit;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    vec2 pair = unpackHalf2x16(words[i]);
    unit.low[i] = pair.x;
    unit.high[i] = pair.y;
  }
  return unit;
}

#define LOAD_UNIT(slot, i) \
  Unpack(kByQuad != 0u ? LOAD_QUAD(slot, i) : uvec4(LOAD_WORD(slot, i), 0u, 0u, 0u))

uint Pack(float low, float high) {
  return kType == kFloat32 ? floatBitsToUint(low) : FloatToHalf(low) | (FloatToHalf(high) << 16);
}

#define STORE_UNIT(slot, i, unit)                                                       \
  {                                                                                     \
    if (kByQuad != 0u) {                                                                \
      [[unroll]] for (uint k_ = 0u; k_ < 4u; ++k_) {                                    \
        STORE_WORD(slot, 4u * (i) + k_, Pack((unit).low[k_], (unit).high[k_]));         \
      }                                                                                 \
    } else {                                                                            \
      STORE_WORD(slot, i, Pack((unit).low.x, (unit).high.x));                           \
    }                                                                                   \
  }

// Unit `column` of row `row` of x; `row_of_a` is a's.
Unit LoadX(uint row_of_a, uint row, uint column) {
  const uint i = row * P(1) + column;
  Unit x = LOAD_UNIT(1, row_of_a * P(1) + column);
  if (kHasB != 0u) {
    Unit b = LOAD_UNIT(3, i);
    x.low += b.low;
    x.high += b.high;
  }
  if (kHasBias != 0u) {
    Unit bias = LOAD_UNIT(4, column);
    x.low += bias.low;
    x.high += bias.high;
  }
  return x;
}

void main() {
  uint units = P(1);
  WORKGROUP_STRIDE_LOOP(row, P(0)) {
    uint base = row * units;
    uint row_of_a = kHasIndices != 0u ? LOAD_INDEX(7, kIndexType, row, P(4)) : row;
    vec4 squares = vec4(0.0);
    LONG_LOOP(i, gl_LocalInvocationID.x, units, gl_WorkGroupSize.x) {
      Unit x = LoadX(row_of_a, row, i);
      if (kHasSum != 0u) STORE_UNIT(6, base + i, x)
      squares += x.low * x.low + x.high * x.high;
    }
    float sum = FoldSum(squares.x + squares.y + squares.z + squares.w);
    float scale = 1.0 / sqrt(sum / float(P(2)) + uintBitsToFloat(P(3)));
    LONG_LOOP(i, gl_LocalInvocationID.x, units, gl_WorkGroupSize.x) {
      Unit x = LoadX(row_of_a, row, i);
      Unit gain = LOAD_UNIT(2, i);
      x.low *= gain.low * scale;
      x.high *= gain.high * scale;
      STORE_UNIT(5, base + i, x)
    }
  }
}

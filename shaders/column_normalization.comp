// (x - mean) / sqrt(variance + epsilon) * scale + bias of the columns of slot 1 (column_parts.glsl) -> slot 6. Slots
// 2 and 3 are what column_moments.comp measured of their parts, or means and variances of all planes; 4 and 5 scale
// and bias.
//
// Parameters besides: in 1.w epsilon (float). Specialisation constants: 1 data type, 2 vectors of words that a lane
// takes, 3 whether means were measured, and else are of the same type, 4 whether there is a scale, 5 whether there
// is a bias, 6 whether they have an element for each row, not for each column.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kVectors = 1u;
layout(constant_id = 3) const uint kIsMeasured = 0u;
layout(constant_id = 4) const uint kHasScale = 0u;
layout(constant_id = 5) const uint kHasBias = 0u;
layout(constant_id = 6) const uint kAffineByRow = 0u;

#include "column_parts.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
WRITE_SLOT(6)

// Of a lane's columns, an element each.
struct Elements {
  float of[kColumnsMax];
};

// From a tensor with one for each column.
#define ELEMENTS_OF_COLUMNS(slot, elements, first)                                                      \
  {                                                                                                     \
    uint words_[kVectorsMax];                                                                                     \
    FOR_VECTORS(k) words_[k] = LOAD_WORD(slot, UNIFORM(FirstOfVector(first, k)) + gl_SubgroupInvocationID); \
    FOR_COLUMNS(c) elements.of[c] = COLUMN_OF(words_, c);                                               \
  }

// The mean of part `i` of a plane, and its sum of squares.
#define MEAN_OF_PART(i, c) uintBitsToFloat(LOAD_WORD(2, PlaceOfColumn((i) * P4(2).w + plane, first, c)))
#define SQUARES_OF_PART(i, c) uintBitsToFloat(LOAD_WORD(3, PlaceOfColumn((i) * P4(2).w + plane, first, c)))

float RowsOfPart(uint i) { return float(min(P(3), P(1) - i * P(3))); }

void CombineParts(uint plane, uint first, out Elements mean, out Elements variance) {
  const uint parts = P4(2).x;
  const float count = float(P(1));
  Elements origin, distance, squares;
  FOR_COLUMNS(c) {
    origin.of[c] = MEAN_OF_PART(0u, c);  // Less it, means are about as small as they differ.
    distance.of[c] = 0.0;
    squares.of[c] = SQUARES_OF_PART(0u, c);
  }
  for (uint i = 1u + UNKNOWN_ZERO; i < parts; ++i) {
    FOR_COLUMNS(c) distance.of[c] += RowsOfPart(i) * (MEAN_OF_PART(i, c) - origin.of[c]);
  }
  FOR_COLUMNS(c) {
    distance.of[c] /= count;
    mean.of[c] = origin.of[c] + distance.of[c];
    squares.of[c] += RowsOfPart(0u) * distance.of[c] * distance.of[c];
  }
  for (uint i = 1u + UNKNOWN_ZERO; i < parts; ++i) {
    FOR_COLUMNS(c) {
      const float apart = MEAN_OF_PART(i, c) - origin.of[c] - distance.of[c];
      squares.of[c] += SQUARES_OF_PART(i, c) + RowsOfPart(i) * apart * apart;
    }
  }
  FOR_COLUMNS(c) variance.of[c] = squares.of[c] / count;
}

void Normalize(Part part, uint first) {
  Elements mean, variance, scale, bias;
  if (kIsMeasured != 0u) {
    CombineParts(part.plane, first, mean, variance);
  } else {
    ELEMENTS_OF_COLUMNS(2, mean, first)
    ELEMENTS_OF_COLUMNS(3, variance, first)
  }
  if (kHasScale != 0u && kAffineByRow == 0u) ELEMENTS_OF_COLUMNS(4, scale, first)
  if (kHasBias != 0u && kAffineByRow == 0u) ELEMENTS_OF_COLUMNS(5, bias, first)
  Elements factor;
  FOR_COLUMNS(c) {
    factor.of[c] = 1.0 / sqrt(variance.of[c] + uintBitsToFloat(P4(1).w));
    if (kHasScale != 0u && kAffineByRow == 0u) factor.of[c] *= scale.of[c];
  }
  for (uint row = part.begin; row < part.end; ++row) {
    const uint base = (part.plane * P(1) + row) * P(2);
    float row_scale = 1.0;
    float row_bias = 0.0;
    if (kHasScale != 0u && kAffineByRow != 0u) row_scale = LOAD(4, kType, UNIFORM(row));
    if (kHasBias != 0u && kAffineByRow != 0u) row_bias = LOAD(5, kType, UNIFORM(row));
    uint words[kVectorsMax];
    LOAD_ROW_OF_PART(words, 1, part, row, first)
    FOR_VECTORS(k) {
      uint bits = 0u;
      [[unroll]] for (uint h = 0u; h < kPerWord; ++h) {
        const uint c = k * kPerWord + h;
        float x = (COLUMN_OF(words, c) - mean.of[c]) * factor.of[c];
        if (kAffineByRow != 0u) {
          x = x * row_scale + row_bias;
        } else if (kHasBias != 0u) {
          x += bias.of[c];
        }
        bits |= Encode(x, kType).x << (16u * h);
      }
      STORE_WORD(6, UNIFORM(base + FirstOfVector(first, k)) + gl_SubgroupInvocationID, bits);
    }
  }
}

void main() { COLUMN_PARTS_LOOP(Normalize) }

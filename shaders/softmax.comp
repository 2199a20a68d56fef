// exp(x - max) / sum(exp(x - max)) along an axis (rows.glsl).
//
// Specialisation constants: 1 data type, 2 whether a workgroup shares a row, 3 whether rows are quads
// (four words) of float32, one after the other, and shared.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "rows.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;
layout(constant_id = 3) const uint kQuads = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

float Add(float a, float b) { return a + b; }
WORKGROUP_FOLD(FoldMax, float, Max)
WORKGROUP_FOLD(FoldSum, float, Add)

struct Row {
  uint base;
  uint size;
  uint stride;
  float greatest;
  float scale;
};

float ComputeElement(Row row, uint e) {
  return Exp(LOAD(1, kType, e) - row.greatest) * row.scale;
}

// A row of float16 that lies in one piece: words, of which neighbours write the rest at its ends.
void StoreHalves(Row row, uint first, uint step) {
  uint end = row.base + row.size;
  LONG_LOOP(word, (row.base >> 1) + first, (end + 1u) >> 1, step) {
    uint bits = 0u;
    uint mask = 0u;
    [[unroll]] for (uint k = 0u; k < 2u; ++k) {
      uint e = 2u * word + k;
      if (e >= row.base && e < end) {
        bits |= FloatToHalf(ComputeElement(row, e)) << (16u * k);
        mask |= 0xffffu << (16u * k);
      }
    }
    if (mask == 0xffffffffu) {
      STORE_WORD(2, word, bits);
    } else {
      MERGE_WORD(2, word, mask, bits);
    }
  }
}

void ComputeRow(uint index, uint first, uint step) {
  const bool together = kByWorkgroup != 0u;
  Row row = Row(RowBase(index), P(1), P(4), -INFINITY, 1.0);
  LONG_LOOP(k, first, row.size, step) {
    row.greatest = Max(row.greatest, LOAD(1, kType, row.base + k * row.stride));
  }
  if (together) row.greatest = FoldMax(row.greatest);
  float sum = 0.0;
  LONG_LOOP(k, first, row.size, step) {
    sum += Exp(LOAD(1, kType, row.base + k * row.stride) - row.greatest);
  }
  if (together) sum = FoldSum(sum);
  row.scale = 1.0 / sum;
  if (kType == kFloat16 && row.stride == 1u) {
    StoreHalves(row, first, step);
    return;
  }
  LONG_LOOP(k, first, row.size, step) {
    uint e = row.base + k * row.stride;
    uvec2 raw = Encode(ComputeElement(row, e), kType);
    STORE_ROW_ELEMENT(2, kType, e, raw);
  }
}

vec4 ExpOfNegatives(vec4 x) {
  return vec4(ExpOfNegative(x.x), ExpOfNegative(x.y), ExpOfNegative(x.z), ExpOfNegative(x.w));
}

vec4 LoadFour(uint quad) { return uintBitsToFloat(LOAD_QUAD(1, quad)); }

void ComputeRowOfQuads(uint index) {
  uint first = gl_LocalInvocationID.x;
  uint step = gl_WorkGroupSize.x;
  uint size = P(1) >> 2;
  uint base = index * size;
  vec4 maxima = vec4(-INFINITY);
  LONG_LOOP(k, first, size, step) {
    vec4 x = LoadFour(base + k);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) maxima[i] = Max(maxima[i], x[i]);
  }
  float greatest = FoldMax(Max(Max(maxima.x, maxima.y), Max(maxima.z, maxima.w)));
  // Nothing is less than NaN or infinity by a number: then all of the row is NaN.
  bool has_scale = !IsNan(greatest) && !IsInfinite(greatest);
  if (!has_scale) greatest = 0.0;
  vec4 sums = vec4(0.0);
  LONG_LOOP(k, first, size, step) sums += ExpOfNegatives(LoadFour(base + k) - greatest);
  float sum = FoldSum((sums.x + sums.y) + (sums.z + sums.w));
  float scale = has_scale ? 1.0 / sum : NAN;
  LONG_LOOP(k, first, size, step) {
    vec4 values = ExpOfNegatives(LoadFour(base + k) - greatest) * scale;
    STORE_QUAD(2, base + k, floatBitsToUint(values))
  }
}

void main() {
  if (kQuads != 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowOfQuads(row);
  } else if (kByWorkgroup != 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeRow(row, gl_LocalInvocationID.x, gl_WorkGroupSize.x);
    }
  } else {
    GRID_STRIDE_LOOP(row, P(0)) { ComputeRow(row, 0u, 1u); }
  }
}

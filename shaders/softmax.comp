// exp(x - max) / sum(exp(x - max)) along an axis (rows.glsl).
//
// Specialisation constants: 1 data type, 2 whether a workgroup shares a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "rows.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;

READ_SLOT(1)
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

void main() {
  if (kByWorkgroup != 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeRow(row, gl_LocalInvocationID.x, gl_WorkGroupSize.x);
    }
  } else {
    GRID_STRIDE_LOOP(row, P(0)) { ComputeRow(row, 0u, 1u); }
  }
}

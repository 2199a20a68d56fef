// slot 1 taken element by element at the indices of slot 2 along one axis -> slot 3, which has the
// shape of slot 2.
//
// Where slot 1 is larger than caches, quads are not taken in the order of the result but block by block
// of those of a row behind the axis, through all indices along it, so that what one index names of
// neighbours is still there when others name it.
//
// Parameters: 0 elements; 1 rank; 2 size of the axis; 3 its stride in slot 1; in uvec4 1 {indices along
// the axis, as divisor}, quads of a row; in uvec4 2 {blocks of a row, as divisor}, log2 of the quads of a
// block; 12 quads of all blocks; from uvec4 4 dimensions of the result (strided.glsl, stride .x of slot 1, 0
// for the axis).
// Specialisation constants: 1 element type, 2 data type of the indices, 3 rank, 4 whether quads lie in
// rows (strided.glsl), 5 whether indices are as wide as elements, 6 whether they go by blocks.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;
layout(constant_id = 5) const uint kWideIndices = 0u;
layout(constant_id = 6) const uint kByBlocks = 0u;

const uint kDimensions = 4u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)

struct Operands {
  QuadOffsets places;
  uvec4 indices;
};

uvec4 LoadIndices(uint first) {
  return kWideIndices != 0u ? LOAD_QUAD(2, first >> Log2PerQuad(kType)) : uvec4(0u);
}

Operands Prepare(uint first) {
  return Operands(OffsetsOfQuad(first, kDimensions, P(1)), LoadIndices(first));
}

uint LoadIndex(uvec4 indices, uint e, uint k) {
  uvec2 raw = kWideIndices != 0u ? ElementOfQuad(indices, kIndexType, k) : LOAD_RAW(2, kIndexType, e);
  return ClampIndex(raw, kIndexType, P(2));
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  uint index = LoadIndex(operands.indices, e, k);
  uint offset = OffsetsInQuad(operands.places, e, kInRows != 0u, kDimensions, P(1)).x;
  return LOAD_RAW(1, kType, offset + index * P(3));
}

void ComputeBlocks() {
  uvec4 indices = P4(1);
  uvec4 blocks = P4(2);
  GRID_STRIDE_LOOP(i, P(12)) {
    uint row_of_block = i >> blocks.w;
    uint block = Divide(row_of_block, indices.xyz);
    uint along = row_of_block - block * indices.x;
    uint outer = Divide(block, blocks.xyz);
    uint in_row = ((block - outer * blocks.x) << blocks.w) + i - (row_of_block << blocks.w);
    uint quad = (outer * indices.x + along) * indices.w + min(in_row, indices.w - 1u);
    uint first = quad << Log2PerQuad(kType);
    Operands operands = Prepare(first);
    uvec4 bits;
    COMPUTE_QUAD(bits, kType, first, P(0), operands, ComputeElement)
    if (in_row < indices.w) STORE_QUAD(3, quad, bits)
  }
}

void main() {
  if (kByBlocks != 0u) {
    ComputeBlocks();
  } else {
    STORE_QUADS(3, kType, P(0), Operands, Prepare, ComputeElement);
  }
}

// copy_elements.comp where the region lies in the result as whole quads (four words), of elements of any
// width: one invocation per quad.
//
// Parameters: 0 elements to copy; 1 rank of the source; 2 first element of the source; 3 first quad
// of the result; 4..7 {quads of a run, multiplier, shift, quads between the starts of two runs};
// from 12 dimensions (strided.glsl, stride .x of the source). Specialisation constants: 1 data type
// of that width, 2 whether there is more than one run, 3 rank, 4 whether quads lie in rows, 5 access
// to the source, 6 whether workgroups take whole rows, which are quads of the source too: then there
// is one run, parameter 4 is the quads of a row, 5 the rows, and the dimensions are those of the rows, in
// any order, with their strides in the result as y, in quads.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kManyRuns = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;
layout(constant_id = 5) const uint kAccess = 0u;
layout(constant_id = 6) const uint kByRows = 0u;

#define STRIDED_RANK kRank
#include "fours.glsl"
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

struct Source {
  QuadOffsets places;
  uvec4 quad;
};

uvec2 ElementOfSource(Source source, uint e, uint k) {
  if (kAccess == kAccessBackwards) {
    return ElementOfQuad(source.quad, kType, (1u << Log2PerQuad(kType)) - 1u - k);
  }
  uint offset = OffsetsInQuad(source.places, e, kInRows != 0u, 3u, P(1)).x + P(2);
  return OPERAND_ELEMENT(1, kType, kAccess, source.quad, k, offset);
}

// First quad of a row in the source and in the result.
uvec2 QuadsOfRow(uint row) {
  const uvec2 offsets = StridedOffsets(row, 3u, P(1)).xy;
  return uvec2((offsets.x + P(2)) >> Log2PerQuad(kType), P(3) + offsets.y);
}

#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"

bool CanCopyRowsByWords() { return IsWorkgroupOneSubgroup(); }
void CopyRowsByWords() {
#define WORD(i, from, k) LOAD_WORD(1, from + PlaceInStretch(k))
#define COPY_ROW(source_quad, result_quad) \
  STRETCHES_LOOP(2, 4u * (result_quad), 4u * (source_quad), 4u * P(4), WORD)
  PLACED_UNITS_LOOP(P(5), QuadsOfRow, COPY_ROW)
#undef COPY_ROW
#undef WORD
}
#else
bool CanCopyRowsByWords() { return false; }
void CopyRowsByWords() {}
#endif

// Dividing costs as much as copying.
void CopyRows() {
  uint length = P(4);
  uint rows = P(5);
  uint stretch = (rows + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
  uint end = min((gl_WorkGroupID.x + 1u) * stretch, rows);
  for (uint row = gl_WorkGroupID.x * stretch; row < end; ++row) {
    const uvec2 quads = QuadsOfRow(row);
#define COPY(i) STORE_QUAD(2, quads.y + (i), LOAD_QUAD(1, quads.x + (i)))
    FOURS_LOOP(gl_LocalInvocationID.x, length, gl_WorkGroupSize.x, COPY)
#undef COPY
  }
}

void main() {
  if (kByRows != 0u) {
    if (CanCopyRowsByWords()) {
      CopyRowsByWords();
    } else {
      CopyRows();
    }
    return;
  }
  uint count = P(0);
  uint words = WordsOf(kType, count);
  uvec4 run = P4(1);
  GRID_STRIDE_LOOP(i, (words + 3u) >> 2) {
    uint position = i;
    if (kManyRuns != 0u) {
      uint row = Divide(i, run.xyz);
      position = row * run.w + (i - row * run.x);
    }
    uint first = i << Log2PerQuad(kType);
    Source source;
    source.places = OffsetsOfQuad(first, 3u, P(1));
    const uint access = kAccess == kAccessBackwards ? kAccessQuad : kAccess;
    source.quad = PREPARE_OPERAND(1, kType, access, source.places.offsets.x + P(2));
    uvec4 bits;
    COMPUTE_QUAD(bits, kType, first, count, source, ElementOfSource)
    // Only the last quad may be short, and only where there is one run.
    STORE_QUAD_BEFORE(2, P(3) + position, 4u * (P(3) + position - i) + words, bits)
  }
}

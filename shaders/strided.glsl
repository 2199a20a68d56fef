// Linear index -> offset in a tensor with other strides, dimension by dimension.
//
// Dimensions lie in the parameters from uvec4 number `first`, outermost first, two per dimension:
// {size, multiplier, shift, 0} (see Divide) and one stride per tensor. Strides count elements and
// may be "negative": they wrap like all uint arithmetic.
//
// A module may define STRIDED_RANK as a specialisation constant (RankConstant of
// service/passes/kernel_parameters.h): how many dimensions there are, so that sizes and strides are
// uniform loads and one dimension needs no division. Where it is 0, `rank` counts. At most 4, or 6 where
// a module says so (STRIDED_UNROLLED_MAX): drivers keep what is never reached.
#ifndef WEBNND_SHADERS_STRIDED_GLSL_
#define WEBNND_SHADERS_STRIDED_GLSL_

#include "tensor.glsl"

#ifndef STRIDED_RANK
#define STRIDED_RANK 0u
#endif
#ifndef STRIDED_UNROLLED_MAX
#define STRIDED_UNROLLED_MAX 4
#endif

// `constant_rank` is as STRIDED_RANK.
uvec4 StridedOffsetsOfRank(uint index, uint first, uint constant_rank, uint rank) {
  uvec4 offsets = uvec4(0u);
  uint rest = index;
#define STRIDED_STEP(d)                                             \
  {                                                                 \
    uvec4 size = P4(first + 2u * (d));                              \
    uint outer = Divide(rest, size.xyz);                            \
    offsets += (rest - outer * size.x) * P4(first + 2u * (d) + 1u); \
    rest = outer;                                                   \
  }
  if (constant_rank == 0u) {
    for (uint d = rank - 1u; d > 0u; --d) STRIDED_STEP(d)
  } else {
#if STRIDED_UNROLLED_MAX > 4
    if (constant_rank > 5u) STRIDED_STEP(5u)
    if (constant_rank > 4u) STRIDED_STEP(4u)
#endif
    if (constant_rank > 3u) STRIDED_STEP(3u)
    if (constant_rank > 2u) STRIDED_STEP(2u)
    if (constant_rank > 1u) STRIDED_STEP(1u)
  }
#undef STRIDED_STEP
  return offsets + rest * P4(first + 1u);
}

uvec4 StridedOffsets(uint index, uint first, uint rank) {
  return StridedOffsetsOfRank(index, first, STRIDED_RANK, rank);
}

// How a kernel reads an operand for the elements of a quad of its result (QuadAccess of
// service/passes/kernel_parameters.h). All but the first are for quads that lie in rows: all their
// elements in one row of the innermost dimension.
const uint kAccessStrided = 0u;  // Each element at its own offset.
const uint kAccessQuad = 1u;     // They are a quad of the operand.
const uint kAccessOne = 2u;      // They are one element.
const uint kAccessQuads = 3u;    // They are quads of the operand, whose elements are wider. Kernels that
                                 // do not know it take it for strided.
const uint kAccessBackwards = 4u;  // They are a quad of the operand, its last element first. Others than
                                   // copy_quads.comp take it for strided.

// What lies in rows of the innermost dimension (InRows of service/passes/kernel_parameters.h): 0 nothing, 1
// quads, and
const uint kTurnsInRows = 2u;  // also turns of by_words.glsl, of any size, where they are worth it.

// What elements of a quad need to find their operands.
struct QuadOffsets {
  uint first;    // Element of the result.
  uvec4 offsets; // Of the first element.
};

QuadOffsets OffsetsOfQuad(uint e, uint first, uint rank) {
  return QuadOffsets(e, StridedOffsets(e, first, rank));
}

// Offsets of element e of the quad. `in_rows`: whether quads lie in rows.
uvec4 OffsetsInQuad(QuadOffsets quad, uint e, bool in_rows, uint first, uint rank) {
  if (!in_rows) return StridedOffsets(e, first, rank);
  const uint innermost = first + 2u * (STRIDED_RANK == 0u ? rank : STRIDED_RANK) - 1u;
  return quad.offsets + (e - quad.first) * P4(innermost);
}

// What the operand in `slot` has for all elements of a quad whose first is at `offset`, and from that
// the raw bits of element k, which is at `own_offset`.
#define PREPARE_OPERAND(slot, type, access, offset)                                    \
  ((access) == kAccessQuad  ? LOAD_QUAD(slot, (offset) >> Log2PerQuad(type))           \
   : (access) == kAccessOne ? uvec4(LOAD_RAW(slot, type, offset), 0u, 0u)              \
                            : uvec4(0u))
#define OPERAND_ELEMENT(slot, type, access, prepared, k, own_offset)                   \
  ((access) == kAccessQuad  ? ElementOfQuad(prepared, type, k)                         \
   : (access) == kAccessOne ? (prepared).xy                                            \
                            : LOAD_RAW(slot, type, own_offset))

#endif  // WEBNND_SHADERS_STRIDED_GLSL_

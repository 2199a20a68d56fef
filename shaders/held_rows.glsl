// Rows that a subgroup of llvmpipe's has in registers whole, where it is a workgroup: invocations have an
// element of each of its vectors, neighbours beside each other. Before it is included, kRowVectors says how many times
// kLanesMax elements a row has at most, and kWholeVectors how many at least; where there are fewer lanes, a row has
// more vectors.
#ifndef WEBNND_SHADERS_HELD_ROWS_GLSL_
#define WEBNND_SHADERS_HELD_ROWS_GLSL_

#include "subgroup.glsl"

const uint kLanesMax = 16u;  // As in service/passes/row_calls.cc.
const uint kRowVectorsMax = 16u;
const uint kVectorsMax = kRowVectorsMax * kLanesMax / 4u;  // Of four lanes.

uint VectorsOfRow() { return kRowVectors * kLanesMax / kSubgroupSize; }
// Those that every such row fills.
uint WholeVectorsOfRow() { return kWholeVectors * kLanesMax / kSubgroupSize; }

#define FOR_VECTORS_OF_ROW(k) [[unroll]] for (uint k = 0u; k < VectorsOfRow(); ++k)

// STATEMENT for vector k, but only for those of its elements that a row of `size` has.
#define IN_ROW(k, size, STATEMENT)             \
  if ((k) < WholeVectorsOfRow()) {             \
    STATEMENT;                                 \
  } else if (PlaceInStretch(k) < (size)) {     \
    STATEMENT;                                 \
  }

#endif  // WEBNND_SHADERS_HELD_ROWS_GLSL_

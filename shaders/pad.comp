// slot 1 with a border -> slot 2, both packed.
//
// Parameters: 0 elements of the result; 1 rank; 2, 3 raw bits of the constant; from 4 per dimension,
// outermost first, {size of the result, multiplier, shift, elements before} and {size, stride of slot
// 1, 0, 0}. Specialisation constants: 1 data type, 2 mode: MLPaddingMode (0 constant, 1 edge, 2
// reflection, 3 symmetric: as reflection, with the edge repeated), 3 rank (0: parameter 1), 4 whether
// quads lie in rows (strided.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kMode = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;

READ_SLOT(1)
WRITE_SLOT(2)

// What the dimensions walked so far say of an element.
struct Walk {
  uint rest;    // Index over the dimensions that are left.
  uint source;  // Offset in slot 1.
  bool inside;
};

// Adds dimension d.
void Step(uint d, inout Walk walk) {
  uvec4 result = P4(2u * d + 1u);
  uvec4 operand = P4(2u * d + 2u);
  uint outer = Divide(walk.rest, result.xyz);
  int position = int(walk.rest - outer * result.x) - int(result.w);
  int last = int(operand.x) - 1;
  walk.rest = outer;
  if (kMode == 0u) {
    walk.inside = walk.inside && position >= 0 && position <= last;
  } else if (kMode == 2u) {
    position = abs(position);
    position = position > last ? 2 * last - position : position;
  } else if (kMode == 3u) {
    position = position < 0 ? -1 - position : position;
    position = position > last ? 2 * last + 1 - position : position;
  }
  walk.source += uint(clamp(position, 0, last)) * operand.y;
}

// Adds dimensions `end` - 1 down to 0.
void StepAll(uint end, inout Walk walk) {
  if (kRank == 0u) {
    for (uint d = end; d > 0u; --d) Step(d - 1u, walk);
  } else {
    if (end > 3u) Step(3u, walk);
    if (end > 2u) Step(2u, walk);
    if (end > 1u) Step(1u, walk);
    if (end > 0u) Step(0u, walk);
  }
}

uint Rank() { return kRank == 0u ? P(1) : kRank; }

// Of the quad that begins with element `first`: where it begins in its row, and the walk over the
// outer dimensions.
struct Row {
  uint start;
  Walk outer;
};

Row Prepare(uint first) {
  Row row;
  row.start = 0u;
  row.outer = Walk(0u, 0u, true);
  if (kInRows != 0u) {
    uvec3 innermost = P4(2u * Rank() - 1u).xyz;
    row.outer.rest = Divide(first, innermost);
    row.start = first - row.outer.rest * innermost.x;
    StepAll(Rank() - 1u, row.outer);
  }
  return row;
}

uvec2 ComputeElement(Row row, uint e, uint k) {
  Walk walk = row.outer;
  if (kInRows != 0u) {
    walk.rest = row.start + k;
    Step(Rank() - 1u, walk);
  } else {
    walk.rest = e;
    StepAll(Rank(), walk);
  }
  if (kMode == 0u && !walk.inside) return uvec2(P(2), P(3));
  return LOAD_RAW(1, kType, walk.source);
}

void main() { STORE_QUADS(2, kType, P(0), Row, Prepare, ComputeElement); }

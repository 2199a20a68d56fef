// slot 1 -> slot 2, matrices of which one triangle is kept and the other set to 0; both packed.
//
// Parameters: 0 elements; 1 diagonal (int); 2 whether the upper triangle is kept; 4..6 columns and
// 8..10 rows as divisors. Specialisation constants: 1 data type, 2 whether quads lie in rows
// (strided.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kInRows = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// Columns of element e to the right of the diagonal.
int DistanceOf(uint e) {
  uvec3 columns = P4(1).xyz;
  uvec3 rows = P4(2).xyz;
  uint line = Divide(e, columns);
  int column = int(e - line * columns.x);
  int row = int(line - Divide(line, rows) * rows.x);
  // The host clamps the diagonal to the size of the matrix: no overflow.
  return column - row - int(P(1));
}

struct Operands {
  int distance;  // Of the first element.
  uvec4 quad;
};

Operands Prepare(uint first) {
  return Operands(DistanceOf(first), LOAD_QUAD(1, first >> Log2PerQuad(kType)));
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  int distance = kInRows != 0u ? operands.distance + int(k) : DistanceOf(e);
  bool kept = P(2) != 0u ? distance >= 0 : distance <= 0;
  return kept ? ElementOfQuad(operands.quad, kType, k) : uvec2(0u);
}

void main() { STORE_QUADS(2, kType, P(0), Operands, Prepare, ComputeElement); }

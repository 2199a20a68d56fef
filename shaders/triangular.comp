// slot 1 -> slot 2, matrices of which one triangle is kept and the other set to 0; both packed.
//
// Parameters: 0 elements; 1 diagonal (int); 2 whether the upper triangle is kept; 4..6 columns and
// 8..10 rows as divisors. Specialisation constant 1: data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;

READ_SLOT(1)
WRITE_SLOT(2)

uvec2 ComputeElement(uint e) {
  uvec3 columns = P4(1).xyz;
  uvec3 rows = P4(2).xyz;
  uint line = Divide(e, columns);
  int column = int(e - line * columns.x);
  int row = int(line - Divide(line, rows) * rows.x);
  // The host clamps the diagonal to the size of the matrix: no overflow.
  int distance = column - row - int(P(1));
  bool kept = P(2) != 0u ? distance >= 0 : distance <= 0;
  return kept ? LOAD_RAW(1, kType, e) : uvec2(0u);
}

void main() { STORE_ELEMENTS(2, kType, P(0), ComputeElement); }

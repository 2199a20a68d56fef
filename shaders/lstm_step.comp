// One step of an lstm, all directions (recurrent.glsl). Slots 1 gates, 2 recurrent weight, 3
// peephole weight, 4 hidden and 5 cell state -> 6 hidden and 7 cell state, 8 sequence of hidden
// states.
//
// Specialisation constants: 1 data type, 2 of the states that are read, 3 of those that are
// written, 4 to 7 whether there are a hidden state, a cell state, peepholes and a sequence, 8
// weight layout (MLLstmWeightLayout of the draft), 9 to 11 activations.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "recurrent.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kReadType = 0u;
layout(constant_id = 3) const uint kWriteType = 0u;
layout(constant_id = 4) const uint kHasHidden = 0u;
layout(constant_id = 5) const uint kHasCell = 0u;
layout(constant_id = 6) const uint kHasPeephole = 0u;
layout(constant_id = 7) const uint kHasSequence = 0u;
layout(constant_id = 8) const uint kLayout = 0u;
layout(constant_id = 9) const uint kGateActivation = 0u;
layout(constant_id = 10) const uint kCellActivation = 0u;
layout(constant_id = 11) const uint kHiddenActivation = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
WRITE_SLOT(6)
WRITE_SLOT(7)
WRITE_SLOT(8)

const uint kLayoutIofg = 0u;

void ComputeElement(uint e) {
  Place place = PlaceOf(e, 4u);
  uint size = place.size;
  vec4 gates = vec4(0.0);
  if (kHasHidden != 0u) {
    LONG_LOOP(k, 0u, size, 1u) {
      float hidden = LOAD(4, kReadType, place.row + k);
      uint from = place.weight + k;
      gates += hidden * vec4(LOAD(2, kType, from), LOAD(2, kType, from + place.gate_step),
                             LOAD(2, kType, from + 2u * place.gate_step),
                             LOAD(2, kType, from + 3u * place.gate_step));
    }
  }
  gates += vec4(LOAD(1, kFloat32, place.gate), LOAD(1, kFloat32, place.gate + size),
                LOAD(1, kFloat32, place.gate + 2u * size),
                LOAD(1, kFloat32, place.gate + 3u * size));
  if (kLayout != kLayoutIofg) gates = gates.xwyz;  // From input, forget, cell, output.
  float cell = 0.0;
  if (kHasCell != 0u) cell = LOAD(5, kReadType, e);
  if (kHasPeephole != 0u) {
    uint peephole = place.direction * 3u * size + place.hidden;
    gates.xyz += cell * vec3(LOAD(3, kType, peephole), LOAD(3, kType, peephole + size),
                             LOAD(3, kType, peephole + 2u * size));
  }
  float new_cell = Activate(kGateActivation, gates.x) * Activate(kCellActivation, gates.w);
  if (kHasCell != 0u) new_cell += Activate(kGateActivation, gates.z) * cell;
  float hidden = Activate(kGateActivation, gates.y) * Activate(kHiddenActivation, new_cell);
  STORE_STATE(6, kWriteType, e, hidden)
  STORE_STATE(7, kWriteType, e, new_cell)
  if (kHasSequence != 0u) {
    uint to = P(12u + place.direction) + e;
    STORE_STATE(8, kType, to, hidden)
  }
}

void main() {
  GRID_STRIDE_LOOP(e, P(0)) { ComputeElement(e); }
}

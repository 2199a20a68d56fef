// One step of a gru, all directions (recurrent.glsl). Slots 1 gates, 2 recurrent weight, 3
// recurrent bias, 4 hidden state, 5 hidden state after the reset gate -> 6 hidden state, 7 sequence of hidden
// states.
//
// Specialisation constants: 1 data type, 2 of the state that is read, 3 of that which is written, 4
// to 6 whether there are a hidden state, a recurrent bias to add before the reset gate, and a
// sequence, 7 weight layout (MLGruWeightLayout of the draft), 8 part of the step, 9 and 10
// activations.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "recurrent.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kReadType = 0u;
layout(constant_id = 3) const uint kWriteType = 0u;
layout(constant_id = 4) const uint kHasHidden = 0u;
layout(constant_id = 5) const uint kHasRecurrentBias = 0u;
layout(constant_id = 6) const uint kHasSequence = 0u;
layout(constant_id = 7) const uint kLayout = 0u;
layout(constant_id = 8) const uint kPart = 0u;
layout(constant_id = 9) const uint kGateActivation = 0u;
layout(constant_id = 10) const uint kNewActivation = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
WRITE_SLOT(6)
WRITE_SLOT(7)

// GruPart of service/passes/lower_recurrent.cc.
const uint kWhole = 0u;   // The reset gate applies to the product of the new gate.
const uint kReset = 1u;   // Slot 6 becomes the reset hidden state.
const uint kUpdate = 2u;  // The new gate reads slot 5.

const uint kLayoutZrn = 0u;

void ComputeElement(uint e) {
  Place place = PlaceOf(e, 3u);
  uint size = place.size;
  vec3 sums = vec3(0.0);
  float hidden = 0.0;
  if (kHasHidden != 0u) {
    hidden = LOAD(4, kReadType, e);
    LONG_LOOP(k, 0u, size, 1u) {
      vec3 states = vec3(LOAD(4, kReadType, place.row + k));
      if (kPart == kUpdate) states.z = LOAD(5, kFloat32, place.row + k);
      uint from = place.weight + k;
      sums += states * vec3(LOAD(2, kType, from), LOAD(2, kType, from + place.gate_step),
                            LOAD(2, kType, from + 2u * place.gate_step));
    }
  }
  vec3 gates = vec3(LOAD(1, kFloat32, place.gate), LOAD(1, kFloat32, place.gate + size),
                    LOAD(1, kFloat32, place.gate + 2u * size));
  vec2 update_reset = gates.xy + sums.xy;
  if (kLayout != kLayoutZrn) update_reset = update_reset.yx;
  float reset = Activate(kGateActivation, update_reset.y);
  if (kPart == kReset) {
    STORE_STATE(6, kWriteType, e, reset * hidden)
    return;
  }
  float product = sums.z;
  if (kHasRecurrentBias != 0u) {
    product += LOAD(3, kType, (place.direction * 3u + 2u) * size + place.hidden);
  }
  if (kPart == kWhole) product *= reset;
  float update = Activate(kGateActivation, update_reset.x);
  float fresh = Activate(kNewActivation, gates.z + product);
  float new_hidden = (1.0 - update) * fresh;
  if (kHasHidden != 0u) new_hidden += update * hidden;
  STORE_STATE(6, kWriteType, e, new_hidden)
  if (kHasSequence != 0u) {
    uint to = P(12u + place.direction) + e;
    STORE_STATE(7, kType, to, new_hidden)
  }
}

void main() {
  GRID_STRIDE_LOOP(e, P(0)) { ComputeElement(e); }
}

// One step of a gru, all directions (recurrent.glsl). Slots 1 gates, 2 recurrent weight, 3
// recurrent bias, 4 hidden state, 5 hidden state after the reset gate -> 6 hidden state, 7 sequence
// of hidden states.
//
// Specialisation constants: 1 data type, 2 of the state that is read, 3 of that which is written, 4
// to 6 whether there are a hidden state, a recurrent bias, and a sequence, 7 weight layout
// (MLGruWeightLayout of the draft), 8 part of the step, 9 and 10 activations, 11 whether rows of
// states and weights load four elements at a time, 12 whether recurrent weights are packed.
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
layout(constant_id = 11) const uint kByFour = 0u;
layout(constant_id = 12) const uint kIsPacked = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT_WIDE(4)
READ_SLOT(5)
READ_SLOT_WIDE(5)
WRITE_SLOT(6)
WRITE_SLOT(7)

DECLARE_LOAD_FOUR(2, kType)
DECLARE_LOAD_FOUR(4, kReadType)
DECLARE_LOAD_FOUR(5, kFloat32)

// GruPart of service/passes/lower_recurrent.cc.
const uint kWhole = 0u;   // The reset gate applies to the product of the new gate.
const uint kReset = 1u;   // Slot 6 becomes the reset hidden state.
const uint kUpdate = 2u;  // The new gate reads slot 5.

const uint kLayoutZrn = 0u;

// Gates of which the part needs products: the reset gate is one of the first two.
const uint kGates = kPart == kReset ? 2u : 3u;

// The same of packed weights (recurrent.glsl).
vec3 SumPackedProducts(Place place) {
  vec4 sums[3] = {vec4(0.0), vec4(0.0), vec4(0.0)};  // Of each gate, by k modulo 4.
  const uint row = UNIFORM(place.row);
  const uint first = FirstOfPack(place, 3u);
  for (uint k = UNKNOWN_ZERO; k < place.size; k += 4u) {
    const uint weights = UNIFORM(first + k * (3u * kLanesOfPack)) + gl_SubgroupInvocationID;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      const uint element = UNIFORM(row + k + j);
      const float state = LOAD(4, kReadType, element);
      const float last_state = kPart == kUpdate ? LOAD(5, kFloat32, element) : state;
      [[unroll]] for (uint i = 0u; i < kGates; ++i) {
        const uint word = LOAD_WORD(2, weights + (j * 3u + i) * kLanesOfPack);
        sums[i][j] = fma(i == 2u ? last_state : state, uintBitsToFloat(word), sums[i][j]);
      }
    }
  }
  vec3 gates = vec3(0.0);
  [[unroll]] for (uint i = 0u; i < kGates; ++i) gates[i] = dot(sums[i], vec4(1.0));
  return gates;
}

// What the hidden state gives to the gates.
vec3 SumProducts(Place place) {
  if (kIsPacked != 0u) return SumPackedProducts(place);
  vec3 gates = vec3(0.0);
  if (kByFour != 0u) {
    vec4 sums[3] = {vec4(0.0), vec4(0.0), vec4(0.0)};  // Of each gate, by k modulo 4.
    for (uint k = UNKNOWN_ZERO + 4u * SharerIndex(); k < place.size; k += 4u * SharerCount()) {
      vec4 state = LoadFour4(place.row + k);
      vec4 last_state = kPart == kUpdate ? LoadFour5(place.row + k) : state;
      [[unroll]] for (uint i = 0u; i < kGates; ++i) {
        sums[i] += (i == 2u ? last_state : state) *
                   LoadFour2(place.weight + i * place.gate_step + k);
      }
    }
    [[unroll]] for (uint i = 0u; i < kGates; ++i) gates[i] = dot(sums[i], vec4(1.0));
    return gates;
  }
  LONG_LOOP(k, SharerIndex(), place.size, SharerCount()) {
    float state = LOAD(4, kReadType, place.row + k);
    float last_state = kPart == kUpdate ? LOAD(5, kFloat32, place.row + k) : state;
    [[unroll]] for (uint i = 0u; i < kGates; ++i) {
      gates[i] += (i == 2u ? last_state : state) *
                  LOAD(2, kType, place.weight + i * place.gate_step + k);
    }
  }
  return gates;
}

void ComputeElement(uint e) {
  Place place = PlaceOf(e, 3u);
  uint size = place.size;
  vec3 sums = vec3(0.0);
  float hidden = 0.0;
  if (kHasHidden != 0u) {
    hidden = LOAD(4, kReadType, e);
    sums = SumProducts(place);
    [[unroll]] for (uint i = 0u; i < kGates; ++i) sums[i] = SumOfSharers(sums[i]);
  }
  if (kHasRecurrentBias != 0u) {
    uint bias = place.direction * 3u * size + place.hidden;
    [[unroll]] for (uint i = 0u; i < kGates; ++i) sums[i] += LOAD(3, kType, bias + i * size);
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
  STATE_LOOP(e, P(0)) { ComputeElement(e); }
}

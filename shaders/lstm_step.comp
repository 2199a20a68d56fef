// One step of an lstm, all directions (recurrent.glsl). Slots 1 gates, 2 recurrent weight, 3
// peephole weight, 4 hidden and 5 cell state, 9 recurrent bias -> 6 hidden and 7 cell state, 8
// sequence of hidden states.
//
// Specialisation constants: 1 data type, 2 of the states that are read, 3 of those that are
// written, 4 to 7 whether there are a hidden state, a cell state, peepholes and a sequence, 8
// weight layout (MLLstmWeightLayout of the draft), 9 to 11 activations, 12 whether there is a
// recurrent bias, 13 whether rows of states and weights load four elements at a time, 14 whether recurrent weights are
// packed.
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
layout(constant_id = 12) const uint kHasRecurrentBias = 0u;
layout(constant_id = 13) const uint kByFour = 0u;
layout(constant_id = 14) const uint kIsPacked = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT_WIDE(4)
READ_SLOT(5)
WRITE_SLOT(6)
WRITE_SLOT(7)
WRITE_SLOT(8)
READ_SLOT(9)

DECLARE_LOAD_FOUR(2, kType)
DECLARE_LOAD_FOUR(4, kReadType)

const uint kLayoutIofg = 0u;

// The same of packed weights (recurrent.glsl).
vec4 SumPackedProducts(Place place) {
  mat4 sums = mat4(0.0);  // Of each gate, by k modulo 4.
  const uint row = UNIFORM(place.row);
  const uint first = FirstOfPack(place, 4u);
  for (uint k = UNKNOWN_ZERO; k < place.size; k += 4u) {
    const uint weights = UNIFORM(first + k * (4u * kLanesOfPack)) + gl_SubgroupInvocationID;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      const float hidden = LOAD(4, kReadType, UNIFORM(row + k + j));
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        const uint word = LOAD_WORD(2, weights + (j * 4u + i) * kLanesOfPack);
        sums[i][j] = fma(hidden, uintBitsToFloat(word), sums[i][j]);
      }
    }
  }
  return vec4(1.0) * sums;
}

// What the hidden state gives to the gates.
vec4 SumProducts(Place place) {
  if (kIsPacked != 0u) return SumPackedProducts(place);
  vec4 gates = vec4(0.0);
  if (kByFour != 0u) {
    mat4 sums = mat4(0.0);  // Of each gate, by k modulo 4.
    for (uint k = UNKNOWN_ZERO + 4u * SharerIndex(); k < place.size; k += 4u * SharerCount()) {
      vec4 hidden = LoadFour4(place.row + k);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        sums[i] += hidden * LoadFour2(place.weight + i * place.gate_step + k);
      }
    }
    return vec4(1.0) * sums;
  }
  LONG_LOOP(k, SharerIndex(), place.size, SharerCount()) {
    float hidden = LOAD(4, kReadType, place.row + k);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      gates[i] += hidden * LOAD(2, kType, place.weight + i * place.gate_step + k);
    }
  }
  return gates;
}

void ComputeElement(uint e) {
  Place place = PlaceOf(e, 4u);
  uint size = place.size;
  vec4 gates = vec4(0.0);
  if (kHasHidden != 0u) {
    gates = SumProducts(place);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) gates[i] = SumOfSharers(gates[i]);
  }
  if (kHasRecurrentBias != 0u) {
    uint bias = place.direction * 4u * size + place.hidden;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) gates[i] += LOAD(9, kType, bias + i * size);
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
  STATE_LOOP(e, P(0)) { ComputeElement(e); }
}

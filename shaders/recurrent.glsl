// What the kernels of recurrent networks share.
//
// States are [directions, batch, hidden]. Gates are [directions, steps, batch, gates * hidden] in
// float32: what the input and its bias give to them.
// Parameters of a step (lstm_step.comp, gru_step.comp): 0 elements of a state; 1 and 2 offset in the
// gates of the step and from one direction to the next; 4..6 hidden and 8..10 batch as divisors; 12
// and 13 offset in the sequence of the states that the step adds, for each direction.
#ifndef WEBNND_SHADERS_RECURRENT_GLSL_
#define WEBNND_SHADERS_RECURRENT_GLSL_

#include "math.glsl"
#include "product_loads.glsl"
#include "tensor.glsl"
#include "subgroup.glsl"

// MLRecurrentNetworkActivation of the draft.
const uint kRelu = 0u;
const uint kSigmoid = 1u;
const uint kTanh = 2u;

float Activate(uint activation, float x) {
  if (activation == kSigmoid) return Sigmoid(x);
  if (activation == kTanh) return Tanh(x);
  return IsNan(x) ? x : max(x, 0.0);
}

// Where the operands of an element of the state are, for `gates` gates.
struct Place {
  uint hidden;     // Index within a state.
  uint direction;
  uint row;        // First element of the state's row.
  uint gate;       // Element of the first gate.
  uint weight;     // First element of the recurrent weights of the first gate.
  uint size;       // Of the hidden state; from one gate to the next.
  uint gate_step;  // From the weights of one gate to those of the next.
};

Place PlaceOf(uint e, uint gates) {
  uvec3 hidden_size = P4(1).xyz;
  uvec3 batch_size = P4(2).xyz;
  Place place;
  place.size = hidden_size.x;
  place.gate_step = place.size * place.size;
  uint row = Divide(e, hidden_size);
  place.row = row * place.size;
  place.hidden = e - place.row;
  place.direction = Divide(row, batch_size);
  uint in_batch = row - place.direction * batch_size.x;
  place.gate =
      P(1) + place.direction * P(2) + in_batch * gates * place.size + place.hidden;
  place.weight = place.direction * gates * place.gate_step + place.hidden * place.size;
  return place;
}

// The loop over the elements of a state, and one over what each sums up: `width` elements at a time,
// from `first` on. On GPUs a subgroup shares an element, whose sums are SumOfSharers.
#if TENSOR_READS == READS_STORAGE
#define STATE_LOOP(e, count) SUBGROUP_STRIDE_LOOP(e, count)
#define SharerIndex() gl_SubgroupInvocationID
#define SharerCount() SUBGROUP_SIZE
float SumOfSharers(float x) { return SumOverSubgroup(x); }
#else
#define STATE_LOOP(e, count) GRID_STRIDE_LOOP(e, count)
#define SharerIndex() 0u
#define SharerCount() 1u
float SumOfSharers(float x) { return x; }
#endif

// Recurrent weights may be packed (service/passes/recurrent_weights.h): [directions, hidden / kLanesOfPack,
// hidden, gates, kLanesOfPack], float32 whatever the data type. Elements that a subgroup has beside each other
// are of one row then, and their weights lie beside each other, too.
const uint kLanesOfPack = 16u;

// The words of the first gate's weights of this subgroup's first element, for the first of the state's row.
uint FirstOfPack(Place place, uint gates) {
  const uint pack = place.hidden / kLanesOfPack;
  return UNIFORM(place.direction * gates * place.gate_step + pack * gates * kLanesOfPack * place.size +
                 place.hidden % kLanesOfPack);
}

// Writes element e of a state, once.
#define STORE_STATE(slot, type, e, value) \
  if (SharerIndex() == 0u) STORE_ELEMENT(slot, type, e, Encode(value, type))

#endif  // WEBNND_SHADERS_RECURRENT_GLSL_

// Recurrent networks and their cells. A cell is a network of one step, and is evaluated as one.
#include <array>
#include <optional>

#include "base/check.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"

namespace webnnd::reference {
namespace {

using webidl::RecurrentNetworkActivation;
using webidl::RecurrentNetworkDirection;
using webidl::Shape;

using Activations = std::optional<std::vector<RecurrentNetworkActivation>>;

Real Activate(RecurrentNetworkActivation activation, Real x) {
  switch (activation) {
    case RecurrentNetworkActivation::kRelu:
      return Relu(x);
    case RecurrentNetworkActivation::kSigmoid:
      return Sigmoid(x);
    case RecurrentNetworkActivation::kTanh:
      return Tanh(x);
  }
  UNREACHABLE();
}

// One of the four operators with its operands, of which those may be absent that have a default.
struct Network {
  const Array* input = nullptr;  // [steps, batch, depth]
  const Array* weight = nullptr;
  const Array* recurrent_weight = nullptr;
  const Array* bias = nullptr;
  const Array* recurrent_bias = nullptr;
  const Array* peephole_weight = nullptr;
  const Array* initial_hidden = nullptr;
  const Array* initial_cell = nullptr;
  uint32_t gates = 0;
  uint32_t hidden = 0;
  uint32_t batch = 0;
  uint32_t depth = 0;
  uint32_t steps = 1;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::kForward;
  std::vector<RecurrentNetworkActivation> activations;
  bool swaps_gates = false;  // Not the default layout.
  bool reset_after = true;

  uint32_t directions() const { return direction == RecurrentNetworkDirection::kBoth ? 2 : 1; }
  // The step of the input that a direction processes as its number `step`.
  uint32_t InputStep(uint32_t of_direction, uint32_t step) const {
    const bool backward = direction == RecurrentNetworkDirection::kBackward || of_direction == 1;
    return backward ? steps - 1 - step : step;
  }
};

// A row of a state: [hidden].
using State = std::vector<Real>;

Real Element(const Array* array, uint64_t index) {
  return array == nullptr ? Real(0) : Real(array->values[index]);
}

// What a unit of a gate gets: from the input, and from the hidden state. Biases apart.
Real FromInput(const Network& network, uint32_t direction, uint32_t gate, uint32_t unit,
               uint64_t input_row) {
  const uint64_t row = (uint64_t{direction} * network.gates + gate) * network.hidden + unit;
  Sum sum;
  for (uint32_t k = 0; k < network.depth; ++k) {
    sum.Add(Real(network.input->values[input_row * network.depth + k]) *
            Real(network.weight->values[row * network.depth + k]));
  }
  return sum.Result();
}
Real FromHidden(const Network& network, uint32_t direction, uint32_t gate, uint32_t unit,
                const State& hidden) {
  const uint64_t row = (uint64_t{direction} * network.gates + gate) * network.hidden + unit;
  Sum sum;
  for (uint32_t k = 0; k < network.hidden; ++k) {
    sum.Add(hidden[k] * Real(network.recurrent_weight->values[row * network.hidden + k]));
  }
  return sum.Result();
}
Real Bias(const Network& network, const Array* bias, uint32_t direction, uint32_t gate,
          uint32_t unit) {
  return Element(bias, (uint64_t{direction} * network.gates + gate) * network.hidden + unit);
}

// The next hidden state; `cell` becomes the next cell state.
State LstmStep(const Network& network, uint32_t direction, uint64_t input_row, const State& hidden,
               State& cell) {
  // Places of the gates in the weights: iofg, or ifgo.
  const uint32_t input = 0;
  const uint32_t output = network.swaps_gates ? 3 : 1;
  const uint32_t forget = network.swaps_gates ? 1 : 2;
  const uint32_t fresh = network.swaps_gates ? 2 : 3;
  State next_hidden(network.hidden);
  State next_cell(network.hidden);
  for (uint32_t unit = 0; unit < network.hidden; ++unit) {
    const auto sum = [&](uint32_t gate) {
      return FromInput(network, direction, gate, unit, input_row) +
             FromHidden(network, direction, gate, unit, hidden) +
             Bias(network, network.bias, direction, gate, unit) +
             Bias(network, network.recurrent_bias, direction, gate, unit);
    };
    // Peepholes are ordered i, o, f whatever the layout.
    const auto peephole = [&](uint32_t place) {
      return cell[unit] * Element(network.peephole_weight,
                                  (uint64_t{direction} * 3 + place) * network.hidden + unit);
    };
    const auto gate = [&](uint32_t place, uint32_t peephole_place) {
      return Activate(network.activations[0], sum(place) + peephole(peephole_place));
    };
    next_cell[unit] = gate(forget, 2) * cell[unit] +
                      gate(input, 0) * Activate(network.activations[1], sum(fresh));
    next_hidden[unit] = gate(output, 1) * Activate(network.activations[2], next_cell[unit]);
  }
  cell = next_cell;
  return next_hidden;
}

State GruStep(const Network& network, uint32_t direction, uint64_t input_row, const State& hidden) {
  // zrn, or rzn.
  const uint32_t update = network.swaps_gates ? 1 : 0;
  const uint32_t reset = network.swaps_gates ? 0 : 1;
  const uint32_t fresh = 2;
  const auto gate = [&](uint32_t place, uint32_t unit) {
    return Activate(network.activations[0],
                    FromInput(network, direction, place, unit, input_row) +
                        FromHidden(network, direction, place, unit, hidden) +
                        Bias(network, network.bias, direction, place, unit) +
                        Bias(network, network.recurrent_bias, direction, place, unit));
  };
  State reset_hidden(network.hidden);
  for (uint32_t unit = 0; unit < network.hidden; ++unit) {
    reset_hidden[unit] = gate(reset, unit) * hidden[unit];
  }
  State next(network.hidden);
  for (uint32_t unit = 0; unit < network.hidden; ++unit) {
    const Real recurrent_bias = Bias(network, network.recurrent_bias, direction, fresh, unit);
    const Real recurrent =
        network.reset_after
            ? gate(reset, unit) *
                  (FromHidden(network, direction, fresh, unit, hidden) + recurrent_bias)
            : FromHidden(network, direction, fresh, unit, reset_hidden) + recurrent_bias;
    const Real candidate =
        Activate(network.activations[1], FromInput(network, direction, fresh, unit, input_row) +
                                             Bias(network, network.bias, direction, fresh, unit) +
                                             recurrent);
    const Real share = gate(update, unit);
    next[unit] = share * hidden[unit] + (Real(1) - share) * candidate;
  }
  return next;
}

// `results`: the last hidden state, for an lstm the last cell state, and the sequence of hidden
// states where there is room for it.
void Run(const Network& network, std::span<Array> results) {
  const bool is_lstm = network.gates == 4;
  const size_t states = is_lstm ? 2 : 1;
  Array* sequence = results.size() > states ? &results[states] : nullptr;
  for (uint32_t direction = 0; direction < network.directions(); ++direction) {
    for (uint32_t row = 0; row < network.batch; ++row) {
      const uint64_t first = (uint64_t{direction} * network.batch + row) * network.hidden;
      State hidden(network.hidden);
      State cell(network.hidden);
      for (uint32_t unit = 0; unit < network.hidden; ++unit) {
        hidden[unit] = Element(network.initial_hidden, first + unit);
        cell[unit] = Element(network.initial_cell, first + unit);
      }
      for (uint32_t step = 0; step < network.steps; ++step) {
        const uint32_t at = network.InputStep(direction, step);
        const uint64_t input_row = uint64_t{at} * network.batch + row;
        hidden = is_lstm ? LstmStep(network, direction, input_row, hidden, cell)
                         : GruStep(network, direction, input_row, hidden);
        if (sequence == nullptr) continue;
        const uint64_t place =
            uint64_t{at} * network.directions() * network.batch * network.hidden + first;
        for (uint32_t unit = 0; unit < network.hidden; ++unit) {
          sequence->Set(place + unit, hidden[unit]);
        }
      }
      for (uint32_t unit = 0; unit < network.hidden; ++unit) {
        results[0].Set(first + unit, hidden[unit]);
        if (is_lstm) results[1].Set(first + unit, cell[unit]);
      }
    }
  }
}

template <class Attributes>
Network MakeNetwork(const Arguments& arguments, const Attributes& attributes, uint32_t gates) {
  Network network;
  network.gates = gates;
  network.hidden = attributes.hidden_size;
  network.input = arguments.operands[0];
  network.weight = arguments.operands[1];
  network.recurrent_weight = arguments.operands[2];
  const Shape& input = network.input->shape();
  network.batch = input[input.size() - 2];
  network.depth = input.back();
  network.activations = {RecurrentNetworkActivation::kSigmoid, RecurrentNetworkActivation::kTanh,
                         RecurrentNetworkActivation::kTanh};
  if (attributes.activations) network.activations = *attributes.activations;
  network.swaps_gates = static_cast<uint32_t>(attributes.layout) != 0;
  return network;
}

// --- Calls --------------------------------------------------------------------------------------

constexpr uint32_t kGruGates = 3;
constexpr uint32_t kLstmGates = 4;

// Weights and states such that gates do not saturate.
void AddScaled(CaseMaker& maker, webidl::OperandDataType type, const Shape& shape) {
  Array& array = maker.Add(type, shape, Domain::kModerate);
  for (long double& value : array.values) value = RoundTo(type, value / 4);
}
void AddScaledOptional(CaseMaker& maker, webidl::OperandDataType type, const Shape& shape) {
  if (maker.OneIn(3)) {
    maker.AddAbsent();
  } else {
    AddScaled(maker, type, shape);
  }
}

template <class Attributes>
void PickCell(CaseMaker& maker, size_t activations, Attributes& attributes) {
  attributes.hidden_size = maker.Between(1, maker.OneIn(4) ? 20 : 5);
  attributes.layout = static_cast<decltype(attributes.layout)>(maker.Between(0, 1));
  if (maker.Flip()) return;
  attributes.activations.emplace();
  while (attributes.activations->size() < activations) {
    attributes.activations->push_back(
        maker.Pick<RecurrentNetworkActivation>(webidl::kRecurrentNetworkActivationCount));
  }
}

// What a sequence operator's shapes are made of.
struct Sizes {
  uint32_t directions;
  uint32_t steps;
  uint32_t batch;
  uint32_t depth;
};
template <class Attributes>
Sizes PickSequence(CaseMaker& maker, Attributes& attributes) {
  attributes.steps = maker.Between(1, 4);
  attributes.return_sequence = maker.Flip();
  attributes.direction =
      maker.Pick<RecurrentNetworkDirection>(webidl::kRecurrentNetworkDirectionCount);
  return {attributes.direction == RecurrentNetworkDirection::kBoth ? 2u : 1u, attributes.steps,
          maker.Between(1, 3), maker.Between(1, maker.OneIn(4) ? 30 : 6)};
}

}  // namespace

void MakeGru(CaseMaker& maker) {
  auto& gru = maker.attributes<webidl::GruAttributes>();
  PickCell(maker, 2, gru);
  gru.reset_after = maker.Flip();
  const Sizes sizes = PickSequence(maker, gru);
  const auto type = maker.PickType(0);
  const uint32_t rows = kGruGates * gru.hidden_size;
  AddScaled(maker, type, {sizes.steps, sizes.batch, sizes.depth});
  AddScaled(maker, type, {sizes.directions, rows, sizes.depth});
  AddScaled(maker, type, {sizes.directions, rows, gru.hidden_size});
  AddScaledOptional(maker, type, {sizes.directions, rows});
  AddScaledOptional(maker, type, {sizes.directions, rows});
  AddScaledOptional(maker, type, {sizes.directions, sizes.batch, gru.hidden_size});
}

void EvaluateGru(const Arguments& arguments, std::span<Array> results) {
  const auto& gru = std::get<webidl::GruAttributes>(arguments.attributes);
  Network network = MakeNetwork(arguments, gru, kGruGates);
  network.bias = arguments.operands[3];
  network.recurrent_bias = arguments.operands[4];
  network.initial_hidden = arguments.operands[5];
  network.steps = gru.steps;
  network.direction = gru.direction;
  network.reset_after = gru.reset_after;
  Run(network, results);
}

void MakeGruCell(CaseMaker& maker) {
  auto& gru = maker.attributes<webidl::GruCellAttributes>();
  PickCell(maker, 2, gru);
  gru.reset_after = maker.Flip();
  const auto type = maker.PickType(0);
  const uint32_t batch = maker.Between(1, 3);
  const uint32_t depth = maker.Between(1, maker.OneIn(4) ? 30 : 6);
  const uint32_t rows = kGruGates * gru.hidden_size;
  AddScaled(maker, type, {batch, depth});
  AddScaled(maker, type, {rows, depth});
  AddScaled(maker, type, {rows, gru.hidden_size});
  AddScaled(maker, type, {batch, gru.hidden_size});
  AddScaledOptional(maker, type, {rows});
  AddScaledOptional(maker, type, {rows});
}

void EvaluateGruCell(const Arguments& arguments, std::span<Array> results) {
  const auto& gru = std::get<webidl::GruCellAttributes>(arguments.attributes);
  Network network = MakeNetwork(arguments, gru, kGruGates);
  network.initial_hidden = arguments.operands[3];
  network.bias = arguments.operands[4];
  network.recurrent_bias = arguments.operands[5];
  network.reset_after = gru.reset_after;
  Run(network, results);
}

void MakeLstm(CaseMaker& maker) {
  auto& lstm = maker.attributes<webidl::LstmAttributes>();
  PickCell(maker, 3, lstm);
  const Sizes sizes = PickSequence(maker, lstm);
  const auto type = maker.PickType(0);
  const uint32_t rows = kLstmGates * lstm.hidden_size;
  AddScaled(maker, type, {sizes.steps, sizes.batch, sizes.depth});
  AddScaled(maker, type, {sizes.directions, rows, sizes.depth});
  AddScaled(maker, type, {sizes.directions, rows, lstm.hidden_size});
  AddScaledOptional(maker, type, {sizes.directions, rows});
  AddScaledOptional(maker, type, {sizes.directions, rows});
  AddScaledOptional(maker, type, {sizes.directions, 3 * lstm.hidden_size});
  AddScaledOptional(maker, type, {sizes.directions, sizes.batch, lstm.hidden_size});
  AddScaledOptional(maker, type, {sizes.directions, sizes.batch, lstm.hidden_size});
}

void EvaluateLstm(const Arguments& arguments, std::span<Array> results) {
  const auto& lstm = std::get<webidl::LstmAttributes>(arguments.attributes);
  Network network = MakeNetwork(arguments, lstm, kLstmGates);
  network.bias = arguments.operands[3];
  network.recurrent_bias = arguments.operands[4];
  network.peephole_weight = arguments.operands[5];
  network.initial_hidden = arguments.operands[6];
  network.initial_cell = arguments.operands[7];
  network.steps = lstm.steps;
  network.direction = lstm.direction;
  Run(network, results);
}

void MakeLstmCell(CaseMaker& maker) {
  auto& lstm = maker.attributes<webidl::LstmCellAttributes>();
  PickCell(maker, 3, lstm);
  const auto type = maker.PickType(0);
  const uint32_t batch = maker.Between(1, 3);
  const uint32_t depth = maker.Between(1, maker.OneIn(4) ? 30 : 6);
  const uint32_t rows = kLstmGates * lstm.hidden_size;
  AddScaled(maker, type, {batch, depth});
  AddScaled(maker, type, {rows, depth});
  AddScaled(maker, type, {rows, lstm.hidden_size});
  AddScaled(maker, type, {batch, lstm.hidden_size});
  AddScaled(maker, type, {batch, lstm.hidden_size});
  AddScaledOptional(maker, type, {rows});
  AddScaledOptional(maker, type, {rows});
  AddScaledOptional(maker, type, {3 * lstm.hidden_size});
}

void EvaluateLstmCell(const Arguments& arguments, std::span<Array> results) {
  const auto& lstm = std::get<webidl::LstmCellAttributes>(arguments.attributes);
  Network network = MakeNetwork(arguments, lstm, kLstmGates);
  network.initial_hidden = arguments.operands[3];
  network.initial_cell = arguments.operands[4];
  network.bias = arguments.operands[5];
  network.recurrent_bias = arguments.operands[6];
  network.peephole_weight = arguments.operands[7];
  Run(network, results);
}

}  // namespace webnnd::reference

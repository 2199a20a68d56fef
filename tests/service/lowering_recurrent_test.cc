// Recurrent networks against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::RecurrentNetworkActivation;
using webidl::RecurrentNetworkDirection;
using webidl::Shape;
using Values = std::vector<long double>;
using Operands = std::vector<std::optional<HostTensor>>;
using Activations = std::optional<std::vector<RecurrentNetworkActivation>>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;
constexpr auto kRelu = RecurrentNetworkActivation::kRelu;
constexpr auto kSigmoid = RecurrentNetworkActivation::kSigmoid;
constexpr auto kTanh = RecurrentNetworkActivation::kTanh;

long double Activate(RecurrentNetworkActivation activation, long double x) {
  if (activation == kSigmoid) return 1 / (1 + std::exp(-x));
  return activation == kTanh ? std::tanh(x) : std::max(x, 0.0L);
}

// A network as both the test and the operators see it.
struct Network {
  OperandDataType type = kFloat;
  bool is_lstm = false;
  bool is_cell = false;
  uint32_t steps = 1;
  uint32_t batch = 2;
  uint32_t depth = 3;
  uint32_t hidden = 3;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::kForward;
  bool has_bias = true;
  bool has_recurrent_bias = true;
  bool has_peephole = true;
  bool has_hidden = true;
  bool has_cell_state = true;
  bool return_sequence = true;
  bool reset_after = true;
  bool second_layout = false;
  Activations activations;
  // Of recurrent weights: large ones of many elements let rounding errors grow from step to step.
  double recurrent_bound = 1;
  uint32_t seed = 1;

  uint32_t gates() const { return is_lstm ? 4 : 3; }
  uint32_t directions() const { return direction == RecurrentNetworkDirection::kBoth ? 2 : 1; }
};

struct NetworkOperands {
  HostTensor input, weight, recurrent_weight;
  std::optional<HostTensor> bias, recurrent_bias, peephole, hidden, cell;
};

NetworkOperands MakeOperands(const Network& network) {
  uint32_t seed = network.seed;
  auto make = [&](Shape shape, double bound = 1) {
    // Cells have no dimension of directions or steps.
    if (network.is_cell) shape.erase(shape.begin());
    return RandomTensor(network.type, shape, ++seed, -bound, bound);
  };
  uint32_t directions = network.directions();
  uint32_t rows = network.gates() * network.hidden;
  NetworkOperands operands{make({network.steps, network.batch, network.depth}),
                           make({directions, rows, network.depth}),
                           make({directions, rows, network.hidden}, network.recurrent_bound),
                           {},
                           {},
                           {},
                           {},
                           {}};
  if (network.has_bias) operands.bias = make({directions, rows});
  if (network.has_recurrent_bias) operands.recurrent_bias = make({directions, rows});
  if (network.is_lstm && network.has_peephole) {
    operands.peephole = make({directions, 3 * network.hidden});
  }
  Shape state = {directions, network.batch, network.hidden};
  if (network.has_hidden) operands.hidden = make(state);
  if (network.is_lstm && network.has_cell_state) operands.cell = make(state);
  return operands;
}

std::vector<HostTensor> RunNetwork(const Network& network, const NetworkOperands& o) {
  auto gru_layout =
      network.second_layout ? webidl::GruWeightLayout::kRzn : webidl::GruWeightLayout::kZrn;
  auto lstm_layout =
      network.second_layout ? webidl::LstmWeightLayout::kIfgo : webidl::LstmWeightLayout::kIofg;
  Operands operands = {o.input, o.weight, o.recurrent_weight};
  Operands biases = {o.bias, o.recurrent_bias};
  Operands states = {o.hidden};
  if (network.is_lstm) {
    biases.push_back(o.peephole);
    states.push_back(o.cell);
  }
  for (const Operands& part :
       network.is_cell ? std::vector{states, biases} : std::vector{biases, states}) {
    operands.insert(operands.end(), part.begin(), part.end());
  }
  OperatorKind kind;
  webidl::OperatorAttributes attributes;
  if (network.is_lstm && network.is_cell) {
    kind = OperatorKind::kLstmCell;
    attributes = webidl::LstmCellAttributes{
        .hidden_size = network.hidden, .layout = lstm_layout, .activations = network.activations};
  } else if (network.is_lstm) {
    kind = OperatorKind::kLstm;
    attributes = webidl::LstmAttributes{.steps = network.steps,
                                        .hidden_size = network.hidden,
                                        .return_sequence = network.return_sequence,
                                        .direction = network.direction,
                                        .layout = lstm_layout,
                                        .activations = network.activations};
  } else if (network.is_cell) {
    kind = OperatorKind::kGruCell;
    attributes = webidl::GruCellAttributes{.hidden_size = network.hidden,
                                           .reset_after = network.reset_after,
                                           .layout = gru_layout,
                                           .activations = network.activations};
  } else {
    kind = OperatorKind::kGru;
    attributes = webidl::GruAttributes{.steps = network.steps,
                                       .hidden_size = network.hidden,
                                       .reset_after = network.reset_after,
                                       .return_sequence = network.return_sequence,
                                       .direction = network.direction,
                                       .layout = gru_layout,
                                       .activations = network.activations};
  }
  auto results = RunNode(kind, operands, attributes);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().ToString());
  return results.ok() ? std::move(*results) : std::vector<HostTensor>();
}

// The draft's emulation, one row of one direction's batch at a time.
class Reference {
 public:
  Reference(const Network& network, const NetworkOperands& operands)
      : network_(network),
        input_(operands.input.Values()),
        weight_(operands.weight.Values()),
        recurrent_weight_(operands.recurrent_weight.Values()),
        bias_(ValuesOf(operands.bias)),
        recurrent_bias_(ValuesOf(operands.recurrent_bias)),
        peephole_(ValuesOf(operands.peephole)) {
    size_t states = size_t{network.directions()} * network.batch * network.hidden;
    hidden = operands.hidden ? operands.hidden->Values() : Values(states);
    cell = operands.cell ? operands.cell->Values() : Values(states);
    sequence.resize(network.steps * states);
    for (uint32_t d = 0; d < network.directions(); ++d) {
      bool backward = d == 1 || network.direction == RecurrentNetworkDirection::kBackward;
      for (uint32_t step = 0; step < network.steps; ++step) {
        uint32_t position = backward ? network.steps - 1 - step : step;
        for (uint32_t b = 0; b < network.batch; ++b) Step(d, position, b);
      }
    }
  }

  Values hidden;
  Values cell;
  Values sequence;
  double largest = 0;  // Of all hidden states' magnitudes.

 private:
  static Values ValuesOf(const std::optional<HostTensor>& tensor) {
    return tensor ? tensor->Values() : Values();
  }

  void Step(uint32_t d, uint32_t position, uint32_t b) {
    uint32_t size = network_.hidden;
    size_t row = (size_t{d} * network_.batch + b) * size;
    Values h(hidden.begin() + row, hidden.begin() + row + size);
    Values new_hidden(size);
    for (uint32_t j = 0; j < size; ++j) {
      if (network_.is_lstm) {
        new_hidden[j] = LstmElement(d, position, b, j, h, cell[row + j]);
      } else {
        new_hidden[j] = GruElement(d, position, b, j, h);
      }
    }
    for (uint32_t j = 0; j < size; ++j) {
      hidden[row + j] = new_hidden[j];
      largest = std::max(largest, std::fabs(static_cast<double>(new_hidden[j])));
      sequence[size_t{position} * hidden.size() + row + j] = new_hidden[j];
    }
  }

  size_t Row(uint32_t d, uint32_t gate, uint32_t j) const {
    return (size_t{d} * network_.gates() + gate) * network_.hidden + j;
  }
  long double FromInput(uint32_t d, uint32_t position, uint32_t b, uint32_t gate,
                        uint32_t j) const {
    size_t row = Row(d, gate, j);
    long double sum = bias_.empty() ? 0 : bias_[row];
    for (uint32_t k = 0; k < network_.depth; ++k) {
      sum += input_[(size_t{position} * network_.batch + b) * network_.depth + k] *
             weight_[row * network_.depth + k];
    }
    return sum;
  }
  long double FromState(uint32_t d, uint32_t gate, uint32_t j, const Values& h) const {
    size_t row = Row(d, gate, j);
    long double sum = recurrent_bias_.empty() ? 0 : recurrent_bias_[row];
    for (uint32_t k = 0; k < network_.hidden; ++k) {
      sum += h[k] * recurrent_weight_[row * network_.hidden + k];
    }
    return sum;
  }

  long double GruElement(uint32_t d, uint32_t position, uint32_t b, uint32_t j, const Values& h) {
    auto f = network_.activations.value_or(std::vector{kSigmoid, kTanh});
    uint32_t z_gate = network_.second_layout ? 1 : 0;
    auto gate = [&](uint32_t g, uint32_t i) {
      return Activate(f[0], FromInput(d, position, b, g, i) + FromState(d, g, i, h));
    };
    long double z = gate(z_gate, j);
    long double n = FromInput(d, position, b, 2, j);
    if (network_.reset_after) {
      n += gate(1 - z_gate, j) * FromState(d, 2, j, h);
    } else {
      Values reset = h;
      for (uint32_t i = 0; i < network_.hidden; ++i) reset[i] *= gate(1 - z_gate, i);
      n += FromState(d, 2, j, reset);
    }
    return z * h[j] + (1 - z) * Activate(f[1], n);
  }

  long double LstmElement(uint32_t d, uint32_t position, uint32_t b, uint32_t j, const Values& h,
                          long double& c) {
    auto f = network_.activations.value_or(std::vector{kSigmoid, kTanh, kTanh});
    // Gates in the order input, output, forget, cell.
    constexpr uint32_t kIofg[] = {0, 1, 2, 3};
    constexpr uint32_t kIfgo[] = {0, 3, 1, 2};
    long double sums[4];
    for (uint32_t g = 0; g < 4; ++g) {
      uint32_t at = (network_.second_layout ? kIfgo : kIofg)[g];
      sums[g] = FromInput(d, position, b, at, j) + FromState(d, at, j, h);
      if (g < 3 && !peephole_.empty()) {
        sums[g] += c * peephole_[(size_t{d} * 3 + g) * network_.hidden + j];
      }
    }
    c = Activate(f[0], sums[2]) * c + Activate(f[0], sums[0]) * Activate(f[1], sums[3]);
    return Activate(f[0], sums[1]) * Activate(f[2], c);
  }

  const Network& network_;
  Values input_, weight_, recurrent_weight_, bias_, recurrent_bias_, peephole_;
};

// What a gate without a bound makes of a large state may cancel to a small one, which has the large
// one's rounding error: half a unit of the last place.
void ExpectNear(const Values& expected, double largest_state, const HostTensor& actual) {
  bool is_half = actual.descriptor.data_type() == kHalf;
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    auto want = static_cast<double>(expected[i]);
    double tolerance = (is_half ? 1e-3 : 4e-6) * (1 + std::fabs(want)) + 0x1p-24 * largest_state;
    ASSERT_NEAR(static_cast<double>(values[i]), want, tolerance) << "element " << i;
  }
}

void ExpectMatches(const Network& network) {
  SCOPED_TRACE("seed " + std::to_string(network.seed));
  NetworkOperands operands = MakeOperands(network);
  std::vector<HostTensor> results = RunNetwork(network, operands);
  Reference reference(network, operands);
  bool has_sequence = !network.is_cell && network.return_sequence;
  ASSERT_EQ(results.size(), 1u + network.is_lstm + has_sequence);
  ExpectNear(reference.hidden, reference.largest, results[0]);
  if (network.is_lstm) ExpectNear(reference.cell, reference.largest, results[1]);
  if (has_sequence) ExpectNear(reference.sequence, reference.largest, results.back());
}

// Options by the bits of `choice`; sizes that leave half words at the ends of states, and, for
// every second choice, rows that load four elements at a time.
Network ChooseNetwork(uint32_t choice, bool is_lstm, bool is_cell) {
  Network network;
  network.is_lstm = is_lstm;
  network.is_cell = is_cell;
  std::mt19937 random(choice * 4 + is_lstm * 2 + is_cell);
  auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  network.type = choice % 3 == 2 ? kHalf : kFloat;
  network.batch = 1 + below(3);
  network.depth = choice % 2 == 0 ? 1 + below(9) : 4 + 4 * below(3);
  network.hidden = choice % 2 == 0 ? 1 + below(11) : 4 + 4 * below(4);
  if (!is_cell) {
    network.steps = 1 + below(4);
    network.direction = static_cast<RecurrentNetworkDirection>(choice / 2 % 3);
    network.has_hidden = below(2) != 0;
    network.has_cell_state = below(2) != 0;
  }
  network.has_bias = below(2) != 0;
  network.has_recurrent_bias = below(3) != 0;
  network.has_peephole = below(2) != 0;
  network.return_sequence = below(2) != 0;
  network.reset_after = (choice & 1) != 0;
  network.second_layout = (choice & 2) != 0;
  if (below(3) == 0) {
    network.activations = std::vector<RecurrentNetworkActivation>();
    for (uint32_t i = 0; i < (is_lstm ? 3 : 2); ++i) {
      network.activations->push_back(static_cast<RecurrentNetworkActivation>(below(3)));
    }
  }
  network.seed = 1000 * choice;
  return network;
}

TEST(LowerGru, RandomNetworks_MatchReference) {
  for (uint32_t choice = 0; choice < 15; ++choice) {
    ExpectMatches(ChooseNetwork(choice, /*is_lstm=*/false, /*is_cell=*/false));
  }
}

TEST(LowerGruCell, RandomCells_MatchReference) {
  for (uint32_t choice = 0; choice < 12; ++choice) {
    ExpectMatches(ChooseNetwork(choice, /*is_lstm=*/false, /*is_cell=*/true));
  }
}

TEST(LowerLstm, RandomNetworks_MatchReference) {
  for (uint32_t choice = 0; choice < 15; ++choice) {
    ExpectMatches(ChooseNetwork(choice, /*is_lstm=*/true, /*is_cell=*/false));
  }
}

TEST(LowerLstmCell, RandomCells_MatchReference) {
  for (uint32_t choice = 0; choice < 12; ++choice) {
    ExpectMatches(ChooseNetwork(choice, /*is_lstm=*/true, /*is_cell=*/true));
  }
}

// Enough steps for recurrent weights to be packed, and as many elements of a state as that takes,
// or not; in the middle of a subgroup's lanes another row begins, or another direction.
TEST(LowerRecurrent, WeightsThatArePacked_MatchReference) {
  for (const bool is_lstm : {false, true}) {
    uint32_t choice = 0;
    for (const uint32_t hidden : {16u, 48u, 24u, 96u}) {
      for (const OperandDataType type : {kFloat, kHalf}) {
        ++choice;
        ExpectMatches({.type = type,
                       .is_lstm = is_lstm,
                       .steps = 6 + choice % 3,
                       .batch = 1 + choice % 3,
                       .depth = 5,
                       .hidden = hidden,
                       .direction = static_cast<RecurrentNetworkDirection>(choice % 3),
                       .has_recurrent_bias = choice % 2 == 0,
                       .has_peephole = choice % 4 < 2,
                       .has_hidden = choice % 4 != 3,
                       .has_cell_state = choice % 3 != 0,
                       .reset_after = hidden != 16 && choice % 2 == 0,
                       .second_layout = hidden == 48,
                       .recurrent_bound = 0.25,
                       .seed = 500 + choice});
      }
    }
  }
}

// One activation per gate, so that no two can be mistaken.
TEST(LowerLstm, DifferentActivations_ApplyToTheirGates) {
  Network network{.is_lstm = true, .steps = 3, .activations = {{kTanh, kRelu, kSigmoid}}};
  ExpectMatches(network);
  network.activations = {{kSigmoid, kTanh, kRelu}};
  network.is_cell = true;
  network.steps = 1;
  ExpectMatches(network);
}

TEST(LowerGru, OddHalfStates_LeaveTheirNeighbours) {
  for (bool reset_after : {false, true}) {
    ExpectMatches({.type = kHalf,
                   .steps = 3,
                   .batch = 1,
                   .hidden = 5,
                   .direction = RecurrentNetworkDirection::kBoth,
                   .reset_after = reset_after,
                   .seed = 70});
  }
}

// The gates of all steps take more memory than inputs are multiplied into at once.
void ExpectPieces(RecurrentNetworkDirection direction, uint32_t batch) {
  Network network{.is_lstm = true,
                  .steps = 300,
                  .batch = batch,
                  .depth = 1,
                  .hidden = 16,
                  .direction = direction,
                  .seed = 80};
  const uint32_t directions = network.directions();
  ASSERT_GT(uint64_t{network.steps} * directions * batch * network.hidden * 4 * 4, 16u << 20);
  NetworkOperands operands = MakeOperands(network);
  // Weights that forget, so that rounding errors do not grow.
  for (HostTensor* weight : {&operands.recurrent_weight, &*operands.peephole}) {
    Values values = weight->Values();
    for (long double& value : values) value /= 32;
    *weight = HostTensor::Create(kFloat, weight->descriptor.shape(), values);
  }
  // The first row of the batch alone, as the reference is slow.
  auto first_rows = [&](const Values& values) {  // Of [..., batch, hidden].
    Values rows;
    for (size_t from = 0; from < values.size(); from += size_t{batch} * network.hidden) {
      rows.insert(rows.end(), values.begin() + from, values.begin() + from + network.hidden);
    }
    return rows;
  };
  Network row = network;
  row.batch = 1;
  NetworkOperands row_operands = operands;
  Values inputs = operands.input.Values();
  Values row_inputs;
  for (uint32_t step = 0; step < network.steps; ++step) {
    row_inputs.push_back(inputs[size_t{step} * batch]);
  }
  row_operands.input = HostTensor::Create(kFloat, {network.steps, 1, 1}, row_inputs);
  for (std::optional<HostTensor>* state : {&row_operands.hidden, &row_operands.cell}) {
    *state =
        HostTensor::Create(kFloat, {directions, 1, network.hidden}, first_rows((*state)->Values()));
  }
  Reference reference(row, row_operands);
  std::vector<HostTensor> results = RunNetwork(network, operands);
  ASSERT_EQ(results.size(), 3u);
  auto expect_near = [](const Values& expected, const Values& values) {
    ASSERT_EQ(values.size(), expected.size());
    for (size_t e = 0; e < values.size(); ++e) {
      ASSERT_NEAR(static_cast<double>(values[e]), static_cast<double>(expected[e]), 2e-5) << e;
    }
  };
  expect_near(reference.hidden, first_rows(results[0].Values()));
  expect_near(reference.sequence, first_rows(results[2].Values()));
}

TEST(LowerLstm, ManySteps_MultiplyTheirInputsInPieces) {
  ExpectPieces(RecurrentNetworkDirection::kBackward, 240);
  ExpectPieces(RecurrentNetworkDirection::kBoth, 120);
}

// What makes the inputs' part a product of many rows, with a bias for each direction, and sums that
// do not load by four. Few steps, each of which multiplies rounding errors.
TEST(LowerGru, ManyRowsInBothDirections_MatchReference) {
  ExpectMatches({.steps = 2,
                 .batch = 256,
                 .depth = 64,
                 .hidden = 45,
                 .direction = RecurrentNetworkDirection::kBoth,
                 .seed = 81});
}

TEST(LowerGru, MoreStepsThanCallsOfAGraph_AreRefused) {
  constexpr uint32_t kSteps = 100000;
  auto result = RunNode(OperatorKind::kGru,
                        {RandomTensor(kFloat, {kSteps, 1, 1}, 90),
                         RandomTensor(kFloat, {1, 3, 1}, 91),
                         RandomTensor(kFloat, {1, 3, 1}, 92),
                         {},
                         {},
                         {}},
                        webidl::GruAttributes{.steps = kSteps, .hidden_size = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerLstm, TwoActivations_AreRefused) {
  Network network{.is_lstm = true};
  NetworkOperands o = MakeOperands(network);
  EXPECT_FALSE(
      RunNode(OperatorKind::kLstm, {o.input, o.weight, o.recurrent_weight, {}, {}, {}, {}, {}},
              webidl::LstmAttributes{
                  .steps = 1, .hidden_size = network.hidden, .activations = {{kTanh, kTanh}}})
          .ok());
}

}  // namespace
}  // namespace webnnd::service

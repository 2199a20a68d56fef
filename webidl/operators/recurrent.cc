#include "webidl/operators/recurrent.h"

#include <optional>
#include <utility>
#include <vector>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

// Gates whose weights lie one after the other in a weight tensor.
constexpr uint64_t kGruGates = 3;
constexpr uint64_t kLstmGates = 4;
// Gates of an lstm that see the cell's state.
constexpr uint64_t kPeepholes = 3;

constexpr size_t kGruActivations = 2;
constexpr size_t kLstmActivations = 3;

// The first slots of all four operators.
constexpr size_t kInput = 0;
constexpr size_t kWeight = 1;
constexpr size_t kRecurrentWeight = 2;

using Activations = std::optional<std::vector<RecurrentNetworkActivation>>;

Status CheckActivations(const Activations& activations, size_t expected) {
  return activations ? CheckListSize("activations", activations->size(), expected) : Status();
}

// Both biases together must be a dimension: some platforms concatenate them.
Status CheckHiddenSize(uint32_t hidden_size, uint64_t gates) {
  const uint64_t biases = uint64_t{hidden_size} * gates * 2;
  INVALID_CHECK(191, biases == 0 || biases > limits::kDimensionMax,
                "hiddenSize ({}) times {} is not a valid dimension (1 to {})", hidden_size,
                gates * 2, limits::kDimensionMax);
  return {};
}

// What a sequence operator's shapes are made of. hidden * gates fits: CheckHiddenSize.
struct Sequence {
  uint64_t directions;
  uint64_t steps;
  uint64_t batch;
  uint64_t hidden;
};

// Checks what gru and lstm share: steps, hidden size, weights and biases.
template <class A>
Result<Sequence> CheckSequence(const OperatorArguments& arguments, const A& attributes,
                               uint64_t gates, size_t bias, size_t recurrent_bias) {
  const Shape& input = Operand(arguments, kInput).shape();
  INVALID_CHECK(192, input[0] != attributes.steps,
                "steps ({}) is not the first dimension of input ({})", attributes.steps, input[0]);
  TRY(CheckHiddenSize(attributes.hidden_size, gates));
  const Sequence sequence = {
      .directions = attributes.direction == RecurrentNetworkDirection::kBoth ? 2u : 1u,
      .steps = attributes.steps,
      .batch = input[1],
      .hidden = attributes.hidden_size};
  const uint64_t rows = gates * sequence.hidden;
  TRY(CheckShape(arguments, kWeight, {sequence.directions, rows, input[2]}));
  TRY(CheckShape(arguments, kRecurrentWeight, {sequence.directions, rows, sequence.hidden}));
  TRY(CheckShape(arguments, bias, {sequence.directions, rows}));
  TRY(CheckShape(arguments, recurrent_bias, {sequence.directions, rows}));
  return sequence;
}

// The last states, `states` times, and where it is asked for the state after every step.
Result<Descriptors> SequenceResults(OperandDataType type, const Sequence& sequence, size_t states,
                                    bool return_sequence) {
  const auto dimension = [](uint64_t size) { return static_cast<uint32_t>(size); };
  const Shape last = {dimension(sequence.directions), dimension(sequence.batch),
                      dimension(sequence.hidden)};
  ASSIGN_OR_RETURN(OperandDescriptor state, OperandDescriptor::Create(type, last));
  Descriptors results(states, state);
  if (return_sequence) {
    Shape all = {dimension(sequence.steps)};
    all.insert(all.end(), last.begin(), last.end());
    ASSIGN_OR_RETURN(OperandDescriptor outputs, OperandDescriptor::Create(type, all));
    results.push_back(std::move(outputs));
  }
  return results;
}

// Checks what gruCell and lstmCell share, and gives the shape of a state. Slots `state` to
// `last_state` hold states.
Result<Shape> CheckCell(const OperatorArguments& arguments, uint32_t hidden_size, uint64_t gates,
                        size_t state, size_t last_state, size_t bias, size_t recurrent_bias) {
  const Shape& input = Operand(arguments, kInput).shape();
  TRY(CheckHiddenSize(hidden_size, gates));
  const uint64_t rows = gates * hidden_size;
  TRY(CheckShape(arguments, kWeight, {rows, input[1]}));
  TRY(CheckShape(arguments, kRecurrentWeight, {rows, hidden_size}));
  for (size_t slot = state; slot <= last_state; ++slot) {
    TRY(CheckShape(arguments, slot, {input[0], hidden_size}));
  }
  TRY(CheckShape(arguments, bias, {rows}));
  TRY(CheckShape(arguments, recurrent_bias, {rows}));
  return Shape{input[0], hidden_size};
}

Result<Descriptors> InferGru(const OperatorArguments& arguments) {
  const GruAttributes& attributes = Attributes<GruAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, 1, 5));
  ASSIGN_OR_RETURN(Sequence sequence, CheckSequence(arguments, attributes, kGruGates, 3, 4));
  TRY(CheckShape(arguments, 5, {sequence.directions, sequence.batch, sequence.hidden}));
  TRY(CheckActivations(attributes.activations, kGruActivations));
  return SequenceResults(Operand(arguments, kInput).data_type(), sequence, 1,
                         attributes.return_sequence);
}

Result<Descriptors> InferGruCell(const OperatorArguments& arguments) {
  const GruCellAttributes& attributes = Attributes<GruCellAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, 1, 5));
  ASSIGN_OR_RETURN(Shape state,
                   CheckCell(arguments, attributes.hidden_size, kGruGates, 3, 3, 4, 5));
  TRY(CheckActivations(attributes.activations, kGruActivations));
  return OneResult(Operand(arguments, kInput).data_type(), state);
}

Result<Descriptors> InferLstm(const OperatorArguments& arguments) {
  const LstmAttributes& attributes = Attributes<LstmAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, 1, 7));
  ASSIGN_OR_RETURN(Sequence sequence, CheckSequence(arguments, attributes, kLstmGates, 3, 4));
  TRY(CheckShape(arguments, 5, {sequence.directions, kPeepholes * sequence.hidden}));
  for (size_t slot = 6; slot <= 7; ++slot) {
    TRY(CheckShape(arguments, slot, {sequence.directions, sequence.batch, sequence.hidden}));
  }
  TRY(CheckActivations(attributes.activations, kLstmActivations));
  return SequenceResults(Operand(arguments, kInput).data_type(), sequence, 2,
                         attributes.return_sequence);
}

Result<Descriptors> InferLstmCell(const OperatorArguments& arguments) {
  const LstmCellAttributes& attributes = Attributes<LstmCellAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, 1, 7));
  ASSIGN_OR_RETURN(Shape state,
                   CheckCell(arguments, attributes.hidden_size, kLstmGates, 3, 4, 5, 6));
  TRY(CheckShape(arguments, 7, {kPeepholes * attributes.hidden_size}));
  TRY(CheckActivations(attributes.activations, kLstmActivations));
  ASSIGN_OR_RETURN(OperandDescriptor descriptor,
                   OperandDescriptor::Create(Operand(arguments, kInput).data_type(), state));
  return Descriptors{descriptor, descriptor};
}

constexpr TensorConstraint OfRank(uint32_t rank) { return TensorOfRank(kFloatTypes, rank); }

}  // namespace

OperatorRow GruRow(OperatorKind kind) {
  return {kind,
          {OfRank(3), OfRank(3), OfRank(3), OfRank(2), OfRank(2), OfRank(3)},
          {OfRank(3), OfRank(4)},
          InferGru};
}

OperatorRow GruCellRow(OperatorKind kind) {
  return {kind,
          {OfRank(2), OfRank(2), OfRank(2), OfRank(2), OfRank(1), OfRank(1)},
          {OfRank(2)},
          InferGruCell};
}

OperatorRow LstmRow(OperatorKind kind) {
  return {kind,
          {OfRank(3), OfRank(3), OfRank(3), OfRank(2), OfRank(2), OfRank(2), OfRank(3), OfRank(3)},
          {OfRank(3), OfRank(3), OfRank(4)},
          InferLstm};
}

OperatorRow LstmCellRow(OperatorKind kind) {
  return {kind,
          {OfRank(2), OfRank(2), OfRank(2), OfRank(2), OfRank(2), OfRank(1), OfRank(1), OfRank(1)},
          {OfRank(2), OfRank(2)},
          InferLstmCell};
}

}  // namespace webnnd::webidl

#include "service/passes/lower_recurrent.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_elementwise.h"
#include "service/passes/matrix_product.h"
#include "service/passes/recurrent_weights.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::RecurrentNetworkActivation;
using webidl::RecurrentNetworkDirection;

constexpr uint32_t kGruGates = 3;
constexpr uint32_t kLstmGates = 4;

// Values of specialisation constant 8 of gru_step.comp.
enum class GruPart : uint32_t { kWhole, kReset, kUpdate };

// One of the four operators. A cell is a network of one step.
struct Network {
  ValueId input = kNoValue;
  ValueId weight = kNoValue;
  ValueId recurrent_weight = kNoValue;
  ValueId bias = kNoValue;
  ValueId recurrent_bias = kNoValue;
  ValueId peephole_weight = kNoValue;
  ValueId initial_hidden = kNoValue;
  ValueId initial_cell = kNoValue;
  // Results; kNoValue for those that it does not have.
  ValueId last_hidden = kNoValue;
  ValueId last_cell = kNoValue;
  ValueId sequence = kNoValue;

  uint32_t gates = 0;
  uint32_t directions = 1;
  uint32_t steps = 1;
  uint32_t batch = 0;
  uint32_t depth = 0;  // Of the input.
  uint32_t hidden = 0;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::kForward;
  bool reset_after = false;
  uint32_t layout = 0;
  std::vector<uint32_t> activations;
  OperandDataType type{};
  bool wide = false;       // DeviceTraits::wide
  bool is_packed = false;  // The recurrent weights (recurrent_weights.h).

  uint32_t rows() const { return gates * hidden; }
  uint64_t state_elements() const { return uint64_t{directions} * batch * hidden; }
  uint64_t gate_bytes_per_step() const { return state_elements() * gates * sizeof(float); }
  // The place in the input and in the sequence of what is processed as step `step`.
  uint32_t PositionOf(uint32_t step, uint32_t of_direction) const {
    return IsBackward(of_direction) ? steps - 1 - step : step;
  }
  bool IsBackward(uint32_t of_direction) const {
    return of_direction == 1 || direction == RecurrentNetworkDirection::kBackward;
  }
};

// What gates get from the input (recurrent.glsl), for the steps from `first_step` on, in the order
// in which they are processed, or for all in the order of the input.
struct Gates {
  ValueId value = kNoValue;
  bool in_input_order = false;
  uint32_t first_step = 0;
  uint32_t steps = 0;
};

// A state: of the operator's data type, or float32 between steps. kNoValue: all zero.
struct State {
  ValueId hidden = kNoValue;
  ValueId cell = kNoValue;
};

ValueId Or(ValueId value, ValueId substitute) { return value == kNoValue ? substitute : value; }

Result<ValueId> AddFloatTemporary(uint64_t elements, LoweringBuilder& builder) {
  const uint32_t shape[] = {NarrowCast<uint32_t>(elements)};
  ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32,
                                                              std::span<const uint32_t>(shape)));
  return builder.AddTemporary(std::move(descriptor));
}

// Whether rows of this many elements load four at a time, in a loop that is not too long.
bool LoadsByFour(uint32_t row_size) {
  return row_size % 4 == 0 && row_size / 4 <= kInvocationIterationsMax;
}

// Whether products can compute all gates: they have results of the operands' type, and gates are
// not rounded to float16, so that operands are cast first. On GPUs a kernel of their own is as
// good.
bool HasInputProduct(const Network& network, const LoweringBuilder& builder) {
  if (network.type == OperandDataType::kFloat32) return true;
  const auto fits = [&](ValueId value) {
    return builder.descriptor(value).element_count() * sizeof(float) <= limits::kBindingBytesMax;
  };
  return !network.wide && fits(network.input) && fits(network.weight);
}

// The same elements as float32.
Result<ValueId> Widen(ValueId value, LoweringBuilder& builder) {
  if (value == kNoValue || builder.descriptor(value).data_type() == OperandDataType::kFloat32) {
    return value;
  }
  ASSIGN_OR_RETURN(const ValueId wide,
                   AddFloatTemporary(builder.descriptor(value).element_count(), builder));
  TRY(AddCast(value, wide, builder));
  return wide;
}

// Adds the product of matrices that computes all gates.
Status AddInputProduct(const Network& network, const Gates& gates, LoweringBuilder& builder) {
  Product product;
  ASSIGN_OR_RETURN(product.a, Widen(network.input, builder));
  ASSIGN_OR_RETURN(product.b, Widen(network.weight, builder));
  ASSIGN_OR_RETURN(product.c, Widen(network.bias, builder));
  product.result = gates.value;
  product.rows = NarrowCast<uint32_t>(uint64_t{network.steps} * network.batch);
  product.columns = network.rows();
  product.depth = network.depth;
  product.a_strides = {network.depth, 1};
  product.b_strides = {1, network.depth};
  product.c_strides = {0, 1};
  product.result_strides = {network.rows(), 1};
  product.batch = {{.size = network.directions,
                    .strides = {0, network.rows() * network.depth, network.rows(),
                                product.rows * network.rows()}}};
  return AddProductCall(product, builder);
}

// Adds the call that computes `gates`, of some steps or of any type.
void AddInputCall(const Network& network, const Gates& gates, LoweringBuilder& builder) {
  const uint64_t elements = network.state_elements() * network.gates * gates.steps;
  LoweredCall call;
  call.shader = ShaderId::kRecurrentInput;
  call.specialization = {static_cast<uint32_t>(network.type), network.bias != kNoValue,
                         LoadsByFour(network.depth)};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{network.input, false},
                  {network.weight, false},
                  {Or(network.bias, network.weight), false},
                  {gates.value, true}};
  call.parameters = {NarrowCast<uint32_t>(elements), network.depth, 0, gates.first_step};
  AppendDivisor(network.rows(), call.parameters);
  AppendDivisor(network.batch, call.parameters);
  AppendDivisor(gates.steps, call.parameters);
  for (uint32_t word :
       {network.steps, uint32_t{network.IsBackward(0)}, uint32_t{network.IsBackward(1)}, 0u}) {
    call.parameters.push_back(word);
  }
  call.invocations = elements;
  call.cost = elements * network.depth;
  builder.AddCall(std::move(call));
}

// The gates of the steps from `first_step` on, as many as memory is taken for.
Result<Gates> AddGates(const Network& network, uint32_t first_step, LoweringBuilder& builder) {
  constexpr uint64_t kBytesMax = 16ull << 20;
  const auto steps_at_once = static_cast<uint32_t>(
      std::clamp<uint64_t>(kBytesMax / network.gate_bytes_per_step(), 1, network.steps));
  Gates gates;
  gates.first_step = first_step;
  gates.steps = std::min(steps_at_once, network.steps - first_step);
  gates.in_input_order = gates.steps == network.steps && HasInputProduct(network, builder);
  const uint64_t elements = network.state_elements() * network.gates * gates.steps;
  ASSIGN_OR_RETURN(gates.value, AddFloatTemporary(elements, builder));
  if (gates.in_input_order) {
    TRY(AddInputProduct(network, gates, builder));
  } else {
    AddInputCall(network, gates, builder);
  }
  return gates;
}

// A call of a kernel of recurrent.glsl for one step; shader, specialisation and buffers are up to
// the caller.
LoweredCall MakeStepCall(const Network& network, const Gates& gates, uint32_t step) {
  uint64_t elements = network.state_elements();
  auto offset_in_gates = [&](uint32_t direction) {
    const uint32_t at =
        gates.in_input_order ? network.PositionOf(step, direction) : step - gates.first_step;
    const uint64_t step_gates = uint64_t{network.batch} * network.rows();
    return NarrowCast<uint32_t>((uint64_t{direction} * gates.steps + at) * step_gates);
  };
  LoweredCall call;
  call.parameters = {NarrowCast<uint32_t>(elements), offset_in_gates(0),
                     network.directions > 1 ? offset_in_gates(1) - offset_in_gates(0) : 0, 0};
  AppendDivisor(network.hidden, call.parameters);
  AppendDivisor(network.batch, call.parameters);
  for (uint32_t direction : {0, 1}) {
    uint64_t offset = network.PositionOf(step, direction) * elements;
    call.parameters.push_back(network.sequence == kNoValue ? 0 : NarrowCast<uint32_t>(offset));
  }
  // Of GPUs, a subgroup takes each.
  call.invocations = elements * (network.wide ? kSubgroupInvocations : 1);
  call.cost = elements * network.gates * (uint64_t{network.hidden} + 8);
  return call;
}

void AddLstmStep(const Network& network, const Gates& gates, uint32_t step, const State& from,
                 const State& to, LoweringBuilder& builder) {
  LoweredCall call = MakeStepCall(network, gates, step);
  call.shader = ShaderId::kLstmStep;
  OperandDataType read_type = step == 0 ? network.type : OperandDataType::kFloat32;
  call.specialization = {static_cast<uint32_t>(network.type),
                         static_cast<uint32_t>(read_type),
                         static_cast<uint32_t>(builder.descriptor(to.hidden).data_type()),
                         from.hidden != kNoValue,
                         from.cell != kNoValue,
                         network.peephole_weight != kNoValue,
                         network.sequence != kNoValue,
                         network.layout};
  call.specialization.insert(call.specialization.end(), network.activations.begin(),
                             network.activations.end());
  call.specialization.push_back(network.recurrent_bias != kNoValue);
  call.specialization.push_back(LoadsByFour(network.hidden));
  call.specialization.push_back(network.is_packed);
  call.buffers = {{gates.value, false},
                  {network.recurrent_weight, false},
                  {Or(network.peephole_weight, network.weight), false},
                  {Or(from.hidden, network.weight), false},
                  {Or(from.cell, network.weight), false},
                  {to.hidden, true},
                  {to.cell, true},
                  {Or(network.sequence, to.hidden), true},
                  {Or(network.recurrent_bias, network.weight), false}};
  builder.AddCall(std::move(call));
}

Status AddGruStep(const Network& network, const Gates& gates, uint32_t step, const State& from,
                  const State& to, LoweringBuilder& builder) {
  OperandDataType read_type = step == 0 ? network.type : OperandDataType::kFloat32;
  ValueId reset_hidden = kNoValue;
  auto add_part = [&](GruPart part, ValueId result) {
    LoweredCall call = MakeStepCall(network, gates, step);
    call.shader = ShaderId::kGruStep;
    bool has_sequence = part != GruPart::kReset && network.sequence != kNoValue;
    call.specialization = {static_cast<uint32_t>(network.type),
                           static_cast<uint32_t>(read_type),
                           static_cast<uint32_t>(builder.descriptor(result).data_type()),
                           from.hidden != kNoValue,
                           network.recurrent_bias != kNoValue,
                           has_sequence,
                           network.layout,
                           static_cast<uint32_t>(part)};
    call.specialization.insert(call.specialization.end(), network.activations.begin(),
                               network.activations.end());
    call.specialization.push_back(LoadsByFour(network.hidden));
    call.specialization.push_back(network.is_packed);
    call.buffers = {{gates.value, false},
                    {network.recurrent_weight, false},
                    {Or(network.recurrent_bias, network.weight), false},
                    {Or(from.hidden, network.weight), false},
                    {Or(reset_hidden, network.weight), false},
                    {result, true},
                    {has_sequence ? network.sequence : result, true}};
    builder.AddCall(std::move(call));
  };
  if (network.reset_after || from.hidden == kNoValue) {
    add_part(network.reset_after ? GruPart::kWhole : GruPart::kUpdate, to.hidden);
    return {};
  }
  // Products with the reset state need all of it.
  ASSIGN_OR_RETURN(ValueId reset, AddFloatTemporary(network.state_elements(), builder));
  add_part(GruPart::kReset, reset);
  reset_hidden = reset;
  add_part(GruPart::kUpdate, to.hidden);
  return {};
}

Status CheckNetwork(const Network& network, const LoweringBuilder& builder) {
  if (std::max(network.depth, network.hidden) / kLongLoopUnroll > kInvocationIterationsMax) {
    return NotSupportedError("the products' sums ({} terms) are longer than a kernel loops over",
                             std::max(network.depth, network.hidden));
  }
  if (network.gate_bytes_per_step() > limits::kBindingBytesMax) {
    return NotSupportedError("the gates of a step take more bytes ({}) than a kernel binds ({})",
                             network.gate_bytes_per_step(), limits::kBindingBytesMax);
  }
  // At most two calls for a step and one for its input, or three for all inputs. Known before they
  // are made, but for the few that cast and pack operands.
  if (builder.calls().size() + 3 * uint64_t{network.steps} + 2 > limits::kKernelsPerGraphMax) {
    return NotSupportedError("the steps ({}) take more kernel calls than a graph may have ({})",
                             network.steps, limits::kKernelsPerGraphMax);
  }
  return {};
}

// Has recurrent weights packed where kernels can take them so and packing them, which takes as long
// as some steps, pays.
Status PackWeights(Network& network, LoweringBuilder& builder) {
  constexpr uint32_t kStepsMin = 6;
  const OperandDescriptor& descriptor = builder.descriptor(network.recurrent_weight);
  network.is_packed = IsPacked(descriptor);
  const RecurrentWeights weights{network.recurrent_weight, network.directions, network.gates,
                                 network.hidden};
  if (network.is_packed || network.steps < kStepsMin ||
      !CanPack(weights, descriptor, builder.device())) {
    return {};
  }
  ASSIGN_OR_RETURN(network.recurrent_weight, AddPacked(weights, builder));
  network.is_packed = true;
  return {};
}

Status LowerNetwork(Network network, LoweringBuilder& builder) {
  TRY(CheckNetwork(network, builder));
  TRY(PackWeights(network, builder));
  bool has_cell = network.last_cell != kNoValue;

  // Steps alternate between two states.
  std::array<State, 2> between;
  for (State& state : between) {
    if (network.steps == 1) break;
    ASSIGN_OR_RETURN(state.hidden, AddFloatTemporary(network.state_elements(), builder));
    if (!has_cell) continue;
    ASSIGN_OR_RETURN(state.cell, AddFloatTemporary(network.state_elements(), builder));
  }
  Gates gates;
  State from{network.initial_hidden, network.initial_cell};
  for (uint32_t step = 0; step < network.steps; ++step) {
    if (step == gates.first_step + gates.steps) {
      ASSIGN_OR_RETURN(gates, AddGates(network, step, builder));
    }
    bool is_last = step + 1 == network.steps;
    State to = is_last ? State{network.last_hidden, network.last_cell} : between[step % 2];
    if (has_cell) {
      AddLstmStep(network, gates, step, from, to, builder);
    } else {
      TRY(AddGruStep(network, gates, step, from, to, builder));
    }
    from = to;
  }
  return {};
}

// The operands and sizes that all four operators share.
Network MakeNetwork(const Node& node, uint32_t gates, uint32_t hidden,
                    const LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const webidl::Shape& shape = input.shape();
  Network network;
  network.input = node.operands[0];
  network.weight = node.operands[1];
  network.recurrent_weight = node.operands[2];
  network.last_hidden = node.results[0];
  network.gates = gates;
  network.batch = shape[shape.size() - 2];
  network.depth = shape[shape.size() - 1];
  network.hidden = hidden;
  network.type = input.data_type();
  network.wide = builder.wide();
  return network;
}

template <class Attributes>
void SetSequence(const Node& node, const Attributes& attributes, Network& network) {
  network.steps = attributes.steps;
  network.direction = attributes.direction;
  network.directions = attributes.direction == RecurrentNetworkDirection::kBoth ? 2 : 1;
  if (attributes.return_sequence) network.sequence = node.results.back();
}

template <class Attributes>
void SetOptions(const Attributes& attributes, Network& network) {
  std::vector<RecurrentNetworkActivation> defaults(network.gates - 1,
                                                   RecurrentNetworkActivation::kTanh);
  defaults[0] = RecurrentNetworkActivation::kSigmoid;
  network.layout = static_cast<uint32_t>(attributes.layout);
  for (RecurrentNetworkActivation activation : attributes.activations.value_or(defaults)) {
    network.activations.push_back(static_cast<uint32_t>(activation));
  }
}

}  // namespace

Status LowerGru(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::GruAttributes>(node.attributes);
  Network network = MakeNetwork(node, kGruGates, attributes.hidden_size, builder);
  SetSequence(node, attributes, network);
  SetOptions(attributes, network);
  network.reset_after = attributes.reset_after;
  network.bias = node.operands[3];
  network.recurrent_bias = node.operands[4];
  network.initial_hidden = node.operands[5];
  return LowerNetwork(network, builder);
}

Status LowerGruCell(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::GruCellAttributes>(node.attributes);
  Network network = MakeNetwork(node, kGruGates, attributes.hidden_size, builder);
  SetOptions(attributes, network);
  network.reset_after = attributes.reset_after;
  network.initial_hidden = node.operands[3];
  network.bias = node.operands[4];
  network.recurrent_bias = node.operands[5];
  return LowerNetwork(network, builder);
}

Status LowerLstm(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::LstmAttributes>(node.attributes);
  Network network = MakeNetwork(node, kLstmGates, attributes.hidden_size, builder);
  SetSequence(node, attributes, network);
  SetOptions(attributes, network);
  network.last_cell = node.results[1];
  network.bias = node.operands[3];
  network.recurrent_bias = node.operands[4];
  network.peephole_weight = node.operands[5];
  network.initial_hidden = node.operands[6];
  network.initial_cell = node.operands[7];
  return LowerNetwork(network, builder);
}

Status LowerLstmCell(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::LstmCellAttributes>(node.attributes);
  Network network = MakeNetwork(node, kLstmGates, attributes.hidden_size, builder);
  SetOptions(attributes, network);
  network.last_cell = node.results[1];
  network.initial_hidden = node.operands[3];
  network.initial_cell = node.operands[4];
  network.bias = node.operands[5];
  network.recurrent_bias = node.operands[6];
  network.peephole_weight = node.operands[7];
  return LowerNetwork(network, builder);
}

}  // namespace webnnd::service

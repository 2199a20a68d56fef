#include "service/passes/lower_elementwise.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/elementwise_operation.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/row_calls.h"
#include "webidl/number.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::BitsPerElement;
using webidl::Number;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;

// The rows of a family stand in the order of ComputeClass in shaders/table.txt.
static_assert(static_cast<int>(ShaderId::kUnaryUint64) - static_cast<int>(ShaderId::kUnaryFloat) ==
              static_cast<int>(ComputeClass::kUint64));
static_assert(static_cast<int>(ShaderId::kBinaryUint64) -
                  static_cast<int>(ShaderId::kBinaryFloat) ==
              static_cast<int>(ComputeClass::kUint64));
static_assert(static_cast<int>(ShaderId::kCastUint64) - static_cast<int>(ShaderId::kCastFloat) ==
              static_cast<int>(ComputeClass::kUint64));

// Adds an element-wise call, in pieces where a tensor is larger than a kernel may bind. `strides`:
// elements that each buffer advances per element of the result, the last buffer (0 or 1).
// `set_count` writes the number of elements into a call's parameters.
template <class SetCount>
void AddInPieces(const LoweredCall& call, std::span<const uint32_t> strides,
                 const SetCount& set_count, LoweringBuilder& builder) {
  auto bits_of = [&](const LoweredBuffer& buffer) -> uint64_t {
    return BitsPerElement(builder.descriptor(buffer.value).data_type());
  };
  const uint64_t elements = builder.descriptor(call.buffers.back().value).element_count();
  uint64_t widest_bits = 0;
  for (const LoweredBuffer& buffer : call.buffers) {
    widest_bits = std::max(widest_bits, bits_of(buffer));
  }
  // A power of two, and so large that a piece begins at an aligned byte in every type.
  const uint64_t piece = limits::kBindingBytesMax * 8 / widest_bits;
  for (uint64_t begin = 0; begin < elements; begin += piece) {
    const uint64_t count = std::min(piece, elements - begin);
    LoweredCall part = call;
    for (size_t i = 0; i < part.buffers.size(); ++i) {
      if (strides[i] == 0) continue;
      const uint64_t bits = bits_of(part.buffers[i]);
      part.buffers[i].offset = begin * bits / 8;
      part.buffers[i].bytes = DivideRoundingUp<uint64_t>(count * bits, 32) * 4;
    }
    set_count(NarrowCast<uint32_t>(count), part);
    part.invocations = DivideRoundingUp(call.invocations * count, elements);
    part.cost = DivideRoundingUp(call.cost * count, elements);
    builder.AddCall(std::move(part));
  }
}

bool IsLarge(const LoweredCall& call, const LoweringBuilder& builder) {
  return std::any_of(call.buffers.begin(), call.buffers.end(), [&](const LoweredBuffer& buffer) {
    return builder.descriptor(buffer.value).byte_length() > limits::kBindingBytesMax;
  });
}

// The specialisation constants of shaders/strided.glsl: rank, what lies in rows, and the access to
// each operand.
void AppendAccess(std::span<const StridedDimension> dimensions, LoweredCall& call,
                  const LoweringBuilder& builder) {
  auto type_of = [&](size_t i) { return builder.descriptor(call.buffers[i].value).data_type(); };
  const size_t operands = call.buffers.size() - 1;
  const uint32_t per_quad = PerQuad(type_of(operands));
  call.specialization.push_back(RankConstant(dimensions));
  call.specialization.push_back(
      static_cast<uint32_t>(WhatLiesInRows(dimensions, per_quad, operands)));
  for (size_t i = 0; i < operands; ++i) {
    QuadAccess access = AccessByQuads(dimensions, per_quad, i);
    const uint32_t own_per_quad = PerQuad(type_of(i));
    if (access == QuadAccess::kQuad && own_per_quad != per_quad) {
      access = own_per_quad < per_quad ? QuadAccess::kQuads : QuadAccess::kStrided;
    }
    call.specialization.push_back(static_cast<uint32_t>(access));
  }
}

// What a row has of an operand where rows go by words (OperandOfRow of shaders/by_words.glsl).
enum class RowOperand : uint32_t { kWords, kOne, kAnywhere };

// Nothing where neighbours in a row are no neighbours in the operand. Of other shapes than the
// result's, graphs of several sizes have one kernel for all.
std::optional<RowOperand> RowOperandOf(std::span<const StridedDimension> dimensions,
                                       uint32_t per_word, size_t operand, bool has_other_sizes) {
  const uint32_t stride = dimensions.back().strides[operand];
  if (stride == 0) return RowOperand::kOne;
  if (stride != 1) return std::nullopt;
  uint32_t own_stride = dimensions.back().size;  // The result's.
  for (size_t d = dimensions.size() - 1; d-- > 0;) {
    const uint32_t difference = dimensions[d].strides[operand] - own_stride;
    if (difference % per_word != 0 || (difference != 0 && has_other_sizes)) {
      return RowOperand::kAnywhere;
    }
    own_stride *= dimensions[d].size;
  }
  return RowOperand::kWords;
}

// Whether rows go one by one, and what they have of each operand: where quads do not lie in them,
// on llvmpipe, of elements as wide as the result's, if not by elements; conditions of where may be
// narrower.
uint32_t RowsOneByOne(std::span<const StridedDimension> dimensions, const LoweredCall& call,
                      TakesRows takes_rows, const LoweringBuilder& builder) {
  const size_t operands = call.buffers.size() - 1;
  const uint32_t bits = BitsPerElement(builder.descriptor(call.buffers.back().value).data_type());
  const auto buffers = std::span(call.buffers).subspan(call.shader == ShaderId::kWhere ? 1 : 0);
  const bool are_as_wide = std::ranges::all_of(buffers, [&](const LoweredBuffer& buffer) {
    return BitsPerElement(builder.descriptor(buffer.value).data_type()) == bits;
  });
  const bool by_elements = !are_as_wide && takes_rows == TakesRows::kByElementsToo;
  if (builder.wide() || bits < 8 || bits > 32 || (!are_as_wide && !by_elements)) return 0;
  const uint32_t per_lane = by_elements ? 1 : 32 / bits;
  const uint32_t length = dimensions.back().size / per_lane;
  if (length < kWordsOfRowMin ||
      WhatLiesInRows(dimensions, /*per_quad=*/128 / bits, operands) != InRows::kNothing) {
    return 0;
  }
  uint32_t rows = 1;
  for (size_t i = 0; i < operands; ++i) {
    const std::optional<RowOperand> operand =
        RowOperandOf(dimensions, per_lane, i, builder.has_other_sizes());
    if (!operand) return 0;
    rows |= static_cast<uint32_t>(*operand) << (2 * i + 1);
  }
  return rows | VectorsOfTurn(length, builder) << 9;
}

// KernelCall::cost_per_turn of kernels of one dimension without loops but those over the elements
// of quads: of those, 17 iterations at most for 32 bytes.
uint32_t FlatCostPerTurn(const LoweredCall& call, const LoweringBuilder& builder) {
  const bool are_bytes = std::ranges::all_of(call.buffers, [&](const LoweredBuffer& buffer) {
    return BitsPerElement(builder.descriptor(buffer.value).data_type()) >= 8;
  });
  return are_bytes ? 8 : 1;
}

// Adds a call whose operand and result have as many elements; the first parameter is their number.
void AddFlatCall(LoweredCall call, LoweringBuilder& builder) {
  call.cost_per_turn = FlatCostPerTurn(call, builder);
  constexpr uint32_t kAdvance[] = {1, 1};
  AddInPieces(
      call, kAdvance, [](uint32_t count, LoweredCall& part) { part.parameters[0] = count; },
      builder);
}

// Of kernels that take whole words of the result where AreWordsOfQuads of shaders/tensor.glsl says
// so.
uint64_t InvocationsFor(OperandDataType operand, const OperandDescriptor& result) {
  const bool are_words_of_quads =
      BitsPerElement(operand) >= 32 && BitsPerElement(result.data_type()) == 8;
  return are_words_of_quads ? WordCount(result) : StoreQuads(result);
}

void AddUnaryCall(const Node& node, UnaryOperation operation, std::vector<uint32_t> parameters,
                  LoweringBuilder& builder) {
  const OperandDescriptor& operand = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  CHECK(operand.element_count() == result.element_count());
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kUnaryFloat, operand.data_type());
  call.specialization = {static_cast<uint32_t>(operation),
                         static_cast<uint32_t>(operand.data_type()),
                         static_cast<uint32_t>(result.data_type())};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = std::move(parameters);
  call.invocations = InvocationsFor(operand.data_type(), result);
  call.cost = operand.byte_length() + result.byte_length();
  AddFlatCall(std::move(call), builder);
}

// Of a number that was cast to its type; a float has one word.
uint64_t WordsOf(const Number& number) {
  return std::visit(
      [](auto value) -> uint64_t {
        if constexpr (std::is_same_v<decltype(value), double>) return FloatBits(value);
        return static_cast<uint64_t>(value);
      },
      number);
}

uint64_t BytesTouched(const Node& node, const LoweringBuilder& builder) {
  uint64_t bytes = builder.descriptor(node.results[0]).byte_length();
  for (ValueId operand : node.operands) bytes += builder.descriptor(operand).byte_length();
  return bytes;
}

}  // namespace

void AddBroadcastCall(LoweredCall call, LoweringBuilder& builder,
                      std::span<const uint32_t> constants, TakesRows takes_rows) {
  const OperandDescriptor& result = builder.descriptor(call.buffers.back().value);
  std::vector<std::vector<uint32_t>> strides;
  for (size_t i = 0; i + 1 < call.buffers.size(); ++i) {
    strides.push_back(
        BroadcastStrides(builder.descriptor(call.buffers[i].value).shape(), result.shape()));
  }
  std::vector<StridedDimension> dimensions = Coalesce(MakeDimensions(result.shape(), strides));
  AppendAccess(dimensions, call, builder);
  if (takes_rows != TakesRows::kNo) {
    call.specialization.push_back(RowsOneByOne(dimensions, call, takes_rows, builder));
    const uint32_t length = dimensions.back().size;
    if (call.specialization.back() != 0) {
      const uint64_t rows = result.element_count() / length;
      call.cost = std::max(call.cost, rows * LaneTurnsOfRow(length, dimensions.size()));
    }
  }
  if (dimensions.size() > 1) call.cost_per_turn = 1;  // There may be loops over them.
  auto set_parameters = [&](uint32_t count, LoweredCall& part) {
    part.parameters = {count, static_cast<uint32_t>(dimensions.size()), 0, 0};
    if (dimensions.size() == 1) dimensions[0].size = count;
    AppendDimensions(dimensions, part.parameters);
    if (constants.empty()) return;
    CHECK(part.parameters.size() <= kBroadcastConstants);
    part.parameters.resize(kBroadcastConstants);
    part.parameters.insert(part.parameters.end(), constants.begin(), constants.end());
  };
  if (dimensions.size() == 1 && IsLarge(call, builder)) {
    std::array<uint32_t, 4> advance = dimensions[0].strides;
    CHECK(call.buffers.size() <= advance.size());
    advance[call.buffers.size() - 1] = 1;
    return AddInPieces(call, advance, set_parameters, builder);
  }
  set_parameters(NarrowCast<uint32_t>(result.element_count()), call);
  builder.AddCall(std::move(call));
}

Status LowerUnary(const Node& node, LoweringBuilder& builder) {
  AlphaBeta constants = AlphaBetaOf(node.attributes);
  AddUnaryCall(node, *UnaryOperationOf(node.kind),
               {0, FloatBits(constants.alpha), FloatBits(constants.beta), 0}, builder);
  return {};
}

Status LowerClamp(const Node& node, LoweringBuilder& builder) {
  const webidl::ClampBounds bounds =
      webidl::CastBounds(std::get<webidl::ClampAttributes>(node.attributes),
                         builder.descriptor(node.operands[0]).data_type());
  std::vector<uint32_t> parameters = {0, 0, 0, 0};
  for (uint64_t words : {WordsOf(bounds.least), WordsOf(bounds.greatest)}) {
    parameters.push_back(static_cast<uint32_t>(words));
    parameters.push_back(static_cast<uint32_t>(words >> 32));
  }
  AddUnaryCall(node, UnaryOperation::kClamp, std::move(parameters), builder);
  return {};
}

Status LowerBinary(const Node& node, LoweringBuilder& builder) {
  OperandDataType operand_type = builder.descriptor(node.operands[0]).data_type();
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kBinaryFloat, operand_type);
  call.specialization = {static_cast<uint32_t>(*BinaryOperationOf(node.kind)),
                         static_cast<uint32_t>(operand_type),
                         static_cast<uint32_t>(result.data_type())};
  call.buffers = {{node.operands[0], false}, {node.operands[1], false}, {node.results[0], true}};
  call.invocations = InvocationsFor(operand_type, result);
  call.cost = BytesTouched(node, builder);
  const bool is_pow = node.kind == OperatorKind::kPow;
  const bool has_loops = is_pow && ComputeClassOf(operand_type) != ComputeClass::kFloat;
  if (!has_loops) call.cost_per_turn = FlatCostPerTurn(call, builder);
  // Powers that are not ordinary are computed apart.
  AddBroadcastCall(std::move(call), builder, /*constants=*/{},
                   is_pow ? TakesRows::kNo : TakesRows::kByElementsToo);
  return {};
}

Status LowerWhere(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  LoweredCall call;
  call.shader = ShaderId::kWhere;
  call.specialization = {static_cast<uint32_t>(result.data_type())};
  call.buffers = {{node.operands[0], false},
                  {node.operands[1], false},
                  {node.operands[2], false},
                  {node.results[0], true}};
  call.invocations = StoreQuads(result);
  call.cost = BytesTouched(node, builder);
  call.cost_per_turn = FlatCostPerTurn(call, builder);
  AddBroadcastCall(std::move(call), builder, /*constants=*/{}, TakesRows::kByWords);
  return {};
}

Status LowerCast(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& operand = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  if (operand.data_type() == result.data_type()) {
    builder.AddAlias(node.results[0], node.operands[0]);
    return {};
  }
  LoweredCall call;
  call.shader = ShaderOfClass(ShaderId::kCastFloat, operand.data_type());
  call.specialization = {static_cast<uint32_t>(operand.data_type()),
                         static_cast<uint32_t>(result.data_type())};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {0};
  call.invocations = InvocationsFor(operand.data_type(), result);
  call.cost = BytesTouched(node, builder);
  AddFlatCall(std::move(call), builder);
  return {};
}

Status AddCast(ValueId from, ValueId to, LoweringBuilder& builder) {
  Node cast;
  cast.kind = OperatorKind::kCast;
  cast.operands = {from};
  cast.results = {to};
  return LowerCast(cast, builder);
}

}  // namespace webnnd::service

#include "service/passes/lower_macro.h"

#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/block_gemv.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_attention.h"
#include "service/passes/lower_matmul_group.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDescriptor;
using webidl::Shape;

Status Lower(const RmsNormalization& macro, const Node& node, LoweringBuilder& builder) {
  auto [a, gain, b, bias] =
      std::tuple(node.operands[0], node.operands[1], node.operands[2], node.operands[3]);
  const ValueId indices = node.operands[4];
  const ValueId sum = node.results[1];
  const OperandDescriptor& x = builder.descriptor(node.results[0]);
  const uint32_t row_size = x.shape().back();
  const uint64_t words_per_row = WordCount(x) / (x.element_count() / row_size);
  const bool by_quad = words_per_row % 4 == 0;
  const uint64_t units = by_quad ? words_per_row / 4 : words_per_row;
  const auto rows = NarrowCast<uint32_t>(x.element_count() / row_size);
  LoweredCall call;
  call.shader = ShaderId::kRmsNormalization;
  call.specialization = {static_cast<uint32_t>(x.data_type()),
                         b != kNoValue,
                         bias != kNoValue,
                         sum != kNoValue,
                         by_quad,
                         indices != kNoValue};
  if (indices != kNoValue) {
    call.specialization.push_back(static_cast<uint32_t>(builder.descriptor(indices).data_type()));
  }
  // The module declares all slots, so something must be bound there.
  call.buffers = {{a, false},
                  {gain, false},
                  {b != kNoValue ? b : a, false},
                  {bias != kNoValue ? bias : gain, false},
                  {node.results[0], true},
                  {sum != kNoValue ? sum : node.results[0], true},
                  {indices != kNoValue ? indices : a, false}};
  const uint64_t rows_of_a = builder.descriptor(a).element_count() / row_size;
  call.parameters = {rows,
                     NarrowCast<uint32_t>(units),
                     row_size,
                     FloatBits(macro.epsilon),
                     NarrowCast<uint32_t>(rows_of_a),
                     0,
                     0,
                     0};
  call.workgroups = rows;
  call.cost = 2 * x.element_count() * (b != kNoValue ? 2 : 1);
  builder.AddCall(std::move(call));
  return {};
}

Status Lower(const BlockMatmul&, const Node& node, LoweringBuilder& builder) {
  const ValueId x = node.operands[0];
  const OperandDescriptor& weights = builder.descriptor(node.operands[1]);
  if (IsBlockGemvWeight(weights)) {
    Node group = node;
    group.operands.push_back(kNoValue);  // No bias.
    return LowerMatmulGroup({.by_block = true}, group, builder);
  }
  const Shape& shape = weights.shape();  // [N, K / block, block]
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const uint32_t columns = shape[0];
  const uint32_t depth = shape[1] * shape[2];
  const auto rows = NarrowCast<uint32_t>(result.element_count() / columns);
  const uint64_t block_bits = uint64_t{shape[2]} * webidl::BitsPerElement(weights.data_type());
  const uint32_t rows_per_tile = rows == 1 ? 1 : 4;  // ROWS of shaders/table.txt.
  LoweredCall call;
  call.shader = rows == 1 ? ShaderId::kBlockMatmulRow : ShaderId::kBlockMatmulTile;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         static_cast<uint32_t>(weights.data_type()), block_bits % 128 == 0};
  call.buffers = {{x, false},
                  {node.operands[1], false},
                  {node.operands[2], false},
                  {node.operands[3], false},
                  {node.results[0], true}};
  call.parameters = {rows, columns, depth, shape[2]};
  call.invocations =
      uint64_t{DivideRoundingUp(rows, rows_per_tile)} * DivideRoundingUp<uint32_t>(columns, 4);
  call.cost = uint64_t{rows} * columns * depth;
  builder.AddCall(std::move(call));
  return {};
}

Status Lower(const RotaryEmbedding& macro, const Node& node, LoweringBuilder& builder) {
  const ValueId x = node.operands[0];
  const ValueId cos = node.operands[1];
  const ValueId positions = node.operands[3];
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const auto position_type = positions == kNoValue ? webidl::OperandDataType::kInt32
                                                   : builder.descriptor(positions).data_type();
  const uint32_t half = macro.rotary_size / 2;
  const auto table_rows = NarrowCast<uint32_t>(builder.descriptor(cos).element_count() / half);
  LoweredCall call;
  call.shader = ShaderId::kRotaryEmbedding;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         static_cast<uint32_t>(position_type),
                         positions != kNoValue,
                         macro.consecutive,
                         macro.interleaved,
                         macro.heads_first};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{x, false},
                  {cos, false},
                  {node.operands[2], false},
                  {positions != kNoValue ? positions : cos, false},
                  {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(result.element_count()), macro.rotary_size, table_rows,
                     0};
  for (uint32_t divisor : {macro.head_size, macro.heads, macro.sequence}) {
    AppendDivisor(divisor, call.parameters);
  }
  call.invocations = StoreUnits(result);
  call.cost = 2 * result.element_count();
  builder.AddCall(std::move(call));
  return {};
}

Status Lower(const Epilogue&, const Node& node, LoweringBuilder& builder) {
  return GetLowering(node.kind)(node, builder);
}

Status Lower(const MatmulGroup& macro, const Node& node, LoweringBuilder& builder) {
  return LowerMatmulGroup(macro, node, builder);
}

Status Lower(const ElementwiseChain& chain, const Node& node, LoweringBuilder& builder) {
  return LowerElementwiseChain(chain, node, builder);
}

Status Lower(std::monostate, const Node&, LoweringBuilder&) { UNREACHABLE(); }

}  // namespace

Status LowerMacro(const Node& node, LoweringBuilder& builder) {
  return std::visit([&](const auto& macro) { return Lower(macro, node, builder); }, node.macro);
}

}  // namespace webnnd::service

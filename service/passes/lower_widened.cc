#include "service/passes/lower_widened.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/lower_elementwise.h"
#include "service/passes/lower_pool.h"
#include "service/passes/lower_reduce.h"
#include "service/passes/lower_resample.h"
#include "service/passes/row_calls.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;

template <typename... Attributes>
bool HasOneOf(const Node& node) {
  return (std::holds_alternative<Attributes>(node.attributes) || ...);
}

// Whether rows that lie in one piece are normalized, and registers hold them, of an odd number of
// elements: of halves they would begin within words.
bool NormalizesOddRows(const webidl::LayerNormalizationAttributes& attributes,
                       const OperandDescriptor& operand, const LoweringBuilder& builder) {
  std::vector<uint32_t> axes;
  for (uint32_t axis = 1; axis < operand.rank(); ++axis) axes.push_back(axis);
  if (attributes.axes) axes = *attributes.axes;
  std::ranges::sort(axes);
  uint32_t length = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != operand.rank() - axes.size() + i) return false;
    length *= operand.shape()[axes[i]];
  }
  const AxisView view = {NarrowCast<uint32_t>(operand.element_count() / length), length, 1};
  return length % 2 != 0 && CountRowVectors(view, OperandDataType::kFloat32, builder.wide()) > 0;
}

// Elements from which on it pays for an operator, or never.
constexpr uint64_t kNever = UINT64_MAX;
uint64_t ElementsMin(const Node& node, const LoweringBuilder& builder) {
  // An element takes 0.2 to 1 ns more, and casts some microseconds.
  constexpr uint64_t kMany = 1 << 16;
  constexpr uint64_t kSome = 1 << 12;
  // 5 ns more.
  if (HasOneOf<webidl::CumulativeSumAttributes>(node)) return kSome;
  if (const auto* softmax = std::get_if<webidl::SoftmaxAttributes>(&node.attributes)) {
    return builder.descriptor(node.operands[0]).shape()[softmax->axis] % 4 == 0 ? 4 * kMany : kSome;
  }
  if (const auto* layer = std::get_if<webidl::LayerNormalizationAttributes>(&node.attributes)) {
    const OperandDescriptor& operand = builder.descriptor(node.operands[0]);
    return NormalizesOddRows(*layer, operand, builder) ? kSome : kNever;
  }
  const bool goes_one_by_one =
      HasOneOf<webidl::ArgMinMaxAttributes, webidl::Pool2dAttributes, webidl::ReduceAttributes,
               webidl::Resample2dAttributes>(node);
  return goes_one_by_one ? kMany : kNever;
}

// Whether its kernel for float16 takes neighbours together, too.
bool TakesNeighboursTogether(const Node& node, const LoweringBuilder& builder) {
  if (HasOneOf<webidl::CumulativeSumAttributes>(node)) return SumsAlongQuads(node, builder);
  if (HasOneOf<webidl::Pool2dAttributes>(node)) return PoolsPixelsByWords(node, builder);
  if (HasOneOf<webidl::SoftmaxAttributes>(node)) return SoftmaxTakesHalvesTogether(node, builder);
  if (HasOneOf<webidl::Resample2dAttributes>(node)) return ResamplesHalvesByWords(node, builder);
  const auto* reduce = std::get_if<webidl::ReduceAttributes>(&node.attributes);
  if (reduce == nullptr) return false;
  const uint32_t rank = builder.descriptor(node.operands[0]).rank();
  const bool keeps_last =
      reduce->axes && rank > 0 && std::ranges::find(*reduce->axes, rank - 1) == reduce->axes->end();
  return keeps_last || ReducesHalvesByWords(node, builder);
}

}  // namespace

bool IsWidened(const Node& node, const LoweringBuilder& builder) {
  const uint64_t elements_min = ElementsMin(node, builder);
  return elements_min != kNever && IsWorthWidening(node, elements_min, builder) &&
         !TakesNeighboursTogether(node, builder);
}

bool IsWorthWidening(const Node& node, uint64_t elements_min, const LoweringBuilder& builder) {
  // Of what is larger, memory may be short for the copies.
  constexpr uint64_t kElementsMax = 1 << 26;
  const OperandDescriptor& operand = builder.descriptor(node.operands[0]);
  if (builder.wide() || operand.data_type() != OperandDataType::kFloat16) return false;
  const uint64_t elements =
      operand.element_count() + builder.descriptor(node.results[0]).element_count();
  // A kernel can take all of them only as they are.
  const auto has_room = [&](ValueId value) {
    return value == kNoValue || HasRoomWidened(value, builder);
  };
  return elements >= elements_min && elements <= kElementsMax &&
         std::ranges::all_of(node.operands, has_room) &&
         std::ranges::all_of(node.results, has_room);
}

bool HasRoomWidened(ValueId value, const LoweringBuilder& builder) {
  return builder.descriptor(value).element_count() <= limits::kBindingBytesMax / sizeof(float);
}

Result<ValueId> AddWide(ValueId value, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(
      OperandDescriptor wide,
      OperandDescriptor::Create(OperandDataType::kFloat32, builder.descriptor(value).shape()));
  return builder.AddTemporary(std::move(wide));
}

Result<ValueId> AddWidened(ValueId narrow, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const ValueId wide, AddWide(narrow, builder));
  TRY(AddCast(narrow, wide, builder));
  return wide;
}

Status LowerWidened(const Node& node, LowerFunction lower, LoweringBuilder& builder) {
  Node wide = node;
  for (ValueId& operand : wide.operands) {
    if (operand == kNoValue) continue;
    if (builder.descriptor(operand).data_type() != OperandDataType::kFloat16) continue;
    ASSIGN_OR_RETURN(operand, AddWidened(operand, builder));
  }
  const ValueId result = node.results[0];
  if (builder.descriptor(result).data_type() != OperandDataType::kFloat16) {
    return lower(wide, builder);
  }
  ASSIGN_OR_RETURN(wide.results[0], AddWide(result, builder));
  TRY(lower(wide, builder));
  return AddCast(wide.results[0], result, builder);
}

}  // namespace webnnd::service

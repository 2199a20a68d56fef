#include "service/passes/lower_widened.h"

#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/passes/lower_elementwise.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;

// Whether a kernel can bind the value's elements as float32, too.
bool HasRoomWidened(ValueId value, const LoweringBuilder& builder) {
  return builder.descriptor(value).element_count() <= limits::kBindingBytesMax / sizeof(float);
}

// A float32 of the same shape.
Result<ValueId> AddWide(ValueId value, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(
      OperandDescriptor wide,
      OperandDescriptor::Create(OperandDataType::kFloat32, builder.descriptor(value).shape()));
  return builder.AddTemporary(std::move(wide));
}

}  // namespace

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

Status LowerWidened(const Node& node, LowerFunction lower, LoweringBuilder& builder) {
  Node wide = node;
  for (ValueId& operand : wide.operands) {
    if (operand == kNoValue) continue;
    if (builder.descriptor(operand).data_type() != OperandDataType::kFloat16) continue;
    const ValueId narrow = operand;
    ASSIGN_OR_RETURN(operand, AddWide(narrow, builder));
    TRY(AddCast(narrow, operand, builder));
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

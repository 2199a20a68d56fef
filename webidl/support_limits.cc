#include "webidl/support_limits.h"

#include <algorithm>
#include <utility>

#include "webidl/generated/signatures.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

TensorConstraint Select(const TensorConstraint& constraint, LimitSet set) {
  return set == LimitSet::kRequired ? constraint.Required() : constraint;
}

OperatorSupportLimits MakeOperatorLimits(const OperatorRow& row, LimitSet set) {
  OperatorSupportLimits limits{row.kind, {}};
  for (const LimitMember& member : GetSignature(row.kind).limits) {
    const std::vector<TensorConstraint>& constraints =
        member.role == LimitRole::kSlot ? row.slots : row.outputs;
    CHECK(member.index < constraints.size());
    limits.members.push_back({member.name, Select(constraints[member.index], set)});
  }
  return limits;
}

}  // namespace

OpSupportLimits MakeOpSupportLimits(uint64_t max_tensor_byte_length, LimitSet set) {
  // The draft requires nothing of inputs, constants and outputs themselves: what some operator
  // requires must be able to come and go.
  constexpr TensorConstraint kEndpoint = Tensor(kAnyOrPackedType).Requiring(kRequiredOrByteTypes);
  OpSupportLimits limits;
  limits.max_tensor_byte_length = set == LimitSet::kRequired
                                      ? std::min(max_tensor_byte_length, limits::kBindingBytesMax)
                                      : max_tensor_byte_length;
  limits.input = Select(kEndpoint, set);
  limits.constant = Select(kEndpoint, set);
  limits.output = Select(kEndpoint, set);
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorRow& row = GetOperatorRow(static_cast<OperatorKind>(i));
    if (row.infer != nullptr) limits.operators.push_back(MakeOperatorLimits(row, set));
  }
  return limits;
}

}  // namespace webnnd::webidl

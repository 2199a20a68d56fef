#include "webidl/support_limits.h"

#include <utility>

#include "webidl/generated/signatures.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

OperatorSupportLimits MakeOperatorLimits(const OperatorRow& row) {
  OperatorSupportLimits limits{row.kind, {}};
  for (const LimitMember& member : GetSignature(row.kind).limits) {
    const std::vector<TensorConstraint>& constraints =
        member.role == LimitRole::kSlot ? row.slots : row.outputs;
    CHECK(member.index < constraints.size());
    limits.members.push_back({member.name, constraints[member.index]});
  }
  return limits;
}

}  // namespace

OpSupportLimits MakeOpSupportLimits(uint64_t max_tensor_byte_length) {
  OpSupportLimits limits;
  limits.max_tensor_byte_length = max_tensor_byte_length;
  limits.input = Tensor(kAnyOrPackedType);
  limits.constant = Tensor(kAnyOrPackedType);
  limits.output = Tensor(kAnyOrPackedType);
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorRow& row = GetOperatorRow(static_cast<OperatorKind>(i));
    if (row.infer != nullptr) limits.operators.push_back(MakeOperatorLimits(row));
  }
  return limits;
}

}  // namespace webnnd::webidl

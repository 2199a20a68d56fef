// MLOpSupportLimits of the draft: what opSupportLimits() answers, derived from the operator table.
#ifndef WEBNND_WEBIDL_SUPPORT_LIMITS_H_
#define WEBNND_WEBIDL_SUPPORT_LIMITS_H_

#include <string_view>
#include <vector>

#include "webidl/generated/types.h"
#include "webidl/operator_table.h"

namespace webnnd::webidl {

// One member of an operator's support limits: `a`, `output`, ...
struct SupportLimitsMember {
  std::string_view name;
  TensorConstraint limits;
};

struct OperatorSupportLimits {
  OperatorKind kind;
  std::vector<SupportLimitsMember> members;
};

struct OpSupportLimits {
  InputOperandLayout preferred_input_layout = InputOperandLayout::kNchw;
  uint64_t max_tensor_byte_length = 0;
  TensorConstraint input;
  TensorConstraint constant;
  TensorConstraint output;
  // The operators that have a meaning, by kind; the others are absent.
  std::vector<OperatorSupportLimits> operators;
};

// `max_tensor_byte_length` comes from the device. With LimitSet::kRequired only what the draft
// requires, and limits::kBindingBytesMax, which every Vulkan device grants: nothing of the machine.
OpSupportLimits MakeOpSupportLimits(uint64_t max_tensor_byte_length,
                                    LimitSet set = LimitSet::kAllowed);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_SUPPORT_LIMITS_H_

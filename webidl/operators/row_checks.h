// What InferOperator does with a row, apart from where the row comes from.
#ifndef WEBNND_WEBIDL_OPERATORS_ROW_CHECKS_H_
#define WEBNND_WEBIDL_OPERATORS_ROW_CHECKS_H_

#include <span>
#include <string>
#include <vector>

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// Checks the arguments against the signature and the row, then infers. See InferOperator.
Result<std::vector<OperandDescriptor>> InferRow(const OperatorRow& row,
                                                std::span<const OperandDescriptor* const> operands,
                                                const OperatorAttributes& attributes,
                                                const std::string& label, LimitSet limits,
                                                const DimensionNames& names);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_ROW_CHECKS_H_

// Normalizations.
#ifndef WEBNND_WEBIDL_OPERATORS_NORMALIZATION_H_
#define WEBNND_WEBIDL_OPERATORS_NORMALIZATION_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow BatchNormalizationRow(OperatorKind kind);
OperatorRow InstanceNormalizationRow(OperatorKind kind);
OperatorRow LayerNormalizationRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_NORMALIZATION_H_

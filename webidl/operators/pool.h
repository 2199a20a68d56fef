// Pooling.
#ifndef WEBNND_WEBIDL_OPERATORS_POOL_H_
#define WEBNND_WEBIDL_OPERATORS_POOL_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// averagePool2d, l2Pool2d.
OperatorRow FloatPoolRow(OperatorKind kind);
OperatorRow MaxPool2dRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_POOL_H_

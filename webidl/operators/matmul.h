// Matrix products.
#ifndef WEBNND_WEBIDL_OPERATORS_MATMUL_H_
#define WEBNND_WEBIDL_OPERATORS_MATMUL_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow GemmRow(OperatorKind kind);
OperatorRow MatmulRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_MATMUL_H_

// Activation functions.
#ifndef WEBNND_WEBIDL_OPERATORS_ACTIVATION_H_
#define WEBNND_WEBIDL_OPERATORS_ACTIVATION_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// elu, gelu, hardSigmoid, hardSwish, leakyRelu, linear, sigmoid, softplus, softsign, tanh.
OperatorRow ActivationRow(OperatorKind kind);
OperatorRow ReluRow(OperatorKind kind);
OperatorRow SoftmaxRow(OperatorKind kind);
OperatorRow ClampRow(OperatorKind kind);
OperatorRow PreluRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_ACTIVATION_H_

// Which operation of shaders/operations.inc an element-wise operator is, and its constants.
#ifndef WEBNND_SERVICE_PASSES_ELEMENTWISE_OPERATION_H_
#define WEBNND_SERVICE_PASSES_ELEMENTWISE_OPERATION_H_

#include <optional>

#include "service/graph/macro.h"
#include "service/passes/kernel_parameters.h"
#include "webidl/generated/types.h"

namespace webnnd::service {

// None for operators of another kind.
std::optional<UnaryOperation> UnaryOperationOf(webidl::OperatorKind kind);
std::optional<BinaryOperation> BinaryOperationOf(webidl::OperatorKind kind);

// The operator with what its attributes say.
Activation MakeActivation(webidl::OperatorKind kind, const webidl::OperatorAttributes& attributes);
// Whether the result of a unary operator is uint8, 0 or 1.
bool IsUnaryPredicate(webidl::OperatorKind kind);

// The attributes alpha and beta, where an operator has them; else 0.
struct AlphaBeta {
  double alpha = 0;
  double beta = 0;
};
AlphaBeta AlphaBetaOf(const webidl::OperatorAttributes& attributes);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_ELEMENTWISE_OPERATION_H_

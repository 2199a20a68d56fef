// Element-wise operators: unary, binary, comparison, logical, cast and where.
#ifndef WEBNND_WEBIDL_OPERATORS_ELEMENTWISE_H_
#define WEBNND_WEBIDL_OPERATORS_ELEMENTWISE_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// ceil, cos, erf, exp, floor, log, reciprocal, roundEven, sin, sqrt, tan.
OperatorRow FloatUnaryRow(OperatorKind kind);
// abs, neg, sign.
OperatorRow SignedUnaryRow(OperatorKind kind);
OperatorRow IdentityRow(OperatorKind kind);
OperatorRow CastRow(OperatorKind kind);
// add, sub, mul, div, max, min, pow.
OperatorRow BinaryRow(OperatorKind kind);
// equal, notEqual, greater, greaterOrEqual, lesser, lesserOrEqual.
OperatorRow ComparisonRow(OperatorKind kind);
// logicalAnd, logicalOr, logicalXor.
OperatorRow LogicalBinaryRow(OperatorKind kind);
OperatorRow LogicalNotRow(OperatorKind kind);
// isNaN, isInfinite.
OperatorRow ClassificationRow(OperatorKind kind);
OperatorRow WhereRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_ELEMENTWISE_H_

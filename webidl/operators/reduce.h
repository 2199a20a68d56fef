// Reductions, argMin, argMax and cumulativeSum.
#ifndef WEBNND_WEBIDL_OPERATORS_REDUCE_H_
#define WEBNND_WEBIDL_OPERATORS_REDUCE_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

// reduceL1, reduceProduct, reduceSum, reduceSumSquare.
OperatorRow AccumulatingReductionRow(OperatorKind kind);
// reduceL2, reduceLogSum, reduceLogSumExp, reduceMean.
OperatorRow FloatReductionRow(OperatorKind kind);
// reduceMax, reduceMin.
OperatorRow ExtremumReductionRow(OperatorKind kind);
OperatorRow ArgMinMaxRow(OperatorKind kind);
OperatorRow CumulativeSumRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_REDUCE_H_

// Operators that fold or scan dimensions, each in a file of its name. LowerFunction of
// service/passes/lowering.h each. The order of every sum is fixed by the shape and the device.
#ifndef WEBNND_SERVICE_PASSES_LOWER_REDUCE_H_
#define WEBNND_SERVICE_PASSES_LOWER_REDUCE_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

// reduceL1 to reduceSumSquare: the kind of the node says which. NaN comes through reduceMax and
// reduceMin.
Status LowerReduce(const Node& node, LoweringBuilder& builder);
// argMax and argMin: the first of equals; NaN counts as the extreme.
Status LowerArgReduce(const Node& node, LoweringBuilder& builder);
Status LowerCumulativeSum(const Node& node, LoweringBuilder& builder);
Status LowerSoftmax(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_REDUCE_H_

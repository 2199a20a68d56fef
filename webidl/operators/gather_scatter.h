// Gathers and scatters: operators whose indices are tensors. Index values are not known here; the
// kernels clamp them.
#ifndef WEBNND_WEBIDL_OPERATORS_GATHER_SCATTER_H_
#define WEBNND_WEBIDL_OPERATORS_GATHER_SCATTER_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow GatherRow(OperatorKind kind);
OperatorRow GatherElementsRow(OperatorKind kind);
OperatorRow GatherNDRow(OperatorKind kind);
OperatorRow ScatterElementsRow(OperatorKind kind);
OperatorRow ScatterNDRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_GATHER_SCATTER_H_

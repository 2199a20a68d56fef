// Operators that move, select or repeat elements along axes.
#ifndef WEBNND_WEBIDL_OPERATORS_SHAPE_H_
#define WEBNND_WEBIDL_OPERATORS_SHAPE_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow ConcatRow(OperatorKind kind);
OperatorRow ExpandRow(OperatorKind kind);
OperatorRow PadRow(OperatorKind kind);
OperatorRow Resample2dRow(OperatorKind kind);
OperatorRow ReshapeRow(OperatorKind kind);
OperatorRow ReverseRow(OperatorKind kind);
OperatorRow SliceRow(OperatorKind kind);
OperatorRow SplitRow(OperatorKind kind);
OperatorRow TileRow(OperatorKind kind);
OperatorRow TransposeRow(OperatorKind kind);
OperatorRow TriangularRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_SHAPE_H_

// Recurrent networks.
#ifndef WEBNND_WEBIDL_OPERATORS_RECURRENT_H_
#define WEBNND_WEBIDL_OPERATORS_RECURRENT_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow GruRow(OperatorKind kind);
OperatorRow GruCellRow(OperatorKind kind);
OperatorRow LstmRow(OperatorKind kind);
OperatorRow LstmCellRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_RECURRENT_H_

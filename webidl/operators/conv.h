// Convolutions.
#ifndef WEBNND_WEBIDL_OPERATORS_CONV_H_
#define WEBNND_WEBIDL_OPERATORS_CONV_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow Conv2dRow(OperatorKind kind);
OperatorRow ConvTranspose2dRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_CONV_H_

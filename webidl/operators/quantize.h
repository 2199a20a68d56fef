// Conversion between quantized and real values.
#ifndef WEBNND_WEBIDL_OPERATORS_QUANTIZE_H_
#define WEBNND_WEBIDL_OPERATORS_QUANTIZE_H_

#include "webidl/operator_table.h"

namespace webnnd::webidl {

OperatorRow DequantizeLinearRow(OperatorKind kind);
OperatorRow QuantizeLinearRow(OperatorKind kind);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_QUANTIZE_H_

// quantizeLinear and dequantizeLinear. LowerFunction of service/passes/lowering.h each.
#ifndef WEBNND_SERVICE_PASSES_LOWER_QUANTIZE_H_
#define WEBNND_SERVICE_PASSES_LOWER_QUANTIZE_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerDequantizeLinear(const Node& node, LoweringBuilder& builder);
Status LowerQuantizeLinear(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_QUANTIZE_H_

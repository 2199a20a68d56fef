// Matrix products. LowerFunction of service/passes/lowering.h each; sums are float32.
#ifndef WEBNND_SERVICE_PASSES_LOWER_MATMUL_H_
#define WEBNND_SERVICE_PASSES_LOWER_MATMUL_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerGemm(const Node& node, LoweringBuilder& builder);
Status LowerMatmul(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_MATMUL_H_

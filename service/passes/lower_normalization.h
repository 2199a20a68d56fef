// Normalizations. LowerFunction of service/passes/lowering.h each; means and variances are float32.
#ifndef WEBNND_SERVICE_PASSES_LOWER_NORMALIZATION_H_
#define WEBNND_SERVICE_PASSES_LOWER_NORMALIZATION_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerBatchNormalization(const Node& node, LoweringBuilder& builder);
Status LowerInstanceNormalization(const Node& node, LoweringBuilder& builder);
Status LowerLayerNormalization(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_NORMALIZATION_H_

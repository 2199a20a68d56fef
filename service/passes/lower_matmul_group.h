// Lowering of products that share their rows (MatmulGroup of service/graph/macro.h).
#ifndef WEBNND_SERVICE_PASSES_LOWER_MATMUL_GROUP_H_
#define WEBNND_SERVICE_PASSES_LOWER_MATMUL_GROUP_H_

#include "service/graph/macro.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerMatmulGroup(const MatmulGroup& macro, const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_MATMUL_GROUP_H_

// Lowering of macro operators (service/graph/macro.h).
#ifndef WEBNND_SERVICE_PASSES_LOWER_MACRO_H_
#define WEBNND_SERVICE_PASSES_LOWER_MACRO_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerElementwiseChain(const ElementwiseChain& chain, const Node& node,
                             LoweringBuilder& builder);

// `node` holds a macro operator.
Status LowerMacro(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_MACRO_H_

// Lowering of attention and of writes to its cache (service/graph/macro.h).
#ifndef WEBNND_SERVICE_PASSES_LOWER_ATTENTION_H_
#define WEBNND_SERVICE_PASSES_LOWER_ATTENTION_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status Lower(const Attention& macro, const Node& node, LoweringBuilder& builder);
Status Lower(const KeyValueWrite& macro, const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_ATTENTION_H_

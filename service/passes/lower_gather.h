// Operators whose addresses are data. LowerFunction of service/passes/lowering.h each. Indices are
// clamped by the shaders: whatever a client writes, no access leaves a tensor.
#ifndef WEBNND_SERVICE_PASSES_LOWER_GATHER_H_
#define WEBNND_SERVICE_PASSES_LOWER_GATHER_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerGather(const Node& node, LoweringBuilder& builder);
Status LowerGatherElements(const Node& node, LoweringBuilder& builder);
Status LowerGatherNd(const Node& node, LoweringBuilder& builder);
// Where indices repeat, the last update wins: the same bits at every run.
Status LowerScatterElements(const Node& node, LoweringBuilder& builder);
Status LowerScatterNd(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_GATHER_H_

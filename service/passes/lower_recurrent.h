// Recurrent networks. LowerFunction of service/passes/lowering.h each. States between steps, and
// all sums, are float32.
#ifndef WEBNND_SERVICE_PASSES_LOWER_RECURRENT_H_
#define WEBNND_SERVICE_PASSES_LOWER_RECURRENT_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

Status LowerGru(const Node& node, LoweringBuilder& builder);
Status LowerGruCell(const Node& node, LoweringBuilder& builder);
Status LowerLstm(const Node& node, LoweringBuilder& builder);
Status LowerLstmCell(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_RECURRENT_H_

// Simplify: computes once what a graph says twice, nothing where an operator changes nothing, and
// squares as products.
#ifndef WEBNND_SERVICE_PASSES_FUSION_SIMPLIFY_H_
#define WEBNND_SERVICE_PASSES_FUSION_SIMPLIFY_H_

#include "service/graph/graph.h"

namespace webnnd::service {

// Equal constants become one, and so do equal operators of the draft on equal operands; operators
// whose result is their operand give way to it, and powers of 2 become products. For after the
// patterns: those look for the operators that a framework wrote down for each use apart.
void Simplify(Graph& graph);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_SIMPLIFY_H_

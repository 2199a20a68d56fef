// Pattern: recognises one macro operator (service/graph/macro.h) by the structure of the operators
// that web frameworks decompose it into; never by labels.
#ifndef WEBNND_SERVICE_PASSES_FUSION_PATTERN_H_
#define WEBNND_SERVICE_PASSES_FUSION_PATTERN_H_

#include <optional>
#include <vector>

#include "service/graph/graph.h"
#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {

struct Match {
  // The macro operator: takes the place of the operator that it was found at.
  Node node;
  // Intermediates that are computed no more. Where anything but the operators that make them or
  // the macro's results uses one, the match is dropped. A value that the macro merely recomputes
  // is not named here: whether it stays depends on its other users.
  std::vector<ValueId> hidden;
};

// The macro operator whose last operator is `last`, if it is one.
using Pattern = std::optional<Match> (*)(const GraphIndex& index, const Node& last);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_PATTERN_H_

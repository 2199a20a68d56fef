// Makes and changes graphs by the grammar of operators (fuzz/generated/grammar.h).
#ifndef WEBNND_FUZZ_GRAPH_MUTATOR_H_
#define WEBNND_FUZZ_GRAPH_MUTATOR_H_

#include <cstdint>
#include <optional>
#include <random>

#include "fuzz/sent_graph.h"
#include "webidl/generated/types.h"

namespace webnnd::fuzz {

// 32 bits: libFuzzer seeds each mutation with as many, and a larger state would cost more than it.
using Random = std::minstd_rand;

class GraphMutator {
 public:
  explicit GraphMutator(uint32_t seed) : random_(seed) {}

  // A few changes, of which most graphs stay nearly valid. What would leave the bounds of a graph
  // is not done.
  SentGraph Mutate(SentGraph graph);
  // The operators of both, the second's on operands of their own.
  SentGraph Cross(SentGraph graph, const SentGraph& other);
  // One call of the operator, with the operands that it needs, and its results as outputs.
  SentGraph MakeGraph(webidl::OperatorKind kind);

 private:
  void MutateOnce(SentGraph& graph);

  Random random_;
};

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_GRAPH_MUTATOR_H_

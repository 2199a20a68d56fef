// Makes and changes graphs by the grammar of operators (fuzz/generated/grammar.h).
#ifndef WEBNND_FUZZ_GRAPH_MUTATOR_H_
#define WEBNND_FUZZ_GRAPH_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>

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
  // The same with one size of its inputs' dimensions a name.
  SentGraph MakeDynamic(SentGraph graph);

 private:
  void MutateOnce(SentGraph& graph);

  Random random_;
};

// The same on a fuzzer's inputs, in the forms that libFuzzer wants: the bytes written, 0 where
// nothing fits.
size_t MutateBytes(uint8_t* data, size_t size, size_t size_max, uint32_t seed);
size_t CrossBytes(std::span<const uint8_t> a, std::span<const uint8_t> b, std::span<uint8_t> out,
                  uint32_t seed);

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_GRAPH_MUTATOR_H_

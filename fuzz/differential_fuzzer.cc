// Graphs, to which client and service must give one verdict (differential.h). Mutations go by the
// grammar of operators, since what is no graph at all is the decode fuzzer's.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/differential.h"
#include "fuzz/graph_mutator.h"
#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static webnnd::fuzz::VerdictClient client;
  auto graph = webnnd::fuzz::ReadGraph(std::as_bytes(std::span(data, size)));
  if (graph) CheckVerdicts(client, *graph);
  return 0;
}

// libFuzzer finds these by name.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  return webnnd::fuzz::MutateBytes(data, size, size_max, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t size_max,
                                            unsigned seed) {
  return webnnd::fuzz::CrossBytes({a, a_size}, {b, b_size}, {out, size_max}, seed);
}

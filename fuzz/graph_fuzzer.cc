// Graphs, built and dispatched on random data in every way that must not matter (graph_runner.h).
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/log.h"
#include "fuzz/graph_mutator.h"
#include "fuzz/graph_runner.h"
#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace webnnd::fuzz;  // NOLINT(build/namespaces)
  static GraphRunner runner;
  auto sent = ReadGraph(std::as_bytes(std::span(data, size)));
  if (!sent) return 0;
  auto graph = ServiceVerdict(*sent);
  // The same data for the same input.
  uint64_t seed = size;
  for (size_t i = 0; i < size; ++i) seed = seed * 1099511628211u + data[i];
  if (graph.ok()) runner.Check(*graph, seed);
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

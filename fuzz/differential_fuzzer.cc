// Graphs, to which client and service must give one verdict (differential.h). Mutations go by the
// grammar of operators, since what is no graph at all is the decode fuzzer's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/differential.h"
#include "fuzz/graph_mutator.h"
#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"

namespace {

using webnnd::fuzz::GraphMutator;
using webnnd::fuzz::ReadGraph;
using webnnd::fuzz::SentGraph;

SentGraph ReadOrNone(const uint8_t* data, size_t size) {
  return ReadGraph(std::as_bytes(std::span(data, size))).value_or(SentGraph{});
}

// Writes the graph where it fits, else `otherwise`.
size_t Write(const SentGraph& graph, const SentGraph& otherwise, std::span<uint8_t> room) {
  std::vector<std::byte> bytes = WriteGraph(graph);
  if (bytes.size() > room.size()) bytes = WriteGraph(otherwise);
  if (bytes.size() > room.size()) return 0;
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static webnnd::fuzz::VerdictClient client;
  auto graph = ReadGraph(std::as_bytes(std::span(data, size)));
  if (graph) CheckVerdicts(client, *graph);
  return 0;
}

// libFuzzer finds these by name.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  const SentGraph graph = ReadOrNone(data, size);
  return Write(GraphMutator(seed).Mutate(graph), graph, {data, size_max});
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t size_max,
                                            unsigned seed) {
  const SentGraph graph = ReadOrNone(a, a_size);
  return Write(GraphMutator(seed).Cross(graph, ReadOrNone(b, b_size)), graph, {out, size_max});
}

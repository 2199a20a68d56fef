// differential_sweep FOLDER COUNT [SEED]: what the differential fuzzer does, without libFuzzer, so
// that every build can do it: COUNT graphs, each some mutations away from one of FOLDER.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "fuzz/differential.h"
#include "fuzz/graph_mutator.h"
#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"

namespace webnnd::fuzz {
namespace {

std::vector<SentGraph> ReadFolder(const char* folder) {
  std::vector<SentGraph> graphs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), {});
    if (auto graph = ReadGraph(std::as_bytes(std::span(bytes)))) graphs.push_back(*graph);
  }
  return graphs;
}

// Whether every outcome came up: a sweep of graphs that are all refused would show little.
bool Sweep(const std::vector<SentGraph>& graphs, uint32_t count, uint32_t seed) {
  VerdictClient client;
  std::map<Outcome, uint32_t> outcomes;
  for (uint32_t i = 0; i < count; ++i) {
    // Printed by nobody: what fails is made again from the seed and this number.
    GraphMutator mutator((seed + i) * 2654435761u);
    SentGraph graph = graphs[i % graphs.size()];
    if (i % 4 == 0) graph = mutator.Cross(std::move(graph), graphs[i / 4 % graphs.size()]);
    for (uint32_t rounds = 1 + i % 3; rounds > 0; --rounds) graph = mutator.Mutate(graph);
    ++outcomes[CheckVerdicts(client, graph)];
  }
  std::printf("%u graphs: %u accepted, %u refused, %u that the client cannot say (seed %u)\n",
              count, outcomes[Outcome::kAccepted], outcomes[Outcome::kRefused],
              outcomes[Outcome::kInexpressible], seed);
  return outcomes.size() == 3 && outcomes[Outcome::kAccepted] > count / 20;
}

}  // namespace
}  // namespace webnnd::fuzz

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: differential_sweep FOLDER COUNT [SEED]\n");
    return 2;
  }
  const auto graphs = webnnd::fuzz::ReadFolder(argv[1]);
  if (graphs.empty()) {
    std::fprintf(stderr, "there is no graph in the folder (%s)\n", argv[1]);
    return 1;
  }
  const auto number = [](const char* text) {
    return static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
  };
  return webnnd::fuzz::Sweep(graphs, number(argv[2]), argc == 4 ? number(argv[3]) : 1) ? 0 : 1;
}

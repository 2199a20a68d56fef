// record_graphs FOLDER: writes a few valid graphs for every operator, which the grammar makes by
// trial, into FOLDER: seeds of the differential fuzzer. What fuzzers found is not touched.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "fuzz/graph_mutator.h"
#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"
#include "webidl/generated/types.h"

namespace webnnd::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kSeedsPerOperator = 2;
// The recurrent operators want some hundred thousand.
constexpr uint32_t kTrialsMax = 4'000'000;

void Write(const fs::path& path, const SentGraph& graph) {
  const std::vector<std::byte> bytes = WriteGraph(graph);
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

// A variant of the graph that is valid with a dynamic dimension; some operators have none.
void RecordDynamic(const fs::path& path, const SentGraph& graph) {
  constexpr uint32_t kDynamicTrialsMax = 32;
  for (uint32_t trial = 1; trial <= kDynamicTrialsMax; ++trial) {
    const SentGraph dynamic = GraphMutator(trial * 2654435761u).MakeDynamic(graph);
    if (!IsWithinBounds(dynamic)) continue;
    auto verdict = ServiceVerdict(dynamic);
    if (!verdict.ok() || verdict->names.symbols().empty()) continue;
    return Write(path, dynamic);
  }
}

// Whether enough were found.
bool Record(const fs::path& folder, webidl::OperatorKind kind) {
  int found = 0;
  for (uint32_t trial = 1; trial <= kTrialsMax && found < kSeedsPerOperator; ++trial) {
    // The states of neighbouring seeds begin alike.
    const SentGraph graph = GraphMutator(trial * 2654435761u).MakeGraph(kind);
    if (!IsWithinBounds(graph) || !ServiceVerdict(graph).ok()) continue;
    const std::string name = fmt::format("seed_{}_{}", webidl::OperatorName(kind), found++);
    Write(folder / name, graph);
    RecordDynamic(folder / (name + "_dynamic"), graph);
  }
  return found == kSeedsPerOperator;
}

}  // namespace
}  // namespace webnnd::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_graphs FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  bool complete = true;
  for (uint32_t i = 0; i < webnnd::webidl::kOperatorKindCount; ++i) {
    const auto kind = static_cast<webnnd::webidl::OperatorKind>(i);
    if (webnnd::fuzz::Record(argv[1], kind)) continue;
    std::fprintf(stderr, "too few valid graphs: %s\n",
                 std::string(webnnd::webidl::OperatorName(kind)).c_str());
    complete = false;
  }
  return complete ? 0 : 1;
}

// GraphRunner: runs a graph in every way that must not matter to its results, and compares.
#ifndef WEBNND_FUZZ_GRAPH_RUNNER_H_
#define WEBNND_FUZZ_GRAPH_RUNNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client/webnn.h"
#include "service/graph/graph.h"
#include "service/session/in_process.h"
#include "service/vulkan/device.h"

namespace webnnd::fuzz {

// What became of a graph.
enum class GraphOutcome : uint8_t {
  kTooLarge,  // To be quick, or not to be compared (scatter: which of equal indices wins is open).
  kRefused,   // By a build or a dispatch, for a reason that is not ours.
  kCompared,
};

class GraphRunner {
 public:
  GraphRunner();

  // Aborts, with the difference in words, unless
  // - each operator alone, on the values that the device had for its operands, gives what the
  //   reference gives;
  // - the graph as it stands, fused and folded and with dynamic dimensions, gives the same bits, or
  //   what rounding in its operators may make of them;
  // - a binding with a tensor that is input and output gives those bits again.
  // Data and sizes follow from the seed.
  GraphOutcome Check(const service::Graph& graph, uint64_t seed);

 private:
  std::unique_ptr<service::InProcessHost> host_;
  std::unique_ptr<webnn::ML> ml_;
  std::shared_ptr<webnn::Context> plain_;  // Neither fuses nor folds.
  std::shared_ptr<webnn::Context> whole_;
};

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_GRAPH_RUNNER_H_

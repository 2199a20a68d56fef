// Graphs with tensors of their own, dispatched many times over.
#ifndef WEBNND_TOOLS_BENCHMARKS_GRAPH_RUNNER_H_
#define WEBNND_TOOLS_BENCHMARKS_GRAPH_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/webnn.h"
#include "tools/benchmarks/must.h"

namespace webnnd::benchmarks {

// Bytes of values that no operator finds exceptional: floats from 0.125 to 1, integers below
// `bound` (of 8 bits and less: any bytes).
std::vector<std::byte> RandomBytes(const webnn::OperandDescriptor& descriptor, uint32_t bound,
                                   std::mt19937& random);

// A graph builder that knows what flows in, to make tensors for it and to count bytes.
class GraphSketch {
 public:
  explicit GraphSketch(const std::shared_ptr<webnn::Context>& context) : builder_(context) {}

  // Integers are below `bound`.
  webnn::Operand Input(webnn::OperandDataType type, const webnn::Shape& shape,
                       uint32_t bound = 100);
  webnn::Operand Constant(webnn::OperandDataType type, const webnn::Shape& shape);
  void Output(const webnn::Operand& operand);
  webnn::GraphBuilder* operator->() { return &builder_; }

  // The work of one dispatch: multiply-adds, or bytes read and written once each. Without either,
  // bytes of all inputs, constants and outputs.
  void CountMultiplyAdds(double multiply_adds) { multiply_adds_ = multiply_adds; }
  void CountBytes(double bytes) { bytes_ = bytes; }

 private:
  friend class GraphRunner;
  struct DrawnInput {
    std::string name;
    webnn::OperandDescriptor descriptor;
    uint32_t bound;
  };

  webnn::GraphBuilder builder_;
  std::mt19937 random_{1};
  std::vector<DrawnInput> inputs_;
  webnn::NamedOperands outputs_;
  double moved_bytes_ = 0;
  double multiply_adds_ = 0;
  double bytes_ = 0;
};

class GraphRunner {
 public:
  // Builds the graph that `draw` draws and fills tensors for it.
  GraphRunner(webnn::ML& ml, const std::shared_ptr<webnn::Context>& context,
              const std::function<void(GraphSketch&)>& draw);

  // Seconds a dispatch takes of `count` that follow each other without waiting.
  double SecondsPerDispatch(int count);
  // The same behind one more that is not counted: before it, caches hold what ran last.
  double SecondsPerWarmDispatch(int count);
  // How many dispatches take about `seconds` together; the first ones warm up.
  int CountFor(double seconds);

  uint32_t kernel_count() const { return graph_->kernel_count(); }
  bool counts_multiply_adds() const { return multiply_adds_ > 0; }
  // Multiply-adds or bytes of one dispatch.
  double work() const { return counts_multiply_adds() ? multiply_adds_ : bytes_; }

 private:
  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  webnn::NamedTensors inputs_;
  webnn::NamedTensors outputs_;
  // Read after the dispatches: the timeline is ordered, so that it comes when they are done.
  std::shared_ptr<webnn::Tensor> last_;
  double multiply_adds_ = 0;
  double bytes_ = 0;
};

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_GRAPH_RUNNER_H_

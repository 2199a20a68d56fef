// Graph: MLGraph of the draft. A compiled graph.
#ifndef WEBNND_CLIENT_GRAPH_H_
#define WEBNND_CLIENT_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/operand.h"

namespace webnn {

class ContextImpl;

// Held by shared_ptr, like Tensor.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  struct Endpoint {
    std::string name;
    OperandDescriptor descriptor;
  };

  // For the library. Endpoints are in the order in which dispatches send their tensors.
  Graph(std::shared_ptr<ContextImpl> context, uint64_t handle, std::vector<Endpoint> inputs,
        std::vector<Endpoint> outputs, uint32_t kernel_count);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::vector<Endpoint>& inputs() const { return inputs_; }
  const std::vector<Endpoint>& outputs() const { return outputs_; }
  // Kernel calls that one dispatch takes, copies of outputs not counted: a developer's figure, not
  // part of the draft.
  uint32_t kernel_count() const { return kernel_count_; }
  bool destroyed() const { return destroyed_; }

  // Dispatches made before still run. Idempotent.
  void Destroy();

 private:
  friend class ContextImpl;
  friend class Context;

  std::shared_ptr<ContextImpl> context_;
  uint64_t handle_;
  std::vector<Endpoint> inputs_;
  std::vector<Endpoint> outputs_;
  uint32_t kernel_count_;
  bool destroyed_ = false;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_GRAPH_H_

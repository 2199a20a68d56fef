// Binding: MLBinding of webidl/extensions.idl. A graph with the tensors for all its inputs and
// outputs fixed once.
#ifndef WEBNND_CLIENT_BINDING_H_
#define WEBNND_CLIENT_BINDING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/graph.h"
#include "client/tensor.h"

namespace webnn {

// Held by shared_ptr; obtained from Context::Bind. Keeps its graph and its tensors alive.
class Binding {
 public:
  // For the library.
  Binding(std::shared_ptr<ContextImpl> context, uint64_t handle, std::shared_ptr<Graph> graph,
          std::vector<std::shared_ptr<Tensor>> tensors);
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  bool destroyed() const { return destroyed_; }

  // Dispatches made before still run. Idempotent.
  void Destroy();

 private:
  friend class ContextImpl;

  std::shared_ptr<ContextImpl> context_;
  uint64_t handle_;
  std::shared_ptr<Graph> graph_;
  std::vector<std::shared_ptr<Tensor>> tensors_;  // Of the inputs, then of the outputs.
  bool is_dynamic_ = false;  // Shapes may differ from one dispatch to the next.
  bool destroyed_ = false;
  bool lacks_tensor_ = false;  // One of them was destroyed.
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_BINDING_H_

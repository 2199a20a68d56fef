// Context: MLContext of the draft.
#ifndef WEBNND_CLIENT_CONTEXT_H_
#define WEBNND_CLIENT_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/binding.h"
#include "client/future.h"
#include "client/graph.h"
#include "client/tensor.h"
#include "webidl/generated/types.h"
#include "webidl/support_limits.h"

namespace webnn {

class GraphBuilder;
class ContextImpl;

using webnnd::webidl::LimitSet;
using webnnd::webidl::OpSupportLimits;
using webnnd::webidl::PowerPreference;

// MLContextOptions, and switches for developers that the draft does not have.
struct ContextOptions {
  PowerPreference power_preference = PowerPreference::kDefault;
  bool accelerated = true;
  // Turn one thing of the service off, to measure or to search for a fault.
  bool fusion = true;
  bool constant_folding = true;
  bool binding_cache = true;
  // Names of macro operators, separated by commas, that the service looks for when it fuses; empty:
  // all that it knows, but those behind a minus sign. A context with a name that it does not know is refused.
  std::string fusions;
};

struct ContextLostInfo {
  std::string message;
};

using NamedTensors = std::map<std::string, std::shared_ptr<Tensor>>;

// Held by shared_ptr; obtained from ML::CreateContext. Every method is called on the ML's thread.
// Calls take effect on the service in the order in which they are made.
class Context {
 public:
  explicit Context(std::shared_ptr<ContextImpl> impl);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Device memory for one tensor, cleared. Rejects with Validation, Quota or OutOfMemory.
  Future<std::shared_ptr<Tensor>> CreateTensor(const TensorDescriptor& descriptor);
  // A tensor that graphs use as a constant (GraphBuilder::Constant(tensor)) and that they share.
  // `data` is copied at the call; its size must be the descriptor's byte length.
  Future<std::shared_ptr<Tensor>> CreateConstantTensor(OperandDataType data_type,
                                                       const Shape& shape,
                                                       std::span<const std::byte> data);
  // The same from a file: `descriptor` (a regular file or a sealed memfd) is duplicated at the call
  // and read by the service from `offset`; the bytes never pass through this process.
  Future<std::shared_ptr<Tensor>> CreateConstantTensorFromFile(OperandDataType data_type,
                                                               const Shape& shape, int descriptor,
                                                               uint64_t offset);

  // Writes the whole tensor; `data` is copied at the call. Errors that are known at once are
  // returned; later ones (the tensor's creation failed, the device is lost) poison the tensor.
  Result<void> WriteTensor(Tensor& tensor, std::span<const std::byte> data);

  // The tensor's bytes after all that was called before.
  Future<std::vector<std::byte>> ReadTensor(const Tensor& tensor);
  // Bring your own buffer: `destination` must stay alive until the future completes, and have
  // exactly the tensor's byte length (the draft's "validate buffer with descriptor").
  Future<void> ReadTensor(const Tensor& tensor, std::span<std::byte> destination);
  // What that checks, for those who have the buffer only once the bytes are there.
  Result<void> CheckReadTensor(const Tensor& tensor, size_t destination_bytes) const;

  // Runs the graph. Names must be exactly the graph's; types and shapes equal; no tensor twice.
  Result<void> Dispatch(Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs);

  // Extension (webidl/extensions.idl): fixes the tensors of a graph, so that dispatching it again
  // costs next to nothing. As for Dispatch, but that one tensor may be an input and an output: the
  // input is what it holds before the dispatch, the output what it holds after. Validation; Quota
  // when too many bindings are alive.
  Result<std::shared_ptr<Binding>> Bind(Graph& graph, const NamedTensors& inputs,
                                        const NamedTensors& outputs);
  // InvalidState when the binding or its graph is destroyed, Validation when one of its tensors is.
  Result<void> Dispatch(Binding& binding);

  // The operators, data types and ranks that the service supports, member by member as in the
  // draft; what the draft requires alone with MLOptions::restrict_to_required_limits.
  const OpSupportLimits& op_support_limits() const;
  // Whether the device is a GPU (false on a CPU implementation of Vulkan).
  bool accelerated() const;
  // The Vulkan device's name.
  const std::string& device_name() const;

  // Completes when the context is lost: the worker died, the device failed, or Destroy was called.
  Future<ContextLostInfo> lost() const;
  bool is_lost() const;
  // InvalidState when the context is lost: what its methods check first.
  Result<void> CheckLive() const;

  // Frees everything of this context on the service. Pending futures reject. Idempotent.
  void Destroy();

  // Bytes written to the socket so far by this context's connection.
  uint64_t bytes_sent() const;
  // Bytes received likewise.
  uint64_t bytes_received() const;

 private:
  friend class GraphBuilder;
  std::shared_ptr<ContextImpl> impl_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_CONTEXT_H_

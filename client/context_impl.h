// ContextImpl: what Context, and the tensors, graphs and builders made from it, share.
#ifndef WEBNND_CLIENT_CONTEXT_IMPL_H_
#define WEBNND_CLIENT_CONTEXT_IMPL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "client/binding_cache.h"
#include "client/context.h"
#include "client/event_queue.h"
#include "client/session.h"
#include "ipc/messages.h"
#include "webidl/graph_endpoints.h"

namespace webnn {

webnnd::ipc::WireDescriptor ToWire(const OperandDescriptor& descriptor);
// What the service answers, as the caller is told. Arguments are validated before anything is sent:
// what the service finds invalid all the same (a constant's file that was cut, a defect of ours) is
// to the draft a step on the timeline that failed, an OperationError of build, and no TypeError.
Error AsCallersError(const Error& answer);
// Validation error unless the bytes of a constant's file are there to be read.
Result<webnnd::UniqueFd> DuplicateFile(int descriptor, uint64_t offset, uint64_t length);

class ContextImpl : public std::enable_shared_from_this<ContextImpl> {
 public:
  ContextImpl(std::shared_ptr<Session> session, std::shared_ptr<EventQueue> events,
              webnnd::ipc::Handle handle, const ContextOptions& options, LimitSet limits);
  // Tells the service to free everything of this context.
  ~ContextImpl();

  webnnd::ipc::Handle handle() const { return handle_; }
  Session& session() { return *session_; }
  Connection& connection() { return session_->connection(); }
  const OpSupportLimits& op_support_limits() const { return op_support_limits_; }
  // Which of its limits an operator is held to.
  LimitSet limit_set() const { return limit_set_; }
  bool accelerated() const { return accelerated_; }
  const std::string& device_name() const { return device_name_; }
  Future<ContextLostInfo> lost() const { return lost_future_; }
  bool is_lost() const { return lost_; }

  // The answer to CreateContext has come.
  void Begin(const webnnd::ipc::ContextCreated& message);
  // "Lose" of the draft: destroys all objects, completes `lost` and rejects what is pending in the
  // next ProcessEvents. `aborted` is what pending calls are told.
  void Lose(const std::string& reason, Cause aborted);

  // The descriptor, if the support limits let it be a tensor, an input, a constant or a result.
  Result<OperandDescriptor> CheckDescriptor(Result<OperandDescriptor> descriptor) const;
  // InvalidState when the context is lost.
  Result<void> CheckLive() const;

  Future<std::shared_ptr<Tensor>> CreateTensor(const TensorDescriptor& descriptor);
  Future<std::shared_ptr<Tensor>> CreateConstantTensor(OperandDataType data_type,
                                                       const Shape& shape,
                                                       std::span<const std::byte> data);
  Future<std::shared_ptr<Tensor>> CreateConstantTensorFromFile(OperandDataType data_type,
                                                               const Shape& shape, int descriptor,
                                                               uint64_t offset);
  Result<void> WriteTensor(Tensor& tensor, std::span<const std::byte> data);
  Result<void> ResizeTensor(Tensor& tensor, const Shape& shape);
  Future<std::vector<std::byte>> ReadTensor(const Tensor& tensor);
  Future<void> ReadTensor(const Tensor& tensor, std::span<std::byte> destination);
  Result<void> CheckReadInto(const Tensor& tensor, size_t destination_bytes) const;
  Result<void> Dispatch(Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs);
  Result<std::shared_ptr<Binding>> Bind(Graph& graph, const NamedTensors& inputs,
                                        const NamedTensors& outputs);
  Result<void> Dispatch(Binding& binding);

  // Sends a graph's last message and waits for its answer.
  Future<std::shared_ptr<Graph>> Build(webnnd::ipc::Build message,
                                       std::vector<Graph::Endpoint> inputs,
                                       std::vector<Graph::Endpoint> outputs);

  // Called by the objects themselves.
  void AddTensor(Tensor* tensor) { tensors_.insert(tensor); }
  void AddGraph(Graph* graph) { graphs_.insert(graph); }
  void RemoveTensor(Tensor* tensor) { tensors_.erase(tensor); }
  void RemoveGraph(Graph* graph) { graphs_.erase(graph); }
  void AddBinding(Binding* binding) { bindings_.insert(binding); }
  void RemoveBinding(Binding* binding) { bindings_.erase(binding); }
  void DestroyTensor(Tensor& tensor);
  void DestroyGraph(Graph& graph);
  void DestroyBinding(webnnd::ipc::Handle binding);

  // Answers; false when the object or request is not this context's.
  bool OnTensorCreated(const webnnd::ipc::TensorCreated& message);
  bool OnGraphBuilt(const webnnd::ipc::GraphBuilt& message);
  // `bytes` are there where message.error is not.
  bool OnTensorRead(const webnnd::ipc::TensorRead& message, std::span<const std::byte> bytes);

 private:
  friend class GraphBuilder;

  // Calls that wait for an answer. `order` counts calls, so that a loss rejects in their order.
  struct PendingTensor {
    uint64_t order;
    std::shared_ptr<Tensor> tensor;
    Future<std::shared_ptr<Tensor>> future;
  };
  struct PendingGraph {
    uint64_t order;
    std::shared_ptr<Graph> graph;
    Future<std::shared_ptr<Graph>> future;
  };
  struct ReadIntoBuffer {
    std::span<std::byte> destination;
    Future<void> future;
  };
  struct PendingRead {
    uint64_t order;
    std::shared_ptr<const Tensor> tensor;
    std::variant<Future<std::vector<std::byte>>, ReadIntoBuffer> receiver;
    void Reject(Error error);
    void Resolve(std::span<const std::byte> bytes);
  };

  void SendShape(const Tensor& tensor);
  // "Validate tensors with descriptors" of the draft; afterwards the outputs have the shapes that
  // the dispatch gives them.
  Result<void> ApplyShapes(const Graph& graph, std::span<Tensor* const> inputs,
                           std::span<Tensor* const> outputs);
  std::string TensorGone() const;
  std::shared_ptr<Tensor> NewTensor(webnnd::ipc::Handle handle, OperandDescriptor descriptor,
                                    bool readable, bool writable, bool constant);
  Future<std::shared_ptr<Tensor>> Await(std::shared_ptr<Tensor> tensor);
  Result<std::shared_ptr<Tensor>> SendCreateTensor(const TensorDescriptor& descriptor);
  std::shared_ptr<Tensor> SendCreateConstant(webnnd::ipc::Handle handle,
                                             OperandDescriptor descriptor,
                                             webnnd::ipc::Payload payload);
  Result<OperandDescriptor> CheckConstant(OperandDataType data_type, const Shape& shape);
  Result<void> CheckRead(const Tensor& tensor) const;
  // Sends a read; returns its request.
  Result<uint64_t> SendRead(const Tensor& tensor);
  Result<std::vector<webnnd::ipc::Handle>> CheckEndpoints(
      const char* what, const std::vector<Graph::Endpoint>& endpoints,
      const NamedTensors& tensors) const;
  Result<void> CheckTensors(const NamedTensors& inputs, const NamedTensors& outputs) const;
  Result<void> CheckGraph(const Graph& graph) const;
  // For a plain dispatch: the one made before for the same tensors, or a new one.
  Result<webnnd::ipc::Handle> FindBinding(const webnnd::ipc::Dispatch& dispatch);
  std::vector<std::function<void()>> TakePending(const Error& error);

  std::shared_ptr<Session> session_;
  std::shared_ptr<EventQueue> events_;
  webnnd::ipc::Handle handle_;
  bool caches_bindings_;
  LimitSet limit_set_;
  OpSupportLimits op_support_limits_;
  bool accelerated_ = false;
  std::string device_name_;
  bool lost_ = false;
  std::string lost_reason_;
  Future<ContextLostInfo> lost_future_;

  std::set<Tensor*> tensors_;  // Live ones, and graphs likewise.
  std::set<Graph*> graphs_;
  std::set<Binding*> bindings_;
  BindingCache binding_cache_;
  std::map<uint64_t, PendingTensor> pending_tensors_;  // By packed handle.
  std::map<uint64_t, PendingGraph> pending_graphs_;    // By packed handle.
  std::map<uint64_t, PendingRead> pending_reads_;      // By request.
  uint64_t next_order_ = 0;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_CONTEXT_IMPL_H_

// Mirror: what a session has to answer, and what its tensors have to hold.
#ifndef WEBNND_TESTS_SIMULATION_MIRROR_H_
#define WEBNND_TESTS_SIMULATION_MIRROR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/quota.h"
#include "base/result.h"
#include "ipc/handle.h"

namespace webnnd::service {

// The same messages in the same order as the session, told by one method each; every graph is a
// chain of operators that the null device runs as one kernel each. Knows nothing of when things
// happen: what it says holds however far ahead of the service the client is.
class Mirror {
 public:
  using Handle = ipc::Handle;
  using Bytes = std::vector<std::byte>;
  // What something fails with: one of these. Empty: it must not fail.
  using Causes = std::set<Cause>;

  explicit Mirror(const Quota& quota) : quota_(quota) {}

  Causes CreateContext(Handle context);
  // And everything that belongs to it.
  void DestroyContext(Handle context);
  Causes CreateTensor(Handle context, Handle tensor, uint64_t bytes);
  void DestroyTensor(Handle tensor);
  void WriteTensor(Handle tensor, const Bytes& bytes);
  void CreateBuilder(Handle context, Handle builder);
  void DestroyBuilder(Handle builder);
  void AddOperators(Handle builder, uint32_t count);
  Causes Build(Handle builder, Handle graph, uint32_t input_count);
  void DestroyGraph(Handle graph);
  void CreateBinding(Handle binding, Handle graph, std::vector<Handle> inputs, Handle output);
  void DestroyBinding(Handle binding);
  void Dispatch(Handle graph, const std::vector<Handle>& inputs, Handle output);
  void DispatchBinding(Handle binding);

  struct Content {
    Causes causes;  // Why there is none.
    Bytes bytes;
    Handle context;
  };
  Content Read(Handle tensor) const;

  struct Context {
    Causes broken;  // Why it has no timeline; here and below: empty where it is sound.
  };
  struct Tensor {
    Handle context;
    bool has_memory = false;
    Causes broken;
    Bytes bytes;
  };
  struct Builder {
    Handle context;
    bool failed = false;
    uint32_t operators = 0;
  };
  struct Graph {
    Handle context;
    uint32_t input_count = 0;
    uint32_t operators = 0;
    uint32_t kernels = 0;
    Causes broken;
  };
  struct Binding {
    Handle context;
    Handle graph;
    std::vector<Handle> inputs;
    Handle output;
    Causes broken;
  };
  template <class T>
  using Table = std::map<uint64_t, T>;  // By Handle::Pack().

  // What there is, refused ones included: they have handles, and count.
  const Table<Context>& contexts() const { return contexts_; }
  const Table<Tensor>& tensors() const { return tensors_; }
  const Table<Builder>& builders() const { return builders_; }
  const Table<Graph>& graphs() const { return graphs_; }
  const Table<Binding>& bindings() const { return bindings_; }
  // Accepted so far.
  uint64_t dispatches() const { return dispatches_; }
  // How often something was over a quota.
  struct Refusals {
    uint64_t contexts = 0, tensors = 0, graphs = 0, bindings = 0, operators = 0, device_bytes = 0,
             dispatch_ms = 0;
  };
  const Refusals& refusals() const { return refusals_; }
  const Quota& quota() const { return quota_; }

 private:
  Causes WhyNoTimeline(Handle context) const;
  uint64_t UsedOperators() const;
  // What a binding of these tensors fails with at a dispatch, and what it writes otherwise.
  void Run(const Causes& binding_broken, Handle context, Handle graph,
           const std::vector<Handle>& inputs, Handle output);
  // The bindings fail from now on that name the graph, or the tensor.
  void Invalidate(Handle named, const Causes& graph_broken = {});

  const Quota quota_;
  Table<Context> contexts_;
  Table<Tensor> tensors_;
  Table<Builder> builders_;
  Table<Graph> graphs_;
  Table<Binding> bindings_;
  uint64_t dispatches_ = 0;
  Refusals refusals_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_MIRROR_H_

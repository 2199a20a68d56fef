#include "tests/simulation/mirror.h"

#include <algorithm>
#include <utility>

namespace webnnd::service {
namespace {

template <class T>
const T* Find(const Mirror::Table<T>& table, ipc::Handle handle) {
  auto found = table.find(handle.Pack());
  return found == table.end() ? nullptr : &found->second;
}

template <class T>
T* Find(Mirror::Table<T>& table, ipc::Handle handle) {
  return const_cast<T*>(Find(std::as_const(table), handle));
}

// Where `refused`, one more.
bool Count(bool refused, uint64_t& refusals) {
  refusals += refused ? 1 : 0;
  return refused;
}

}  // namespace

Mirror::Causes Mirror::WhyNoTimeline(Handle context) const {
  const Context* found = Find(contexts_, context);
  return found != nullptr ? found->broken : Causes{Cause::kInvalidState};
}

// --- Contexts -----------------------------------------------------------------------------------

Mirror::Causes Mirror::CreateContext(Handle context) {
  Context& created = contexts_[context.Pack()];
  if (Count(contexts_.size() > quota_.contexts, refusals_.contexts)) {
    created.broken = {Cause::kQuota};
  }
  return created.broken;
}

void Mirror::DestroyContext(Handle context) {
  if (contexts_.erase(context.Pack()) == 0) return;
  auto erase_of = [&](auto& table) {
    std::erase_if(table, [&](const auto& entry) { return entry.second.context == context; });
  };
  erase_of(tensors_);
  erase_of(builders_);
  erase_of(graphs_);
  erase_of(bindings_);
}

// --- Tensors ------------------------------------------------------------------------------------

Mirror::Causes Mirror::CreateTensor(Handle context, Handle tensor, uint64_t bytes) {
  Tensor& created = tensors_[tensor.Pack()];
  created.context = context;
  if (Count(tensors_.size() > quota_.tensors, refusals_.tensors)) {
    created.broken = {Cause::kQuota};
  } else if (created.broken = WhyNoTimeline(context); created.broken.empty()) {
    if (Count(bytes > quota_.device_bytes, refusals_.device_bytes)) {
      created.broken = {Cause::kQuota};
    }
  }
  created.has_memory = created.broken.empty();
  if (created.has_memory) created.bytes.assign(bytes, std::byte{0});
  return created.broken;
}

void Mirror::DestroyTensor(Handle tensor) {
  if (tensors_.erase(tensor.Pack()) > 0) Invalidate(tensor);
}

void Mirror::WriteTensor(Handle tensor, const Bytes& bytes) {
  Tensor* found = Find(tensors_, tensor);
  if (found == nullptr) return;
  if (Causes broken = WhyNoTimeline(found->context); !broken.empty()) {
    found->broken = std::move(broken);
  } else if (found->has_memory) {
    // A whole write heals.
    found->broken.clear();
    found->bytes = bytes;
  }
}

Mirror::Content Mirror::Read(Handle tensor) const {
  const Tensor* found = Find(tensors_, tensor);
  if (found == nullptr) return {{Cause::kInvalidState}, {}, {}};
  return {found->broken, found->bytes, found->context};
}

// --- Graphs -------------------------------------------------------------------------------------

uint64_t Mirror::UsedOperators() const {
  uint64_t used = 0;
  for (const auto& [handle, builder] : builders_) used += builder.operators;
  for (const auto& [handle, graph] : graphs_) used += graph.operators;
  return used;
}

void Mirror::CreateBuilder(Handle context, Handle builder) {
  builders_[builder.Pack()].context = context;
}

void Mirror::DestroyBuilder(Handle builder) { builders_.erase(builder.Pack()); }

void Mirror::AddOperators(Handle builder, uint32_t count) {
  Builder* found = Find(builders_, builder);
  if (found == nullptr || found->failed) return;
  found->failed = Count(UsedOperators() + count > quota_.operators, refusals_.operators);
  found->operators = found->failed ? 0 : found->operators + count;
}

Mirror::Causes Mirror::Build(Handle builder, Handle graph, uint32_t input_count) {
  Builder from;
  if (const Builder* found = Find(builders_, builder)) from = *found;
  builders_.erase(builder.Pack());
  Graph& built = graphs_[graph.Pack()];
  built.context = from.context;
  built.input_count = input_count;
  built.operators = built.kernels = from.operators;
  const bool refused = Count(graphs_.size() > quota_.graphs, refusals_.graphs);
  // What is refused takes no operators.
  if (refused) built.operators = 0;
  built.broken = WhyNoTimeline(from.context);
  if (built.broken.empty() && (refused || from.failed)) built.broken = {Cause::kQuota};
  return built.broken;
}

void Mirror::DestroyGraph(Handle graph) {
  const Graph* found = Find(graphs_, graph);
  if (found == nullptr) return;
  Invalidate(graph, found->broken);
  graphs_.erase(graph.Pack());
}

// --- Dispatches ---------------------------------------------------------------------------------

void Mirror::Invalidate(Handle named, const Causes& graph_broken) {
  for (auto& [handle, binding] : bindings_) {
    const auto& inputs = binding.inputs;
    if (binding.graph != named && binding.output != named &&
        std::find(inputs.begin(), inputs.end(), named) == inputs.end()) {
      continue;
    }
    // What was wrong with the graph is told first, also when it is gone.
    if (!graph_broken.empty()) binding.broken = graph_broken;
    if (binding.broken.empty()) binding.broken = {Cause::kInvalidState};
  }
}

void Mirror::CreateBinding(Handle binding, Handle graph, std::vector<Handle> inputs,
                           Handle output) {
  Binding& created = bindings_[binding.Pack()];
  created.graph = graph;
  if (const Graph* found = Find(graphs_, graph)) created.context = found->context;
  created.inputs = std::move(inputs);
  created.output = output;
  if (Count(bindings_.size() > quota_.bindings, refusals_.bindings)) {
    created.broken = {Cause::kQuota};
  }
}

void Mirror::DestroyBinding(Handle binding) { bindings_.erase(binding.Pack()); }

void Mirror::DispatchBinding(Handle binding) {
  const Binding* found = Find(bindings_, binding);
  if (found == nullptr) return;
  ++dispatches_;
  Run(found->broken, found->context, found->graph, found->inputs, found->output);
}

void Mirror::Dispatch(Handle graph, const std::vector<Handle>& inputs, Handle output) {
  const Graph* found = Find(graphs_, graph);
  if (found == nullptr) return;
  ++dispatches_;
  Run({}, found->context, graph, inputs, output);
}

void Mirror::Run(const Causes& binding_broken, Handle context, Handle graph,
                 const std::vector<Handle>& inputs, Handle output) {
  const Graph* named = Find(graphs_, graph);
  Tensor* written = Find(tensors_, output);
  auto why = [&]() -> Causes {
    if (Causes broken = WhyNoTimeline(context); !broken.empty()) return broken;
    if (named != nullptr && !named->broken.empty()) return named->broken;
    if (!binding_broken.empty()) return binding_broken;
    Causes without_memory, broken;
    for (Handle input : inputs) {
      const Tensor* read = Find(tensors_, input);
      if (read == nullptr) return {Cause::kInvalidState};
      (read->has_memory ? broken : without_memory).insert(read->broken.begin(), read->broken.end());
    }
    if (written == nullptr) return {Cause::kInvalidState};
    if (!written->has_memory) without_memory.insert(written->broken.begin(), written->broken.end());
    if (!without_memory.empty()) return without_memory;
    if (!broken.empty()) return broken;
    // The null device takes a millisecond for each.
    if (Count(named->kernels > quota_.dispatch_ms, refusals_.dispatch_ms)) return {Cause::kQuota};
    return {};
  };
  Causes broken = why();
  if (written == nullptr) return;
  if (broken.empty()) {
    Bytes sum(written->bytes.size(), std::byte{1});
    for (Handle input : inputs) {
      const Bytes& more = Find(tensors_, input)->bytes;
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] =
            static_cast<std::byte>(static_cast<unsigned>(sum[i]) + static_cast<unsigned>(more[i]));
      }
    }
    written->bytes = std::move(sum);
  }
  written->broken = std::move(broken);
}

}  // namespace webnnd::service

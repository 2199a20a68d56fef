// Lowering: how an operator becomes kernel calls. One row per operator, in an explicit table.
#ifndef WEBNND_SERVICE_PASSES_LOWERING_H_
#define WEBNND_SERVICE_PASSES_LOWERING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/graph/graph.h"
#include "service/passes/transposed_views.h"
#include "shaders/shader_id.h"

namespace webnnd::service {

// Results that are stored past the caches (shaders/stream.glsl) have at least as many. With who
// reads the result next, a transpose of halves to 2 MiB takes 1.2 times as long so, to 4 MiB 1.04
// and to 8 MiB 0.66.
inline constexpr uint64_t kStreamedBytesMin = uint64_t{8} << 20;

// One buffer of a call before memory is planned.
struct LoweredBuffer {
  ValueId value = kNoValue;
  bool written = false;
  // The bytes of the value that the call touches: offset is a multiple of kBufferAlignment.
  uint64_t offset = 0;
  uint64_t bytes = 0;  // 0: all that follow.
};

// A kernel call on values; the memory planner turns it into a KernelCall (service/plan/plan.h,
// where the fields are described).
struct LoweredCall {
  shaders::ShaderId shader{};
  std::vector<uint32_t> specialization;
  std::vector<LoweredBuffer> buffers;
  std::vector<uint32_t> parameters;
  uint64_t invocations = 0;
  uint64_t workgroups = 0;
  uint64_t cost = 0;
  uint32_t cost_per_turn = 1;
  std::string label;
};

// What lowering writes. Values that only lowering knows (temporaries) are added to the graph.
class LoweringBuilder {
 public:
  explicit LoweringBuilder(Graph& graph) : graph_(graph) {}

  const webidl::OperandDescriptor& descriptor(ValueId value) const {
    return graph_.values[value].descriptor;
  }
  // GraphConstant::tiled_loads of a constant; 0 of any other value.
  uint32_t tiled_loads(ValueId value) const { return TiledLoads(graph_, value); }
  const Graph& graph() const { return graph_; }
  bool wide() const { return graph_.device.wide; }
  // Whether the same graph is lowered for other sizes, which should differ in as little as can be.
  bool has_other_sizes() const { return graph_.reserves; }
  const StreamedStores& streamed_stores() const { return graph_.device.streamed_stores; }
  const DeviceTraits& device() const { return graph_.device; }
  // Found when they are first asked for: many a builder lowers nothing.
  const TransposedViews& views() {
    if (!views_) views_.emplace(graph_);
    return *views_;
  }
  // A temporary of this lowering.
  ValueId AddTemporary(webidl::OperandDescriptor descriptor);
  // Words for one call, which finds them 0 and leaves them so.
  Result<ValueId> AddCounters(uint32_t count);
  uint64_t counter_bytes() const { return counter_bytes_; }
  void AddCall(LoweredCall call) { calls_.push_back(std::move(call)); }
  // Declares that `result` has the bytes of `source` in the same order (reshape, identity): no
  // kernel runs where the planner can give both the same memory; else it inserts a copy. `source`
  // may have more bytes behind.
  void AddAlias(ValueId result, ValueId source);

  // Declares that `result` begins as the bytes of `source`, some of which the calls that are added
  // next overwrite: the planner gives both the same memory where nobody needs the old bytes, and
  // inserts a copy where somebody does.
  void AddUpdate(ValueId result, ValueId source);

  struct Alias {
    ValueId result;
    ValueId source;
    size_t call_index;  // The alias, or the update, takes effect before this call.
  };
  std::vector<LoweredCall>& calls() { return calls_; }
  const std::vector<LoweredCall>& calls() const { return calls_; }
  const std::vector<Alias>& aliases() const { return aliases_; }
  const std::vector<Alias>& updates() const { return updates_; }

 private:
  Graph& graph_;
  std::optional<TransposedViews> views_;
  std::vector<LoweredCall> calls_;
  uint64_t counter_bytes_ = 0;
  std::vector<Alias> aliases_;
  std::vector<Alias> updates_;
};

using LowerFunction = Status (*)(const Node& node, LoweringBuilder& builder);

// nullptr: the operator has a meaning and no kernel yet (NotSupported at build).
LowerFunction GetLowering(webidl::OperatorKind kind);

// A call that copies all bytes of `source` to `result`, which has the same byte length.
LoweredCall MakeCopyCall(const Graph& graph, ValueId result, ValueId source);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWERING_H_

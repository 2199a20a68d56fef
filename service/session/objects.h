// What handles name: the objects of one session.
#ifndef WEBNND_SERVICE_SESSION_OBJECTS_H_
#define WEBNND_SERVICE_SESSION_OBJECTS_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ipc/handle.h"
#include "ipc/messages.h"
#include "service/graph/graph_assembler.h"
#include "service/passes/compile.h"
#include "service/session/evaluation_cache.h"
#include "service/session/metrics.h"
#include "service/session/outbox.h"
#include "service/session/plan_ahead.h"
#include "service/vulkan/device.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {

// What one session has of something that is limited. Shared by threads.
class Budget {
 public:
  // Released when it goes out of scope.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(std::shared_ptr<Budget> budget, uint64_t amount)
        : budget_(std::move(budget)), amount_(amount) {}
    Reservation(Reservation&&) = default;
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(amount_, other.amount_);
      return *this;
    }
    ~Reservation() {
      if (budget_) budget_->used_ -= amount_;
    }

    uint64_t amount() const { return amount_; }

   private:
    friend class Budget;
    std::shared_ptr<Budget> budget_;
    uint64_t amount_ = 0;
  };

  // `what` is limited, as errors name it: "bytes of device memory".
  Budget(std::string_view what, uint64_t limit) : what_(what), limit_(limit) {}
  // Quota error when the session would have more than its limit.
  static Result<Reservation> Reserve(const std::shared_ptr<Budget>& budget, uint64_t amount);
  // Makes `reservation` one of `amount`, if that is more; left as it is on an error.
  static Status Extend(const std::shared_ptr<Budget>& budget, uint64_t amount,
                       Reservation& reservation);
  uint64_t used() const { return used_; }

 private:
  const std::string_view what_;
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

using DeviceQuota = Budget;

// Device memory that counts against the quota until its last holder lets go.
Result<std::shared_ptr<Buffer>> AllocateWithinQuota(Device& device,
                                                    const std::shared_ptr<DeviceQuota>& quota,
                                                    uint64_t bytes);

struct ContextObject;
struct BindingObject;

// The bindings that a context, a graph or a tensor is part of. Timeline thread.
class BindingUsers {
 public:
  void Add(const std::shared_ptr<BindingObject>& binding);
  // The bindings fail with `reason` from now on, and hold nothing of the device.
  void Invalidate(const Error& reason);

 private:
  std::vector<std::weak_ptr<BindingObject>> bindings_;
  size_t prune_at_ = 16;
};

struct Object {
  Object(ipc::ObjectType type, ipc::Handle handle, std::shared_ptr<ContextObject> context)
      : type(type), handle(handle), context(std::move(context)) {}
  virtual ~Object() = default;

  const ipc::ObjectType type;
  const ipc::Handle handle;
  // nullptr for a context itself.
  const std::shared_ptr<ContextObject> context;
};

// Fields below "timeline thread" are touched by that thread alone.
struct ContextObject : Object {
  static constexpr ipc::ObjectType kType = ipc::ObjectType::kContext;
  ContextObject(ipc::Handle handle, const ipc::CreateContext& options)
      : Object(kType, handle, nullptr), options(options) {}

  const ipc::CreateContext options;

  // Made with the timeline, and outlives it: its callbacks use it.
  std::unique_ptr<DispatchesInFlight> in_flight;

  // Build thread.
  EvaluationCache evaluations;

  // Timeline thread.
  std::shared_ptr<Device> device;
  std::unique_ptr<Timeline> timeline;  // nullptr: creation failed, lost, or destroyed.
  BindingUsers bindings;
  std::optional<Error> error;      // Why there is no timeline.
  Load to_retire;                  // Admitted work that the next Notify stands for.
  uint32_t dispatches_to_end = 0;  // And dispatches, which wait in `in_flight`.
  bool has_unsubmitted_work = false;
};

// A tensor, or a constant of a graph (which has handle 0).
struct TensorObject : Object {
  static constexpr ipc::ObjectType kType = ipc::ObjectType::kTensor;
  TensorObject(ipc::Handle handle, std::shared_ptr<ContextObject> context)
      : Object(kType, handle, std::move(context)) {}

  webidl::OperandDescriptor descriptor;  // Fixed before the object is shared.
  bool readable = false;
  bool writable = false;
  bool constant = false;

  // Timeline thread.
  webidl::OperandDescriptor current;  // The descriptor at the shape that the tensor has.
  std::shared_ptr<Buffer> buffer;
  // Of a constant: what `buffer` holds, where it is small; else null.
  std::shared_ptr<const std::vector<std::byte>> values;
  // Set when creation or the last write failed: what reads it fails with this (poisoned).
  std::optional<Error> error;
  // How clearing its memory ends; nullptr once it is known to be clear. What fails here never
  // heals.
  std::shared_ptr<const WorkOutcome> cleared;
  // How the last operation that wrote it ends.
  std::shared_ptr<const WorkOutcome> written;
  BindingUsers bindings;
};

// What a graph takes of its session while it is described, and as long as it lives.
struct GraphShare {
  Budget::Reservation operators;
  Budget::Reservation host_bytes;
};

struct BuilderObject : Object {
  static constexpr ipc::ObjectType kType = ipc::ObjectType::kBuilder;
  BuilderObject(ipc::Handle handle, std::shared_ptr<ContextObject> context)
      : Object(kType, handle, std::move(context)) {}

  // I/O thread, then the build thread.
  GraphAssembler assembler;
  // I/O thread, then the timeline thread.
  std::vector<std::shared_ptr<TensorObject>> constants;
  // I/O thread; then the graph's.
  GraphShare share;
};

struct GraphObject : Object {
  static constexpr ipc::ObjectType kType = ipc::ObjectType::kGraph;
  GraphObject(ipc::Handle handle, std::shared_ptr<ContextObject> context)
      : Object(kType, handle, std::move(context)) {}

  struct Endpoint {
    std::string name;
    webidl::OperandDescriptor descriptor;
  };
  GraphShare share;  // I/O thread, when it is made.

  struct Planned {
    std::shared_ptr<Executable> executable;
    DeviceQuota::Reservation reservation;
  };

  // Written by the build thread before `built` is set.
  std::vector<Endpoint> inputs;
  std::vector<Endpoint> outputs;
  // What plans are made of: folded, and, where sizes are known, fused.
  Graph graph;
  CompileOptions options;
  std::vector<std::shared_ptr<Buffer>> constants;  // By GraphConstant::buffer; nullptr: unused.
  uint32_t kernel_count = 0;                       // Where sizes are dynamic the most of some.
  std::optional<Error> error;
  std::atomic<bool> built{false};

  // The build thread's, then the timeline thread's. By the tensors that are input and output at
  // once; the plan without any is made by the build.
  std::map<std::vector<TensorAlias>, Planned> plans;
  // Shared by all plans for particular sizes; grown, never shrunk.
  std::shared_ptr<Buffer> arena;
  // Timeline thread.
  BindingUsers bindings;
};

struct BindingObject : Object {
  static constexpr ipc::ObjectType kType = ipc::ObjectType::kBinding;
  // nullptr among the tensors: destroyed before.
  BindingObject(ipc::Handle handle, std::shared_ptr<GraphObject> graph,
                std::vector<std::shared_ptr<TensorObject>> inputs,
                std::vector<std::shared_ptr<TensorObject>> outputs)
      : Object(kType, handle, graph->context),
        graph(std::move(graph)),
        inputs(std::move(inputs)),
        outputs(std::move(outputs)) {}

  const std::shared_ptr<GraphObject> graph;
  const std::vector<std::shared_ptr<TensorObject>> inputs;
  const std::vector<std::shared_ptr<TensorObject>> outputs;

  // What the graph, or the tensors, are for particular shapes.
  struct Variant {
    std::vector<webidl::Shape> shapes;  // Of all inputs, then of all outputs.
    std::shared_ptr<const CompiledGraph> compiled;
  };
  // Serves all variants that differ from each other in sizes alone.
  struct Recording {
    std::vector<uint32_t> constant_buffers;  // CompiledGraph::constant_buffers of the variants.
    std::shared_ptr<Binding> prepared;
  };

  // It was dispatched, and shapes cannot change: another dispatch submits what is recorded.
  std::atomic<bool> replays{false};

  // Timeline thread. Both lists: most recently used first.
  std::list<Variant> variants;
  std::list<Recording> recordings;
  webidl::Assignment sizes;               // Of the last dispatch, where the graph is dynamic.
  std::shared_ptr<PlanAhead> plan_ahead;  // nullptr where the next sizes cannot be told.
  std::shared_ptr<Binding> prepared;      // nullptr before the first use, and after an error.
  std::optional<Error> error;             // Why it can never be dispatched.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_OBJECTS_H_

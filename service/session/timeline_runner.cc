#include "service/session/timeline_runner.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/trace.h"
#include "service/passes/fusion/fusion_choice.h"
#include "service/session/build_graph.h"
#include "service/session/prepare_binding.h"
#include "service/session/tensor_transfers.h"

namespace webnnd::service {
namespace {

// The adapter that the draft's hints name best; the first in order of preference otherwise.
std::shared_ptr<Device> ChooseDevice(const std::vector<std::shared_ptr<Device>>& devices,
                                     const ipc::CreateContext& options) {
  auto score = [&](const Device& device) {
    const AdapterInfo& adapter = device.adapter();
    int points = adapter.accelerated == options.accelerated ? 4 : 0;
    if (options.power_preference == webidl::PowerPreference::kLowPower && adapter.low_power) {
      points += 2;
    }
    if (options.power_preference == webidl::PowerPreference::kHighPerformance &&
        !adapter.low_power) {
      points += 2;
    }
    return points;
  };
  std::shared_ptr<Device> best;
  for (const auto& device : devices) {
    if (device->lost()) continue;
    if (best == nullptr || score(*device) > score(*best)) best = device;
  }
  return best;
}

// Callbacks refer to the runner, so they run before it goes on.
void CloseTimeline(ContextObject& context) {
  if (context.timeline == nullptr) return;
  if (Status status = context.timeline->WaitIdle(); !status.ok()) {
    LogDebug("closing a context: {}", status.error().message());
  }
  context.timeline = nullptr;
}

// The whole of it, and inside how long it waited for its turn and how long the device had it,
// together with all that was submitted with it.
void TraceDispatch(const DispatchesInFlight::Entry& entry, uint64_t submitted_ns, uint64_t end_ns,
                   bool ok) {
  if (!TraceOn() || submitted_ns == 0) return;
  const uint64_t id = NewTraceId();
  const TraceArgument arguments[] = {
      {"graph", entry.graph}, {"kernels", entry.kernels}, {"failed", ok ? 0u : 1u}};
  TraceAsync("dispatch", id, entry.accepted_ns, end_ns, arguments);
  TraceAsync("queue", id, entry.accepted_ns, submitted_ns);
  TraceAsync("run", id, submitted_ns, end_ns);
}

void Poison(const std::vector<std::shared_ptr<TensorObject>>& tensors, const Error& error) {
  for (const auto& tensor : tensors) {
    if (tensor != nullptr && !tensor->constant) tensor->error = error;
  }
}

}  // namespace

TimelineRunner::TimelineRunner(std::vector<std::shared_ptr<Device>> devices,
                               std::shared_ptr<DeviceQuota> quota,
                               const TimelineOptions& timeline_options, Outbox& outbox,
                               SessionMetrics& metrics, bool has_threads)
    : devices_(std::move(devices)),
      quota_(std::move(quota)),
      constant_values_(std::make_shared<Budget>("bytes of constants' values",
                                                limits::kConstantValuesBytesPerSessionMax)),
      timeline_options_(timeline_options),
      outbox_(outbox),
      metrics_(metrics),
      has_threads_(has_threads),
      builds_("build", nullptr, has_threads),
      timeline_(
          "timeline", [this] { OnDrained(); }, has_threads) {}

TimelineRunner::~TimelineRunner() {
  {
    std::lock_guard lock(built_mutex_);
    stopping_ = true;
  }
  built_changed_.notify_all();
  timeline_.Stop();
  std::vector<std::shared_ptr<ContextObject>> open;
  for (const auto& weak : contexts_) {
    if (auto context = weak.lock(); context != nullptr && context->timeline != nullptr) {
      open.push_back(std::move(context));
    }
  }
  // Nobody waits for what the device has not begun with, but perhaps a build.
  for (const auto& context : open) context->timeline->Cancel();
  builds_.Stop();
  for (const auto& context : open) CloseTimeline(*context);
}

void TimelineRunner::RunPending() {
  while (timeline_.RunPending() || builds_.RunPending()) {
  }
}

void TimelineRunner::RunShort() {
  if (!has_threads_) return;
  // A binding has two recordings, and staging has room for a few inline payloads: none is waited
  // for.
  constexpr uint64_t kDispatchesMax = 2;
  constexpr uint64_t kTasksMax = 8;
  const Load load = outbox_.in_flight();
  timeline_.RunShort(load.dispatches <= kDispatchesMax && load.tasks <= kTasksMax);
}

void TimelineRunner::Post(std::shared_ptr<ContextObject> context, Task task, Load load) {
  timeline_.Post(Counted(std::move(context), std::move(task), load));
}

void TimelineRunner::PostShort(std::shared_ptr<ContextObject> context, Task task, Load load) {
  timeline_.PostShort(Counted(std::move(context), std::move(task), load));
}

WorkQueue::Task TimelineRunner::Counted(std::shared_ptr<ContextObject> context, Task task,
                                        Load load) {
  load.tasks = 1;
  outbox_.Admit(load);
  return [this, context = std::move(context), task = std::move(task), load] {
    task();
    if (context == nullptr) return outbox_.Retire(load);
    context->to_retire += load;
    touched_.insert(context);
  };
}

void TimelineRunner::OnDrained() {
  for (const auto& context : touched_) {
    Submit(*context);
    EndIfLost(context->device.get());
  }
  touched_.clear();
  if (acknowledged_ > acknowledged_sent_) {
    acknowledged_sent_ = acknowledged_;
    outbox_.Send(ipc::Acknowledge{acknowledged_});
  }
}

// Hands the device what the context has recorded, and retires its tasks when that is done.
void TimelineRunner::Submit(ContextObject& context) {
  const Load load = std::exchange(context.to_retire, Load{});
  uint32_t dispatches = std::exchange(context.dispatches_to_end, 0);
  bool has_work = std::exchange(context.has_unsubmitted_work, false);
  if (context.timeline == nullptr || !has_work) {
    EndDispatches(context, dispatches, /*submitted_ns=*/0, /*ok=*/false);
    if (load.tasks > 0) outbox_.Retire(load);
    return;
  }
  const Device& device = *context.device;
  TraceScope scope("submit");
  scope.Add("dispatches", dispatches);
  const uint64_t submitted_ns = MonotonicNs();
  auto on_end = [this, load, dispatches, submitted_ns, &context, &device](bool ok) {
    EndDispatches(context, dispatches, submitted_ns, ok);
    outbox_.Retire(load);
    if (!ok) EndIfLost(&device);
  };
  Status status = context.timeline->Notify(std::move(on_end));
  if (!status.ok()) {
    outbox_.Retire(load);
  } else {
    status = context.timeline->Flush();
  }
  // What cannot be submitted otherwise is an error of its own, which reads are told.
  if (!status.ok() && device.lost()) LoseContext(context, status.error());
}

// It costs the worker: one that starts anew has a device again.
void TimelineRunner::EndIfLost(const Device* device) {
  if (device == nullptr || !device->lost()) return;
  outbox_.End(device->hung() ? "the device is lost: a kernel does not end in time (timeout)"
                             : "the device is lost");
}

void TimelineRunner::EndDispatches(ContextObject& context, uint32_t count, uint64_t submitted_ns,
                                   bool ok) {
  if (count == 0) return;
  const uint64_t now_ns = MonotonicNs();
  for (uint32_t i = 0; i < count; ++i) {
    const DispatchesInFlight::Entry entry = context.in_flight->Take();
    const Error* error = entry.outcome->error();
    TraceDispatch(entry, submitted_ns, now_ns, ok && error == nullptr);
    if (ok && error == nullptr) {
      metrics_.Complete((now_ns - entry.accepted_ns) / 1000);
    } else if (error != nullptr && error->cause() == Cause::kQuota &&
               entry.outcome->failed_itself()) {
      metrics_.Stop();
    } else {
      metrics_.Fail();
    }
  }
}

void TimelineRunner::LoseContext(ContextObject& context, const Error& error) {
  if (context.error) return;
  LogError("context ({}) is lost: {}", context.handle.index, error.ToString());
  context.error = error;
  // Told first: a device that hangs may never let go of the timeline.
  outbox_.Send(ipc::ContextLost{context.handle, error.message()});
  context.bindings.Invalidate(error);
  CloseTimeline(context);
}

void TimelineRunner::Acknowledge(const PayloadSource& data) {
  acknowledged_ = std::max(acknowledged_, data.sequence());
}

// --- Contexts -----------------------------------------------------------------------------------

Status TimelineRunner::OpenContext(ContextObject& context) {
  context.device = ChooseDevice(devices_, context.options);
  if (context.device == nullptr) return NotSupportedError("no adapter can be used");
  TRY(FusionChoice::Parse(context.options.fusions));
  context.in_flight = std::make_unique<DispatchesInFlight>();
  ASSIGN_OR_RETURN(context.timeline, Timeline::Create(context.device, timeline_options_));
  return {};
}

void TimelineRunner::CreateContext(std::shared_ptr<ContextObject> context,
                                   std::optional<Error> refused) {
  Post(context, [this, context, refused = std::move(refused)] {
    // Each keeps the memory of its object.
    std::erase_if(contexts_, [](const auto& weak) { return weak.expired(); });
    contexts_.push_back(context);
    ipc::ContextCreated reply{context->handle};
    if (Status status = refused ? Status(*refused) : OpenContext(*context); !status.ok()) {
      context->error = status.error();
      reply.error = std::move(status).error();
    } else {
      reply.accelerated = context->device->adapter().accelerated;
      reply.device_name = context->device->adapter().name;
      reply.max_tensor_byte_length = context->device->max_tensor_bytes();
    }
    outbox_.Send(std::move(reply));
  });
}

void TimelineRunner::DestroyContext(std::shared_ptr<ContextObject> context,
                                    std::vector<std::shared_ptr<Object>> objects) {
  Post(context, [this, context, objects = std::move(objects)] {
    Submit(*context);
    context->bindings.Invalidate(InvalidStateError("the context was destroyed"));
    for (const auto& object : objects) {
      if (object->type != ipc::ObjectType::kTensor) continue;
      static_cast<TensorObject&>(*object).buffer = nullptr;
    }
    CloseTimeline(*context);
  });
}

// --- Tensors ------------------------------------------------------------------------------------

void TimelineRunner::CreateTensor(std::shared_ptr<TensorObject> tensor,
                                  std::optional<Error> refused) {
  Post(tensor->context, [this, tensor, error = std::move(refused)]() mutable {
    if (!error) {
      Status status = AllocateTensor(*tensor, quota_);
      if (status.ok()) status = ClearTensor(*tensor);
      if (!status.ok()) error = std::move(status).error();
    }
    if (error) {
      tensor->buffer = nullptr;
      tensor->error = error;
    }
    outbox_.Send(ipc::TensorCreated{tensor->handle, std::move(error)});
  });
}

// What a transfer of so many bytes counts for; more than a tensor has is refused later.
Load TransferOf(uint64_t bytes) { return {.bytes = std::min(bytes, limits::kTensorBytesMax)}; }

void TimelineRunner::CreateConstant(std::shared_ptr<TensorObject> tensor,
                                    std::optional<Error> refused, PayloadSource data,
                                    bool replies) {
  auto shared_data = std::make_shared<PayloadSource>(std::move(data));
  Post(
      tensor->context,
      [this, tensor, error = std::move(refused), shared_data, replies]() mutable {
        if (!error) {
          Status status = AllocateTensor(*tensor, quota_);
          // A tail shorter than a word is allocated and not written: other clients' bytes are
          // there.
          if (status.ok() && tensor->descriptor.byte_length() % 4 != 0) {
            status = ClearTensor(*tensor);
          }
          if (status.ok()) status = KeepValues(*tensor, *shared_data, constant_values_);
          if (status.ok()) status = service::WriteTensor(*tensor, *shared_data);
          if (!status.ok()) error = std::move(status).error();
        }
        Acknowledge(*shared_data);
        if (error) {
          tensor->buffer = nullptr;
          tensor->values = nullptr;
          tensor->error = error;
        }
        if (replies) outbox_.Send(ipc::TensorCreated{tensor->handle, std::move(error)});
      },
      TransferOf(shared_data->length()));
}

void TimelineRunner::DestroyTensor(std::shared_ptr<TensorObject> tensor) {
  Post(tensor->context, [tensor] {
    tensor->bindings.Invalidate(InvalidStateError("a tensor of the binding was destroyed"));
    tensor->buffer = nullptr;
    tensor->values = nullptr;
  });
}

void TimelineRunner::Discard(PayloadSource data) {
  auto shared_data = std::make_shared<PayloadSource>(std::move(data));
  Post(nullptr, [this, shared_data] { Acknowledge(*shared_data); });
}

void TimelineRunner::ResizeTensor(std::shared_ptr<TensorObject> tensor, webidl::Shape shape) {
  PostShort(tensor->context, [tensor, shape = std::move(shape)] {
    auto resized = tensor->descriptor.Resized(shape);
    // An honest client has checked it.
    if (resized.ok()) {
      tensor->current = std::move(*resized);
    } else {
      tensor->error = std::move(resized).error().AddContext("resizing the tensor");
    }
  });
}

void TimelineRunner::WriteTensor(std::shared_ptr<TensorObject> tensor, PayloadSource data) {
  auto shared_data = std::make_shared<PayloadSource>(std::move(data));
  auto write = [this, tensor, shared_data] {
    Status status = tensor->writable ? service::WriteTensor(*tensor, *shared_data)
                                     : Status(ValidationError("the tensor is not writable"));
    Acknowledge(*shared_data);
    // Whole writes heal; a tensor whose creation failed has no memory to heal.
    if (status.ok()) {
      tensor->error.reset();
    } else {
      tensor->error = std::move(status).error().AddContext("writing the tensor");
    }
  };
  const Load load = TransferOf(shared_data->length());
  if (shared_data->bytes() != nullptr) {
    PostShort(tensor->context, write, load);
  } else {
    Post(tensor->context, write, load);
  }
}

void TimelineRunner::ReadTensor(std::shared_ptr<TensorObject> tensor, uint64_t request,
                                ReadTarget target) {
  auto shared_target = std::make_shared<ReadTarget>(std::move(target));
  auto task = [this, tensor, request, shared_target] {
    auto on_end = [this, request, shared_target](Result<std::span<const std::byte>> result) {
      ipc::TensorRead reply{request};
      if (!result.ok()) {
        reply.error = std::move(result).error();
      } else if (Status stored = shared_target->Store(*result, reply.bytes); !stored.ok()) {
        reply.error = std::move(stored).error();
      } else {
        reply.length = result->size();
      }
      outbox_.Send(std::move(reply));
    };
    Status status = service::ReadTensor(*tensor, shared_target->capacity(), std::move(on_end));
    if (!status.ok()) {
      outbox_.Send(ipc::TensorRead{request, std::move(status).error()});
    }
  };
  const Load load = TransferOf(tensor->descriptor.byte_length());
  if (shared_target->capacity() <= limits::kInlinePayloadBytesMax) {
    PostShort(tensor->context, task, load);
  } else {
    Post(tensor->context, task, load);
  }
}

// --- Graphs -------------------------------------------------------------------------------------

// A builder's constants. `uploads`: what has to end before it may read it.
Result<std::vector<HeldConstant>> TakeConstants(
    BuilderObject& builder, std::vector<std::shared_ptr<const WorkOutcome>>& uploads) {
  std::vector<HeldConstant> held;
  for (const auto& constant : std::exchange(builder.constants, {})) {
    if (const Error* broken = WhyBroken(*constant)) {
      return Error(*broken).AddContext("uploading a constant of the graph");
    }
    AddPending(constant->cleared, uploads);
    AddPending(constant->written, uploads);
    if (constant->buffer == nullptr) {
      return InvalidStateError("a constant tensor of the graph was destroyed");
    }
    held.push_back({constant->buffer, constant->values});
  }
  return held;
}

void TimelineRunner::Build(std::shared_ptr<BuilderObject> builder,
                           std::shared_ptr<GraphObject> graph, std::vector<uint32_t> inputs,
                           std::vector<ipc::GraphOutput> outputs) {
  auto request =
      std::make_shared<BuildRequest>(BuildRequest{std::move(builder),
                                                  graph,
                                                  std::move(inputs),
                                                  std::move(outputs),
                                                  quota_,
                                                  nullptr,
                                                  &stopping_,
                                                  InternalError("the build has not begun"),
                                                  {},
                                                  timeline_options_});
  // Through the timeline, so that the constants' uploads are on their way before it starts.
  Post(graph->context, [this, request] {
    ContextObject& context = *request->graph->context;
    outbox_.Admit({.tasks = 1});
    if (context.timeline == nullptr) {
      request->constants = NoTimeline(context);
      return PostBuild(request);
    }
    request->constants = TakeConstants(*request->builder, request->uploads);
    request->device = context.device;
    if (request->uploads.empty()) return PostBuild(request);
    // Where uploads take the device's time, the build waits for them.
    context.has_unsubmitted_work = true;
    (void)context.timeline->Notify([this, request](bool) { PostBuild(request); }).ok();
    Submit(context);
  });
}

void TimelineRunner::PostBuild(const std::shared_ptr<BuildRequest>& request) {
  builds_.Post([this, request] {
    ipc::GraphBuilt reply = BuildGraph(*request);
    {
      std::lock_guard lock(built_mutex_);
      request->graph->built = true;
    }
    built_changed_.notify_all();
    request->builder = nullptr;
    outbox_.Send(std::move(reply));
    outbox_.Retire({.tasks = 1});
    EndIfLost(request->device.get());
  });
}

void TimelineRunner::WaitUntilBuilt(const GraphObject& graph) {
  if (!has_threads_) {
    // The build may wait for uploads.
    if (graph.context->timeline != nullptr) (void)graph.context->timeline->WaitIdle().ok();
    builds_.RunPending();
  }
  std::unique_lock lock(built_mutex_);
  built_changed_.wait(lock, [&] { return graph.built || stopping_; });
}

void TimelineRunner::DestroyGraph(std::shared_ptr<GraphObject> graph) {
  Post(graph->context,
       [graph] { graph->bindings.Invalidate(InvalidStateError("the graph was destroyed")); });
}

// --- Dispatches ---------------------------------------------------------------------------------

void TimelineRunner::CreateBinding(std::shared_ptr<BindingObject> binding,
                                   std::optional<Error> refused) {
  Post(binding->context, [this, binding, refused = std::move(refused)] {
    if (refused) {
      binding->error = refused;
      return;
    }
    binding->context->bindings.Add(binding);
    binding->graph->bindings.Add(binding);
    for (const auto* tensors : {&binding->inputs, &binding->outputs}) {
      for (const auto& tensor : *tensors) {
        if (tensor != nullptr) tensor->bindings.Add(binding);
      }
    }
    // Ahead of the first dispatch where that costs no waiting; what fails here fails again there.
    const GraphObject& graph = *binding->graph;
    if (!graph.built || graph.error || binding->context->timeline == nullptr) return;
    // Shapes are known once it is dispatched.
    if (IsDynamic(*binding)) return;
    if (Status status = PrepareBinding(*binding, quota_, builds_, &stopping_); !status.ok()) {
      LogDebug("a binding cannot be dispatched: {}", status.error().ToString());
    }
  });
}

void TimelineRunner::DestroyBinding(std::shared_ptr<BindingObject> binding) {
  Post(binding->context, [binding] {
    binding->prepared = nullptr;
    binding->recordings.clear();
    binding->plan_ahead = nullptr;
  });
}

Status TimelineRunner::RunDispatch(BindingObject& binding, uint64_t accepted_ns) {
  ContextObject& context = *binding.context;
  const GraphObject& graph = *binding.graph;
  if (!graph.built) {
    // What came before, such as a read, does not wait for the build.
    OnDrained();
    WaitUntilBuilt(graph);
  }
  if (!graph.built) return InvalidStateError("the session ends");
  if (context.timeline == nullptr) return NoTimeline(context);
  if (graph.error) return *graph.error;
  if (binding.error) return *binding.error;
  // A plain dispatch.
  if (binding.handle == ipc::Handle{}) TRY(CheckTensorsDiffer(binding));
  if (binding.prepared == nullptr || IsDynamic(binding)) {
    TRY(PrepareBinding(binding, quota_, builds_, &stopping_));
  }
  std::vector<std::shared_ptr<const WorkOutcome>> sources;
  for (size_t i = 0; i < binding.inputs.size(); ++i) {
    const TensorObject& input = *binding.inputs[i];
    if (const Error* broken = WhyBroken(input)) {
      return Error(*broken).AddContext("using it as the input (" + graph.inputs[i].name + ")");
    }
    AddPending(input.cleared, sources);
    AddPending(input.written, sources);
  }
  for (const auto& output : binding.outputs) AddPending(output->cleared, sources);
  auto outcome = std::make_shared<WorkOutcome>(std::move(sources));
  context.has_unsubmitted_work = true;
  TRY(context.timeline->Dispatch(binding.prepared, outcome));
  for (const auto& output : binding.outputs) output->written = outcome;
  context.in_flight->Add({accepted_ns, graph.handle.index, graph.kernel_count, outcome});
  ++context.dispatches_to_end;
  if (!IsDynamic(binding)) binding.replays = true;
  return {};
}

void TimelineRunner::Dispatch(std::shared_ptr<BindingObject> binding) {
  metrics_.Accept();
  auto task = [this, binding, accepted_ns = MonotonicNs()] {
    TraceScope scope("record");
    scope.Add("graph", binding->graph->handle.index);
    Status status = RunDispatch(*binding, accepted_ns);
    if (!status.ok()) {
      metrics_.Fail();
      Poison(binding->outputs, std::move(status).error().AddContext("dispatching the graph"));
      return;
    }
    // A dispatch writes its outputs whole.
    for (const auto& tensor : binding->outputs) tensor->error.reset();
  };
  if (binding->replays) {
    PostShort(binding->context, task, {.dispatches = 1});
  } else {
    Post(binding->context, task, {.dispatches = 1});
  }
}

}  // namespace webnnd::service

// TimelineRunner: what runs on a session's timeline thread, and the build thread beside it.
#ifndef WEBNND_SERVICE_SESSION_TIMELINE_RUNNER_H_
#define WEBNND_SERVICE_SESSION_TIMELINE_RUNNER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "ipc/messages.h"
#include "service/session/metrics.h"
#include "service/session/objects.h"
#include "service/session/outbox.h"
#include "service/session/payload.h"
#include "service/session/work_queue.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

struct BuildRequest;

// Writes, dispatches and reads take effect in the order of the calls below, which the I/O thread
// makes; each returns at once. An error that no reply carries poisons the tensors that the
// operation would have written.
class TimelineRunner {
 public:
  // `devices`: those that contexts may be made on, in order of preference.
  // Without threads of its own, it works inside RunPending.
  TimelineRunner(std::vector<std::shared_ptr<Device>> devices, std::shared_ptr<DeviceQuota> quota,
                 const TimelineOptions& timeline_options, Outbox& outbox, SessionMetrics& metrics,
                 bool has_threads = true);
  // Drops what waits, and returns when no thread of it runs any more: a build ends before its next
  // pipeline, a dispatch before its next submission.
  ~TimelineRunner();

  void RunPending();
  // Ends what the I/O thread had to say at once. Where that was little, and the device has little
  // to do, it runs on the calling thread; sends and records, and waits for nothing.
  void RunShort();

  // `refused`, here and below: why it cannot be; it becomes an error object.
  void CreateContext(std::shared_ptr<ContextObject> context, std::optional<Error> refused);
  void DestroyContext(std::shared_ptr<ContextObject> context,
                      std::vector<std::shared_ptr<Object>> objects);
  void CreateTensor(std::shared_ptr<TensorObject> tensor, std::optional<Error> refused);
  // A constant: memory and contents. `replies` is false for constants of a builder.
  void CreateConstant(std::shared_ptr<TensorObject> tensor, std::optional<Error> refused,
                      PayloadSource data, bool replies);
  void DestroyTensor(std::shared_ptr<TensorObject> tensor);
  // For a payload whose target is gone: it is acknowledged in its turn.
  void Discard(PayloadSource data);
  void ResizeTensor(std::shared_ptr<TensorObject> tensor, webidl::Shape shape);
  void WriteTensor(std::shared_ptr<TensorObject> tensor, PayloadSource data);
  void ReadTensor(std::shared_ptr<TensorObject> tensor, uint64_t request, ReadTarget target);
  void Build(std::shared_ptr<BuilderObject> builder, std::shared_ptr<GraphObject> graph,
             std::vector<uint32_t> inputs, std::vector<ipc::GraphOutput> outputs);
  void DestroyGraph(std::shared_ptr<GraphObject> graph);
  void CreateBinding(std::shared_ptr<BindingObject> binding, std::optional<Error> refused);
  void DestroyBinding(std::shared_ptr<BindingObject> binding);
  // A dispatch that fails poisons the outputs that are there. `binding` is the client's, or, for a
  // plain dispatch, made for this once.
  void Dispatch(std::shared_ptr<BindingObject> binding);

 private:
  using Task = std::function<void()>;
  // Runs `task` on the timeline thread for `context` (or for none); counts it, and `load` with it,
  // as in flight until the device has done what it recorded.
  void Post(std::shared_ptr<ContextObject> context, Task task, Load load = {});
  // The same for a task that takes microseconds and waits for nothing. RunShort follows.
  void PostShort(std::shared_ptr<ContextObject> context, Task task, Load load = {});
  WorkQueue::Task Counted(std::shared_ptr<ContextObject> context, Task task, Load load);
  void OnDrained();
  void Submit(ContextObject& context);
  // The oldest `count` dispatches of the context have ended.
  void EndDispatches(ContextObject& context, uint32_t count, uint64_t submitted_ns, bool ok);
  void LoseContext(ContextObject& context, const Error& error);
  // Thread-safe. nullptr: there is none.
  void EndIfLost(const Device* device);
  void Acknowledge(const PayloadSource& data);

  // Timeline thread.
  Status OpenContext(ContextObject& context);
  Status RunDispatch(BindingObject& binding, uint64_t accepted_ns);
  void PostBuild(const std::shared_ptr<BuildRequest>& request);
  void WaitUntilBuilt(const GraphObject& graph);

  std::vector<std::shared_ptr<Device>> devices_;
  std::shared_ptr<DeviceQuota> quota_;
  const std::shared_ptr<Budget> constant_values_;
  const TimelineOptions timeline_options_;
  Outbox& outbox_;
  SessionMetrics& metrics_;
  const bool has_threads_;

  // Timeline thread.
  std::vector<std::weak_ptr<ContextObject>> contexts_;
  std::unordered_set<std::shared_ptr<ContextObject>> touched_;  // Since the last drain.
  uint64_t acknowledged_ = 0;       // Sequence up to which payloads have been read.
  uint64_t acknowledged_sent_ = 0;  // As the client knows it.

  std::mutex built_mutex_;
  std::condition_variable built_changed_;
  std::atomic<bool> stopping_{false};

  // Last: their threads use what is above.
  WorkQueue builds_;
  WorkQueue timeline_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_TIMELINE_RUNNER_H_

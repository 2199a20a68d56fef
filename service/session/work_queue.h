// WorkQueue: runs tasks in order, one at a time, on a thread of its own or when its owner says so.
#ifndef WEBNND_SERVICE_SESSION_WORK_QUEUE_H_
#define WEBNND_SERVICE_SESSION_WORK_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace webnnd::service {

// Not bounded by itself: the front door admits no more than limits::kTasksInFlightMax tasks.
class WorkQueue {
 public:
  using Task = std::function<void()>;

  // `name` is the thread's. `on_drained`, if any, runs on the thread after each batch of tasks that
  // was waiting together. Without a thread of its own, tasks run inside RunPending: for tests that
  // want everything to happen in an order of theirs.
  WorkQueue(const std::string& name, Task on_drained = nullptr, bool has_thread = true);
  // Runs what is running to its end, drops what waits.
  ~WorkQueue();

  void Post(Task task);
  // The same for a task that is short: RunShort follows, on the same thread.
  void PostShort(Task task);
  // Starts what PostShort brought: here, if `here` and nothing else waits or runs, which spares the
  // way to the thread; else there.
  void RunShort(bool here);
  // Runs what waits, on the calling thread; nothing where there is a thread for it. Whether there
  // was something.
  bool RunPending();
  void Stop();

 private:
  void Run();
  // Takes what waits, and runs it with `lock` released.
  void RunTasks(std::unique_lock<std::mutex>& lock);

  Task on_drained_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool held_ = false;     // The tasks that wait are short ones, and RunShort will follow.
  bool running_ = false;  // On whichever thread.
  bool stopping_ = false;
  const bool has_thread_;
  std::thread thread_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_WORK_QUEUE_H_

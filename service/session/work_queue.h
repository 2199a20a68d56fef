// WorkQueue: a thread that runs tasks in order.
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
  // was waiting together.
  WorkQueue(const std::string& name, Task on_drained = nullptr);
  // Runs what is running to its end, drops what waits.
  ~WorkQueue();

  void Post(Task task);
  void Stop();

 private:
  void Run();

  Task on_drained_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_WORK_QUEUE_H_

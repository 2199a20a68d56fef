#include "service/session/work_queue.h"

#include <pthread.h>

#include <utility>

#include "base/trace.h"

namespace webnnd::service {

WorkQueue::WorkQueue(const std::string& name, Task on_drained, bool has_thread)
    : on_drained_(std::move(on_drained)), has_thread_(has_thread) {
  if (!has_thread_) return;
  thread_ = std::thread([this, name] {
    TraceThreadName(name);
    Run();
  });
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

WorkQueue::~WorkQueue() { Stop(); }

void WorkQueue::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;  // The thread is awake, or was woken for the first one.
  }
  changed_.notify_one();
}

void WorkQueue::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  tasks_.clear();
}

void WorkQueue::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    std::deque<Task> batch = std::exchange(tasks_, {});
    lock.unlock();
    RunBatch(std::move(batch));
    lock.lock();
  }
}

bool WorkQueue::RunPending() {
  if (has_thread_) return false;
  std::deque<Task> batch;
  {
    std::lock_guard lock(mutex_);
    batch = std::exchange(tasks_, {});
  }
  if (batch.empty()) return false;
  RunBatch(std::move(batch));
  return true;
}

void WorkQueue::RunBatch(std::deque<Task> batch) {
  for (Task& task : batch) {
    task();
    task = nullptr;  // What it holds is released in order.
  }
  if (on_drained_) on_drained_();
}

}  // namespace webnnd::service

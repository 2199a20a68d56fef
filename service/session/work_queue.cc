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
    // Else the thread was woken for the first one, or looks again when what runs has ended.
    if ((tasks_.size() > 1 && !held_) || running_) return;
    held_ = false;
  }
  changed_.notify_one();
}

void WorkQueue::PostShort(Task task) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (tasks_.empty() && !running_) held_ = true;
  tasks_.push_back(std::move(task));
}

void WorkQueue::RunShort(bool here) {
  {
    std::unique_lock lock(mutex_);
    if (!std::exchange(held_, false)) return;
    if (here) RunTasks(lock);
    if (tasks_.empty()) return;
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
    changed_.wait(lock, [this] { return stopping_ || (!tasks_.empty() && !held_ && !running_); });
    if (stopping_) return;
    RunTasks(lock);
  }
}

bool WorkQueue::RunPending() {
  if (has_thread_) return false;
  std::unique_lock lock(mutex_);
  held_ = false;
  if (tasks_.empty()) return false;
  RunTasks(lock);
  return true;
}

void WorkQueue::RunTasks(std::unique_lock<std::mutex>& lock) {
  running_ = true;
  std::deque<Task> batch = std::exchange(tasks_, {});
  lock.unlock();
  for (Task& task : batch) {
    task();
    task = nullptr;  // What it holds is released in order.
  }
  if (on_drained_) on_drained_();
  lock.lock();
  running_ = false;
}

}  // namespace webnnd::service

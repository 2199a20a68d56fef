// A pool of threads as lavapipe has one for kernel calls (Mesa's lp_cs_tpool): what they wait for,
// with which mutex, and how a task is dealt out.
#ifndef WEBNND_TESTS_BASE_FAKE_POOL_H_
#define WEBNND_TESTS_BASE_FAKE_POOL_H_

#include <pthread.h>
#include <time.h>

#include <deque>
#include <vector>

namespace webnnd {

class FakePool {
 public:
  // `begin` and `end` run on each thread when it starts, and before it ends.
  struct Hooks {
    void (*begin)(void* data) = nullptr;
    void (*end)(void* data) = nullptr;
    void* data = nullptr;
  };

  FakePool(int threads, Hooks hooks) : hooks_(hooks), threads_(threads) {
    pthread_cond_init(&new_work_, nullptr);
    for (pthread_t& thread : threads_) pthread_create(&thread, nullptr, &Work, this);
  }

  ~FakePool() {
    pthread_mutex_lock(&mutex_);
    shut_down_ = true;
    pthread_cond_broadcast(&new_work_);
    pthread_mutex_unlock(&mutex_);
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
    pthread_cond_destroy(&new_work_);
  }
  FakePool(const FakePool&) = delete;
  FakePool& operator=(const FakePool&) = delete;

  // Has the pool do work(data, 0) to work(data, count - 1), and waits for all of it, until
  // `deadline` if there is one (and then longer, all the same).
  void Run(void (*work)(void* data, int i), void* data, int count,
           const timespec* deadline = nullptr) {
    Task task{.work = work, .data = data, .count = count};
    pthread_cond_init(&task.finish, nullptr);
    pthread_mutex_lock(&mutex_);
    tasks_.push_back(&task);
    pthread_cond_broadcast(&new_work_);
    pthread_mutex_unlock(&mutex_);
    pthread_mutex_lock(&mutex_);
    while (task.finished < task.count) {
      if (deadline == nullptr) {
        pthread_cond_wait(&task.finish, &mutex_);
      } else {
        pthread_cond_timedwait(&task.finish, &mutex_, deadline);
      }
    }
    pthread_mutex_unlock(&mutex_);
    pthread_cond_destroy(&task.finish);
  }

  // Wakes one thread, for nothing.
  void Signal() {
    pthread_mutex_lock(&mutex_);
    pthread_cond_signal(&new_work_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  struct Task {
    void (*work)(void* data, int i);
    void* data;
    int count;
    int begun = 0;
    int finished = 0;
    pthread_cond_t finish;
  };

  static void* Work(void* pool) {
    static_cast<FakePool*>(pool)->Work();
    return nullptr;
  }

  void Work() {
    if (hooks_.begin != nullptr) hooks_.begin(hooks_.data);
    pthread_mutex_lock(&mutex_);
    while (true) {
      while (tasks_.empty() && !shut_down_) pthread_cond_wait(&new_work_, &mutex_);
      if (shut_down_) break;
      Task& task = *tasks_.front();
      const int first = task.begun;
      const int share = (task.count - 1) / static_cast<int>(threads_.size()) + 1;
      const int end = task.count - first < share ? task.count : first + share;
      task.begun = end;
      if (end == task.count) tasks_.pop_front();
      pthread_mutex_unlock(&mutex_);
      for (int i = first; i < end; ++i) task.work(task.data, i);
      pthread_mutex_lock(&mutex_);
      task.finished += end - first;
      if (task.finished == task.count) pthread_cond_broadcast(&task.finish);
    }
    pthread_mutex_unlock(&mutex_);
    if (hooks_.end != nullptr) hooks_.end(hooks_.data);
  }

  Hooks hooks_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t new_work_;
  std::deque<Task*> tasks_;
  bool shut_down_ = false;
  std::vector<pthread_t> threads_;
};

}  // namespace webnnd

#endif  // WEBNND_TESTS_BASE_FAKE_POOL_H_

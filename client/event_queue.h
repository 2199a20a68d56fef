// EventQueue: what ML::ProcessEvents has to do, and the descriptor that says that there is
// something.
#ifndef WEBNND_CLIENT_EVENT_QUEUE_H_
#define WEBNND_CLIENT_EVENT_QUEUE_H_

#include <deque>
#include <functional>
#include <mutex>

#include "base/unique_fd.h"

namespace webnn {

// Post is thread-safe; the rest is for the ML's thread. Its length is bounded by those who post: a
// connection stops reading beyond limits::kClientCompletionBytesMax, the API posts once per future.
class EventQueue {
 public:
  EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Whether the process had a descriptor left; without one there is nothing to poll.
  bool valid() const { return signal_.valid(); }
  // Readable while there are tasks that no Run has taken.
  int descriptor() const { return signal_.get(); }

  void Post(std::function<void()> task);
  // Runs what was posted before this call, in order. What a task posts waits for the next Run, so
  // that Run ends. May be called from a task (that is how Wait works inside a callback).
  void Run();
  // Whether a task that Run has taken waits for its turn: while a callback waits, and the Run
  // around it holds the tasks.
  bool has_taken() const { return !taken_.empty(); }
  // Blocks until Run has something to do.
  void Wait();
  // Runs until nothing is left: for the end.
  void RunAll();

 private:
  webnnd::UniqueFd signal_;
  std::mutex mutex_;
  std::deque<std::function<void()>> inbox_;  // Guarded by mutex_.
  std::deque<std::function<void()>> taken_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_EVENT_QUEUE_H_

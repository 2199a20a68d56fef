#include "client/event_queue.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/fault.h"

namespace webnn {

EventQueue::EventQueue()
    : signal_(SYS_CALL(webnnd::fault::Kind::kDescriptor, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {}

void EventQueue::Post(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(task));
  if (inbox_.size() > 1) return;  // Signalled already: the descriptor is level-triggered.
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(signal_.get(), &one, sizeof one);
}

void EventQueue::Run() {
  {
    std::lock_guard lock(mutex_);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(signal_.get(), &count, sizeof count);
    while (!inbox_.empty()) {
      taken_.push_back(std::move(inbox_.front()));
      inbox_.pop_front();
    }
  }
  while (!taken_.empty()) {
    std::function<void()> task = std::move(taken_.front());
    taken_.pop_front();
    task();
  }
}

void EventQueue::Wait() {
  if (has_taken()) return;
  pollfd entry{.fd = signal_.get(), .events = POLLIN, .revents = 0};
  while (poll(&entry, 1, -1) < 0) {
  }
}

void EventQueue::RunAll() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (inbox_.empty() && taken_.empty()) return;
    }
    Run();
  }
}

}  // namespace webnn

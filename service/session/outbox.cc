#include "service/session/outbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/fault.h"
#include "base/limits.h"

namespace webnnd::service {

Result<std::unique_ptr<Outbox>> Outbox::Create(ipc::Channel& channel, const Load& load_max) {
  UniqueFd wake(SYS_CALL(fault::Kind::kDescriptor, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)));
  if (!wake.valid()) return ErrnoError("eventfd");
  return std::unique_ptr<Outbox>(new Outbox(channel, std::move(wake), load_max));
}

void Outbox::Send(ipc::ServiceMessage message) {
  ipc::Frame frame = ipc::Encode(std::move(message));
  // Goodbye is the last message.
  std::lock_guard lock(end_mutex_);
  if (ended_) return;
  bool is_left = writer_.Write(std::move(frame));
  if (is_left || writer_.closed()) Wake();
}

void Outbox::Wake() {
  uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  (void)!write(wake_.get(), &one, sizeof(one));
}

void Outbox::ClearWake() {
  uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof(count));
}

bool Outbox::saturated() const {
  return tasks_.value >= tasks_.max || dispatches_.value >= dispatches_.max ||
         bytes_.value >= bytes_.max || writer_.pending_bytes() >= limits::kOutboxBytesMax;
}

void Outbox::End(std::string reason) {
  std::lock_guard lock(end_mutex_);
  if (ended_.exchange(true)) return;
  writer_.Write(ipc::Encode(ipc::Goodbye{std::move(reason)}));
  Wake();
}

void Outbox::Admit(const Load& load) {
  tasks_.value += load.tasks;
  dispatches_.value += load.dispatches;
  bytes_.value += load.bytes;
}

bool Outbox::Lower(Meter& meter, uint64_t by) {
  const uint64_t before = meter.value.fetch_sub(by);
  CHECK(before >= by);
  return before >= meter.max && before - by < meter.max;
}

void Outbox::Retire(const Load& load) {
  bool open = Lower(tasks_, load.tasks);
  open |= Lower(dispatches_, load.dispatches);
  open |= Lower(bytes_, load.bytes);
  if (open) Wake();
}

}  // namespace webnnd::service

#include "service/worker/control_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/limits.h"

namespace webnnd::service {
namespace {

// How soon what the line has no room for is tried again.
constexpr int kUnsentPauseMs = 20;

}  // namespace

ControlLink::Received ControlLink::Receive(ControlMessage& message) {
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary;
  header.msg_controllen = sizeof ancillary;
  ssize_t got;
  do {
    got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Received::kNothing;
  if (got != sizeof message) return Received::kGone;
  UniqueFd descriptor;
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
    descriptor.Reset(fd);
  }
  if (message.type == ControlType::kServe && descriptor.valid()) {
    clients_.push_back({message.sequence, std::move(descriptor)});
  } else if (message.type == ControlType::kTrace && descriptor.valid()) {
    trace_file_ = std::move(descriptor);
  } else if (message.type == ControlType::kImage && on_image_) {
    on_image_(message.sequence, std::move(descriptor));
  }
  return Received::kMessage;
}

ControlLink::Sent ControlLink::Send(const void* bytes, size_t size) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(size)) return Sent::kYes;
  const bool is_short = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM;
  return sent < 0 && is_short ? Sent::kNoRoom : Sent::kGone;
}

bool ControlLink::SendUnsent() {
  while (!unsent_.empty()) {
    switch (Send(&unsent_.front(), sizeof(ControlMessage))) {
      case Sent::kGone:
        return false;
      case Sent::kNoRoom:
        return true;
      case Sent::kYes:
        unsent_.pop_front();
    }
  }
  return true;
}

bool ControlLink::HasUnsent() {
  std::lock_guard lock(mutex_);
  return !unsent_.empty();
}

bool ControlLink::SendInTurn(const ControlMessage& message) {
  unsent_.push_back(message);
  return SendUnsent();
}

bool ControlLink::Answer(const ControlMessage& ping) {
  for (const auto& [client, figures] : figures_) {
    const ReportMessage report{{ControlType::kReport, client}, figures()};
    // Nobody misses a report that there is no room for.
    if (Send(&report, sizeof report) == Sent::kGone) return false;
  }
  return SendInTurn({.type = ControlType::kPong, .sequence = ping.sequence});
}

bool ControlLink::OnReadable() {
  reader_ = std::this_thread::get_id();
  ControlMessage message;
  for (;;) {
    const Received received = Receive(message);
    if (received == Received::kGone) return false;
    std::lock_guard lock(mutex_);
    if (received == Received::kNothing) return SendUnsent();
    if (message.type == ControlType::kPing && !Answer(message)) return false;
  }
}

Status ControlLink::SendReady() {
  std::lock_guard lock(mutex_);
  if (SendInTurn({.type = ControlType::kReady})) return {};
  return ErrnoError("telling the broker that the worker is ready");
}

ServedSocket ControlLink::AwaitClient(const std::function<bool()>& go_on) {
  while (clients_.empty()) {
    // Heartbeats come often enough.
    if (go_on && !go_on()) return {};
    pollfd wait{socket_.get(), POLLIN, 0};
    // What another thread leaves unsent meanwhile, the next heartbeat takes along.
    if (poll(&wait, 1, HasUnsent() ? kUnsentPauseMs : -1) < 0 && errno != EINTR) return {};
    if (!OnReadable()) return {};
  }
  ServedSocket client = std::move(clients_.front());
  clients_.pop_front();
  return client;
}

void ControlLink::ReportWith(uint32_t client, FiguresFunction figures) {
  std::lock_guard lock(mutex_);
  if (figures) {
    figures_[client] = std::move(figures);
  } else {
    figures_.erase(client);
  }
}

bool ControlLink::ReportKernel(const CompiledKernel& kernel) {
  std::lock_guard lock(mutex_);
  if (kernels_reported_ == limits::kKernelReportsMax) return false;
  const KernelMessage message{.kernel = kernel};
  // Who compiles it next reports it again.
  if (Send(&message, sizeof message) != Sent::kYes) return false;
  ++kernels_reported_;
  return true;
}

void ControlLink::SendFetch(uint32_t sequence) {
  std::lock_guard lock(mutex_);
  // Kernels do not wait in the line: behind one fetch that does, a second would have none to wait
  // for, which the broker does not expect.
  const auto waiting = std::find_if(
      unsent_.begin(), unsent_.end(),
      [](const ControlMessage& message) { return message.type == ControlType::kFetch; });
  if (waiting != unsent_.end()) {
    waiting->sequence = sequence;
    (void)SendUnsent();
    return;
  }
  // That the broker is gone shows where the line is read.
  (void)SendInTurn({.type = ControlType::kFetch, .sequence = sequence});
}

void ControlLink::SendGone(uint32_t client) {
  std::lock_guard lock(mutex_);
  // That the broker is gone shows where the line is read.
  (void)SendInTurn({.type = ControlType::kGone, .sequence = client});
}

}  // namespace webnnd::service

#include "service/worker/control_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace webnnd::service {

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
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
    UniqueFd descriptor(fd);
    if (message.type == ControlType::kServe) {
      clients_.push_back({message.sequence, std::move(descriptor)});
    } else if (message.type == ControlType::kTrace) {
      trace_file_ = std::move(descriptor);
    }
  }
  return Received::kMessage;
}

bool ControlLink::Send(const void* bytes, size_t size) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // A full socket loses a pong and nothing else; the broker has dozens of them to read by then.
  return sent == static_cast<ssize_t>(size) || (sent < 0 && errno == EAGAIN);
}

bool ControlLink::Answer(const ControlMessage& ping) {
  std::lock_guard lock(mutex_);
  for (const auto& [client, figures] : figures_) {
    const ReportMessage report{{ControlType::kReport, client}, figures()};
    if (!Send(&report, sizeof report)) return false;
  }
  const ControlMessage pong{.type = ControlType::kPong, .sequence = ping.sequence};
  return Send(&pong, sizeof pong);
}

bool ControlLink::OnReadable() {
  ControlMessage message;
  for (;;) {
    switch (Receive(message)) {
      case Received::kNothing:
        return true;
      case Received::kGone:
        return false;
      case Received::kMessage:
        break;
    }
    if (message.type == ControlType::kPing && !Answer(message)) return false;
  }
}

Status ControlLink::SendReady() {
  const ControlMessage ready{.type = ControlType::kReady};
  if (Send(&ready, sizeof ready)) return {};
  return ErrnoError("telling the broker that the worker is ready");
}

ServedSocket ControlLink::AwaitClient(const std::function<bool()>& go_on) {
  while (clients_.empty()) {
    // Heartbeats come often enough.
    if (go_on && !go_on()) return {};
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return {};
    if (wait.revents != 0 && !OnReadable()) return {};
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

void ControlLink::SendGone(uint32_t client) {
  const ControlMessage gone{.type = ControlType::kGone, .sequence = client};
  (void)Send(&gone, sizeof gone);
}

}  // namespace webnnd::service

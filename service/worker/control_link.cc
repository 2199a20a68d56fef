#include "service/worker/control_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

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
    client_.Reset(fd);
  }
  return Received::kMessage;
}

bool ControlLink::Send(const ControlMessage& message) {
  iovec part{const_cast<ControlMessage*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // A full socket loses a pong and nothing else; the broker has dozens of them to read by then.
  return sent == sizeof message || (sent < 0 && errno == EAGAIN);
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
    if (message.type == ControlType::kPing &&
        !Send({.type = ControlType::kPong, .sequence = message.sequence})) {
      return false;
    }
  }
}

Status ControlLink::SendReady() {
  if (Send({.type = ControlType::kReady})) return {};
  return ErrnoError("telling the broker that the worker is ready");
}

UniqueFd ControlLink::AwaitClient() {
  while (!client_.valid()) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return UniqueFd();
    if (wait.revents != 0 && !OnReadable()) return UniqueFd();
  }
  return std::move(client_);
}

}  // namespace webnnd::service

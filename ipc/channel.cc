// The channel over a Unix stream socket.
#include "ipc/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"

namespace webnnd::ipc {
namespace {

// Takes the descriptors out of the control data, so that none leaks whatever else is wrong.
// False when there is control data of another kind.
bool TakeDescriptors(msghdr& message, std::deque<UniqueFd>& descriptors) {
  bool only_descriptors = true;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      only_descriptors = false;
      continue;
    }
    size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
  return only_descriptors;
}

class SocketChannel final : public Channel {
 public:
  explicit SocketChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  int read_descriptor() const override { return socket_.get(); }
  int write_descriptor() const override { return socket_.get(); }

  Result<Received, BadMessage> Receive(std::span<std::byte> buffer,
                                       std::deque<UniqueFd>& descriptors) override {
    CHECK(!buffer.empty());
    if (closed_) return Received{0, ChannelState::kClosed};
    iovec piece{buffer.data(), buffer.size()};
    // The kernel never merges the descriptors of two sends into one receive.
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(limits::kDescriptorsPendingMax * sizeof(int))>
        control;
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t bytes = 0;
    do {
      bytes = SYS_CALL(fault::Kind::kReceive,
                       recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT));
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) {
      bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
      return Received{0, empty ? ChannelState::kOpen : ChannelState::kClosed};
    }
    bool only_descriptors = TakeDescriptors(message, descriptors);
    if ((message.msg_flags & MSG_CTRUNC) != 0 || !only_descriptors) {
      descriptors.clear();
      return MakeBadMessage("control data is {}",
                            only_descriptors ? "truncated" : "not a list of descriptors");
    }
    if (descriptors.size() > limits::kDescriptorsPendingMax) {
      size_t count = descriptors.size();
      descriptors.clear();
      return MakeBadMessage("more descriptors ({}) are pending than the limit ({})", count,
                            limits::kDescriptorsPendingMax);
    }
    if (bytes == 0) return Received{0, ChannelState::kClosed};
    return Received{static_cast<size_t>(bytes), ChannelState::kOpen};
  }

  Sent Send(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
    CHECK(!bytes.empty());
    CHECK(descriptors.size() <= limits::kDescriptorsPerFrameMax);
    if (closed_) return {0, ChannelState::kClosed};
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr)
        std::array<std::byte, CMSG_SPACE(limits::kDescriptorsPerFrameMax * sizeof(int))>
            control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent = 0;
    do {
      sent = SYS_CALL(fault::Kind::kSend,
                      sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return {static_cast<size_t>(sent), ChannelState::kOpen};
    // EPIPE and ECONNRESET: the other side is gone. Anything else but EAGAIN (no kernel memory, a
    // bad descriptor) cannot be waited for with poll, so it ends the channel as well.
    bool full = errno == EAGAIN || errno == EWOULDBLOCK;
    return {0, full ? ChannelState::kOpen : ChannelState::kClosed};
  }

  void Close() override {
    closed_ = true;
    // Not close(): another thread may be polling the descriptor.
    shutdown(socket_.get(), SHUT_RDWR);
  }

 private:
  UniqueFd socket_;
  // After shutdown the kernel would still hand out what had arrived before.
  std::atomic<bool> closed_ = false;
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeSocketChannel(UniqueFd socket) {
  int domain = 0;
  int type = 0;
  socklen_t domain_bytes = sizeof(domain);
  socklen_t type_bytes = sizeof(type);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_bytes) != 0 ||
      getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0 || domain != AF_UNIX ||
      type != SOCK_STREAM) {
    return ValidationError("descriptor ({}) is not a Unix stream socket", socket.get());
  }
  int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return ErrnoError("fcntl");
  }
  return std::unique_ptr<Channel>(std::make_unique<SocketChannel>(std::move(socket)));
}

}  // namespace webnnd::ipc

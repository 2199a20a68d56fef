#include "service/worker/control_message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/fault.h"

namespace webnnd::service {

Status SendWithDescriptor(int socket, const ControlMessage& message, int descriptor, int flags) {
  iovec part{const_cast<ControlMessage*>(&message), sizeof message};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary;
  header.msg_controllen = sizeof ancillary;
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  ssize_t sent;
  do {
    sent = SYS_CALL(fault::Kind::kSend, sendmsg(socket, &header, flags));
  } while (sent < 0 && errno == EINTR);
  if (sent != sizeof message) return ErrnoError("sending a descriptor");
  return {};
}

}  // namespace webnnd::service

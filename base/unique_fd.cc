#include "base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace webnnd {

void UniqueFd::Reset(int fd) {
  int old = std::exchange(fd_, fd);
  // No retry on EINTR: Linux has closed the descriptor by then.
  if (old >= 0) close(old);
}

UniqueFd UniqueFd::Duplicate() const {
  return UniqueFd(fd_ < 0 ? -1 : fcntl(fd_, F_DUPFD_CLOEXEC, 0));
}

}  // namespace webnnd

// The sockets by which clients reach the daemon.
#ifndef WEBNND_SERVICE_BROKER_SOCKET_H_
#define WEBNND_SERVICE_BROKER_SOCKET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::service {

// A listening Unix socket at a path, mode 0600. Its file goes away with it, unless another daemon
// has replaced it.
class SocketFile {
 public:
  // InvalidState when a live daemon answers at `path`, or when something that is not a socket lies
  // there. What a dead daemon left behind is replaced.
  static Result<SocketFile> Listen(const std::string& path);

  SocketFile(SocketFile&& other) noexcept = default;
  SocketFile& operator=(SocketFile&& other) = delete;
  ~SocketFile();

  int descriptor() const { return socket_.get(); }

 private:
  SocketFile(std::string path, UniqueFd socket, dev_t device, ino_t inode)
      : path_(std::move(path)), socket_(std::move(socket)), device_(device), inode_(inode) {}

  std::string path_;
  UniqueFd socket_;
  // Which file is ours.
  dev_t device_;
  ino_t inode_;
};

// The sockets that systemd hands over (LISTEN_PID, LISTEN_FDS), close-on-exec; none when the
// variables do not address this process. Clears the variables.
std::vector<UniqueFd> TakeActivatedSockets();

// Whether `fd` listens, or is one connection. Validation error when it is no Unix stream socket.
Result<bool> IsListening(int fd);

// Whether the other end of a connection runs as our user or as root.
bool PeerIsTrusted(int fd);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_SOCKET_H_

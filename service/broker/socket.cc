#include "service/broker/socket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/fault.h"

namespace webnnd::service {
namespace {

using fault::Kind;

// Connections that wait for accept(); the broker takes them at once.
constexpr int kBacklog = 64;
constexpr int kFirstActivatedDescriptor = 3;
// systemd hands over as many as the unit lists; ours lists one.
constexpr int kActivatedMax = 16;

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  INVALID_IF(path.empty() || path.size() >= sizeof address.sun_path,
             "the path of the socket is empty or longer than {} bytes ({})",
             sizeof address.sun_path - 1, path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::string DirectoryOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<UniqueFd> NewSocket() {
  UniqueFd fd(
      SYS_CALL(Kind::kDescriptor, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!fd.valid()) return ErrnoError("socket");
  return fd;
}

// Removes what a dead daemon left at `path`; an error when a live one, or another file, is there.
Status Reclaim(const std::string& path, const sockaddr_un& address) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return ErrnoError(fmt::format("looking at {}", path));
  }
  if (!S_ISSOCK(status.st_mode)) {
    return InvalidStateError("a file that is not a socket is in the way ({})", path);
  }
  ASSIGN_OR_RETURN(UniqueFd probe, NewSocket());
  int connected = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // EAGAIN: its queue is full, so it is alive.
  if (connected == 0 || errno == EAGAIN) {
    return InvalidStateError("another daemon listens already ({})", path);
  }
  if (errno != ECONNREFUSED) return ErrnoError(fmt::format("probing {}", path));
  if (unlink(path.c_str()) != 0) return ErrnoError(fmt::format("removing the dead {}", path));
  return {};
}

Status BindPrivately(int fd, const sockaddr_un& address) {
  // The mode is right from the first moment, not after a chmod.
  mode_t old = umask(0177);
  int bound =
      SYS_CALL(Kind::kFile, bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  umask(old);
  if (bound != 0) return ErrnoError(fmt::format("binding {}", address.sun_path));
  if (SYS_CALL(Kind::kDescriptor, listen(fd, kBacklog)) != 0) {
    Error error = ErrnoError("listen");
    unlink(address.sun_path);
    return error;
  }
  return {};
}

int NumberFromEnvironment(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return 0;
  std::string_view view = text;
  int value = 0;
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc() && end == view.data() + view.size() ? value : 0;
}

Result<int> IntegerOption(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  if (getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0) {
    return ValidationError("the descriptor is not a socket ({})", fd);
  }
  return value;
}

}  // namespace

Result<SocketFile> SocketFile::Listen(const std::string& path) {
  ASSIGN_OR_RETURN(sockaddr_un address, AddressOf(path));
  std::string directory = DirectoryOf(path);
  // Two daemons that start at once must not remove each other's fresh socket.
  UniqueFd lock(
      SYS_CALL(Kind::kDescriptor, open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!lock.valid()) return ErrnoError(fmt::format("opening {}", directory));
  if (SYS_CALL(Kind::kFile, flock(lock.get(), LOCK_EX)) != 0)
    return ErrnoError(fmt::format("locking {}", directory));
  TRY(Reclaim(path, address));
  ASSIGN_OR_RETURN(UniqueFd socket, NewSocket());
  TRY(BindPrivately(socket.get(), address));
  struct stat status;
  if (SYS_CALL(Kind::kFile, lstat(path.c_str(), &status)) != 0) {
    Error error = ErrnoError(fmt::format("looking at {}", path));
    unlink(path.c_str());
    return error;
  }
  return SocketFile(path, std::move(socket), status.st_dev, status.st_ino);
}

SocketFile::~SocketFile() {
  if (!socket_.valid()) return;
  struct stat status;
  if (lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

std::vector<UniqueFd> TakeActivatedSockets() {
  std::vector<UniqueFd> sockets;
  if (NumberFromEnvironment("LISTEN_PID") == getpid()) {
    int count = NumberFromEnvironment("LISTEN_FDS");
    for (int i = 0; i < count && i < kActivatedMax; ++i) {
      int fd = kFirstActivatedDescriptor + i;
      if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) sockets.emplace_back(fd);
    }
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  return sockets;
}

Result<bool> IsListening(int fd) {
  ASSIGN_OR_RETURN(int domain, IntegerOption(fd, SO_DOMAIN));
  ASSIGN_OR_RETURN(int type, IntegerOption(fd, SO_TYPE));
  INVALID_IF(domain != AF_UNIX || type != SOCK_STREAM,
             "the descriptor is not a Unix stream socket ({})", fd);
  ASSIGN_OR_RETURN(int listening, IntegerOption(fd, SO_ACCEPTCONN));
  return listening != 0;
}

bool PeerIsTrusted(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (SYS_CALL(Kind::kReceive, getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length)) != 0) {
    return false;
  }
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace webnnd::service

#include "tests/support/socket_host.h"

#include <sys/socket.h>

#include "base/unique_fd.h"

namespace webnnd::service {

Result<std::unique_ptr<ipc::Channel>> SocketHost::Connect() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return ErrnoError("pair");
  UniqueFd ours(pair[0]), theirs(pair[1]);
  ASSIGN_OR_RETURN(auto channel, ipc::MakeSocketChannel(std::move(theirs)));
  ASSIGN_OR_RETURN(auto session, Session::Create(std::move(channel), {.devices = {device_}}));
  std::lock_guard lock(mutex_);
  sessions_.insert(session.get());
  threads_.emplace_back([this, session = std::move(session)]() mutable {
    session->Run();
    {
      std::lock_guard lock(mutex_);
      sessions_.erase(session.get());
      served_ += session->Figures().dispatches;
    }
    session = nullptr;
  });
  return ipc::MakeSocketChannel(std::move(ours));
}

std::vector<ClientFigures> SocketHost::Figures() {
  std::lock_guard lock(mutex_);
  std::vector<ClientFigures> figures;
  for (const Session* session : sessions_) figures.push_back(session->Figures());
  return figures;
}

void SocketHost::AwaitAll() {
  for (std::thread& thread : std::exchange(threads_, {})) thread.join();
}

uint64_t SocketHost::served() {
  std::lock_guard lock(mutex_);
  return served_;
}

}  // namespace webnnd::service

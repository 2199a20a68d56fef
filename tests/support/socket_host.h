// SocketHost: sessions on threads of this process, at the other ends of real sockets.
#ifndef WEBNND_TESTS_SUPPORT_SOCKET_HOST_H_
#define WEBNND_TESTS_SUPPORT_SOCKET_HOST_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/client_figures.h"
#include "base/result.h"
#include "ipc/channel.h"
#include "service/session/session.h"

namespace webnnd::service {

// Thread-safe.
class SocketHost : public ipc::InProcessService {
 public:
  explicit SocketHost(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~SocketHost() override { AwaitAll(); }

  Result<std::unique_ptr<ipc::Channel>> Connect() override;

  // Of the sessions that live, as a worker reports them to its broker.
  std::vector<ClientFigures> Figures();
  // Returns when all sessions have ended; no other connects meanwhile.
  void AwaitAll();
  // Dispatches of the sessions that have ended.
  uint64_t served();

 private:
  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::set<const Session*> sessions_;
  uint64_t served_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_SOCKET_HOST_H_

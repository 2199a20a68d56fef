// InProcessHost: sessions in this process, over memory channels. For tests and debugging: no
// sandbox.
#ifndef WEBNND_SERVICE_SESSION_IN_PROCESS_H_
#define WEBNND_SERVICE_SESSION_IN_PROCESS_H_

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ipc/channel.h"
#include "service/session/session.h"

namespace webnnd::service {

// Each connection is served by a thread of its own. Thread-safe.
class InProcessHost : public ipc::InProcessService {
 public:
  explicit InProcessHost(SessionOptions options) : options_(std::move(options)) {}
  // Waits for the sessions: clients must have closed their ends.
  ~InProcessHost() override;

  Result<std::unique_ptr<ipc::Channel>> Connect() override;

 private:
  SessionOptions options_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_IN_PROCESS_H_

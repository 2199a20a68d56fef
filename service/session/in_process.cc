#include "service/session/in_process.h"

#include <utility>

namespace webnnd::service {

InProcessHost::~InProcessHost() {
  for (std::thread& thread : threads_) thread.join();
}

Result<std::unique_ptr<ipc::Channel>> InProcessHost::Connect() {
  ASSIGN_OR_RETURN(auto channels, ipc::MakeMemoryChannelPair());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                   Session::Create(std::move(channels.second), options_));
  std::lock_guard lock(mutex_);
  threads_.emplace_back([session = std::move(session)] { session->Run(); });
  return std::move(channels.first);
}

}  // namespace webnnd::service

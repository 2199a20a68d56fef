#include "tools/benchmarks/measured_service.h"

#include <unistd.h>

#include "service/vulkan/open_devices.h"
#include "tools/benchmarks/must.h"

namespace webnnd::benchmarks {

std::string BesideThisProgram(const char* name) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/') + 1) + name;
}

MeasuredService::MeasuredService(bool in_process) {
  if (in_process) {
    host_ = std::make_unique<service::InProcessHost>(
        service::SessionOptions{.devices = Must(service::OpenDevices({}, {}))});
  } else {
    daemon_.emplace(Must(Daemon::Start(BesideThisProgram("webnnd"), {})));
  }
}

webnn::Connect MeasuredService::Connect() const {
  return host_ != nullptr ? webnn::Connect::InProcess(*host_)
                          : webnn::Connect::ToSocket(daemon_->socket());
}

}  // namespace webnnd::benchmarks

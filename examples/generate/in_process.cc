#include "examples/generate/in_process.h"

#include <utility>

#include "service/session/in_process.h"
#include "service/vulkan/open_devices.h"

namespace webnnd::generate {

struct InProcess::Host {
  explicit Host(service::SessionOptions options) : service(std::move(options)) {}
  service::InProcessHost service;
};

InProcess::InProcess() = default;
InProcess::~InProcess() = default;

Result<webnn::Connect> InProcess::Start() {
  ASSIGN_OR_RETURN(auto devices, service::OpenDevices({}, {}));
  host_ = std::make_unique<Host>(service::SessionOptions{.devices = std::move(devices)});
  return webnn::Connect::InProcess(host_->service);
}

}  // namespace webnnd::generate

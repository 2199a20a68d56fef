#include "service/vulkan/open_devices.h"

#include <algorithm>
#include <string>
#include <utility>

namespace webnnd::service {
namespace {

Result<std::shared_ptr<Device>> OpenAndWarmUp(uint32_t index, const DeviceOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<Device> device, Device::Open(index, options));
  TRY_DOING(device->WarmUp(), "warming up the adapter ({})", device->adapter().name);
  return device;
}

Result<std::vector<uint32_t>> ChooseAll(const DeviceOptions& options) {
  ASSIGN_OR_RETURN(std::vector<AdapterInfo> adapters, ListAdapters(options));
  std::stable_partition(adapters.begin(), adapters.end(),
                        [](const AdapterInfo& adapter) { return adapter.accelerated; });
  std::vector<uint32_t> usable;
  std::string reasons;
  for (const AdapterInfo& adapter : adapters) {
    if (adapter.missing.empty()) {
      usable.push_back(adapter.index);
    } else {
      reasons += "; " + adapter.name + " " + adapter.missing;
    }
  }
  if (usable.empty()) {
    return NotSupportedError("no Vulkan adapter can be used ({} found{})", adapters.size(),
                             reasons);
  }
  return usable;
}

}  // namespace

Result<std::vector<std::shared_ptr<Device>>> OpenDevices(std::span<const uint32_t> indices,
                                                         const DeviceOptions& options) {
  std::vector<uint32_t> chosen(indices.begin(), indices.end());
  if (chosen.empty()) {
    ASSIGN_OR_RETURN(chosen, ChooseAll(options));
  }
  std::vector<std::shared_ptr<Device>> devices;
  for (uint32_t index : chosen) {
    ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenAndWarmUp(index, options));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace webnnd::service

// OpenDevices: the devices that sessions may use, from adapter indices.
#ifndef WEBNND_SERVICE_VULKAN_OPEN_DEVICES_H_
#define WEBNND_SERVICE_VULKAN_OPEN_DEVICES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

// Opens and warms up the adapters of these indices; with none given, all that can be used, GPUs
// first. NotSupported, naming what each lacks, when that leaves nothing or a given one cannot be
// used.
Result<std::vector<std::shared_ptr<Device>>> OpenDevices(std::span<const uint32_t> indices,
                                                         const DeviceOptions& options);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_OPEN_DEVICES_H_

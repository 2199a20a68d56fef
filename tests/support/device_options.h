// TestDeviceOptions: how tests open devices. WEBNND_TEST_DISABLED_FEATURES (names separated by
// commas) runs a test program once more on a lesser device.
#ifndef WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_
#define WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "service/vulkan/device.h"

namespace webnnd::service {

inline DeviceOptions TestDeviceOptions() {
  DeviceOptions options{.validation = true};
  const char* names = std::getenv("WEBNND_TEST_DISABLED_FEATURES");
  std::istringstream stream(names == nullptr ? "" : names);
  for (std::string name; std::getline(stream, name, ',');) {
    options.disabled_features.push_back(name);
  }
  return options;
}

// Whether what runs is what runs on GPUs.
inline bool TestsGpuKernels() {
  const std::vector<std::string> disabled = TestDeviceOptions().disabled_features;
  return std::find(disabled.begin(), disabled.end(), "cores") != disabled.end();
}

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_

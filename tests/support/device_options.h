// TestDeviceOptions: how tests open devices. WEBNND_TEST_DISABLED_FEATURES (names separated by
// commas) runs a test program once more on a lesser device.
#ifndef WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_
#define WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_

#include <cstdlib>
#include <sstream>
#include <string>

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

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_DEVICE_OPTIONS_H_

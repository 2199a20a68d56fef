// Instance: a VkInstance, with the validation layer on request.
#ifndef WEBNND_SERVICE_VULKAN_INSTANCE_H_
#define WEBNND_SERVICE_VULKAN_INSTANCE_H_

#include <vulkan/vulkan.h>

#include <cstdint>
#include <memory>

#include "base/result.h"

namespace webnnd::service {

class Instance {
 public:
  // NotSupported without Vulkan 1.2, or where validation is asked for and the layer is missing.
  static Result<std::shared_ptr<Instance>> Create(bool validation);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance get() const { return instance_; }

  // Warnings and errors of the validation layers, of all instances of this process.
  static uint64_t ValidationMessageCount();

 private:
  Instance() = default;
  Status CreateMessenger();

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_INSTANCE_H_

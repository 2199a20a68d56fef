#include "service/vulkan/instance.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<uint64_t> validation_messages{0};

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  ++validation_messages;
  LogLine(severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? LogLevel::kError
                                                                    : LogLevel::kWarning,
          data->pMessage);
  return VK_FALSE;
}

Result<bool> HasLayer(const char* name) {
  uint32_t count = 0;
  VK_TRY(nullptr, vkEnumerateInstanceLayerProperties(&count, nullptr));
  std::vector<VkLayerProperties> layers(count);
  VK_TRY(nullptr, vkEnumerateInstanceLayerProperties(&count, layers.data()));
  layers.resize(count);
  return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, name) == 0;
  });
}

template <class Function>
Function Load(VkInstance instance, const char* name) {
  return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

#ifdef WEBNND_SANITIZERS
// Drivers and layers lose what their globals point to when the loader unloads them with the last
// instance: LeakSanitizer blames whoever is running, and ThreadSanitizer ends a program that
// unloads what it suppresses. So one instance of each kind stays for good.
VkInstance MakeInstanceToKeep(bool validation) {
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.enabledLayerCount = validation ? 1 : 0;
  info.ppEnabledLayerNames = &kValidationLayer;
  VkInstance instance = VK_NULL_HANDLE;
  (void)vkCreateInstance(&info, nullptr, &instance);
  return instance;
}
void KeepLoaded(bool validation) {
  [[maybe_unused]] static const VkInstance drivers = MakeInstanceToKeep(false);
  if (!validation) return;
  [[maybe_unused]] static const VkInstance layers = MakeInstanceToKeep(true);
}
#else
void KeepLoaded(bool) {}
#endif

}  // namespace

Result<std::shared_ptr<Instance>> Instance::Create(bool validation) {
  KeepLoaded(validation);
  if (validation) {
    ASSIGN_OR_RETURN(bool present, HasLayer(kValidationLayer));
    if (!present) return NotSupportedError("the layer is not installed ({})", kValidationLayer);
  }
  uint32_t version = VK_API_VERSION_1_0;
  VK_TRY(nullptr, vkEnumerateInstanceVersion(&version));
  if (version < VK_API_VERSION_1_2) {
    return NotSupportedError("the Vulkan loader is older than 1.2 (1.{})",
                             VK_API_VERSION_MINOR(version));
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "webnnd";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  if (validation) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  std::shared_ptr<Instance> instance(new Instance());
  VK_TRY(nullptr, vkCreateInstance(&info, nullptr, &instance->instance_));
  if (validation) TRY(instance->CreateMessenger());
  return instance;
}

Status Instance::CreateMessenger() {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Not the loader's own messages: they tell of other drivers of the machine.
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = OnMessage;
  auto create =
      Load<PFN_vkCreateDebugUtilsMessengerEXT>(instance_, "vkCreateDebugUtilsMessengerEXT");
  if (create == nullptr) return NotSupportedError("the Vulkan loader has no debug messenger");
  VK_TRY(nullptr, create(instance_, &info, nullptr, &messenger_));
  return {};
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) {
    Load<PFN_vkDestroyDebugUtilsMessengerEXT>(instance_, "vkDestroyDebugUtilsMessengerEXT")(
        instance_, messenger_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
}

uint64_t Instance::ValidationMessageCount() { return validation_messages.load(); }

}  // namespace webnnd::service

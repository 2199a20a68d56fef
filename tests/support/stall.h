// Stall: keeps a device from beginning anything until it goes.
#ifndef WEBNND_TESTS_SUPPORT_STALL_H_
#define WEBNND_TESTS_SUPPORT_STALL_H_

#include <gtest/gtest.h>

#include <utility>

#include "service/vulkan/device_impl.h"

namespace webnnd::service {

class Stall {
 public:
  explicit Stall(Device& device) : device_(device.impl()), semaphore_(device_.get()) {
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
    EXPECT_EQ(vkCreateSemaphore(device_.get(), &info, nullptr, semaphore_.out()), VK_SUCCESS);
    const uint64_t value = 1;
    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    values.waitSemaphoreValueCount = 1;
    values.pWaitSemaphoreValues = &value;
    const VkSemaphore semaphore = semaphore_.get();
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
    submit.waitSemaphoreCount = 1;
    submit.pWaitSemaphores = &semaphore;
    submit.pWaitDstStageMask = &stage;
    EXPECT_TRUE(device_.logical().Submit(submit, VK_NULL_HANDLE).ok());
  }
  ~Stall() {
    Release();
    device_.logical().WaitIdleBeforeRelease();
  }
  void Release() {
    if (std::exchange(released_, true)) return;
    VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
    signal.semaphore = semaphore_.get();
    signal.value = 1;
    EXPECT_EQ(vkSignalSemaphore(device_.get(), &signal), VK_SUCCESS);
  }

 private:
  DeviceImpl& device_;
  UniqueSemaphore semaphore_;
  bool released_ = false;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_STALL_H_

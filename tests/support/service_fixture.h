// ServiceTest: a service in this process, on the device of the test program with validation layers.
#ifndef WEBNND_TESTS_SUPPORT_SERVICE_FIXTURE_H_
#define WEBNND_TESTS_SUPPORT_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/webnn.h"
#include "service/session/in_process.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

// Each test gets a host of its own; all share one device, which TestDevice() of kernel_runner.h
// opens. When a test ends, all sessions are over, the device holds as many bytes as before, and the
// validation layers have said nothing.
class ServiceTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Limits of the sessions that begin from now on; for SetUp of a derived class, before it calls
  // this one.
  void set_quota(const Quota& quota) { quota_ = quota; }

  InProcessHost& host() { return *host_; }
  Device& device() { return *device_; }
  // A client on the host, made at the first call.
  webnn::ML& ml();
  std::shared_ptr<webnn::Context> MakeContext(const webnn::ContextOptions& options = {});
  // Closes the client: its session ends.
  void CloseClient() { ml_.reset(); }

  // A readable and writable tensor that holds `bytes`.
  std::shared_ptr<webnn::Tensor> MakeTensor(webnn::Context& context,
                                            const webidl::OperandDescriptor& descriptor,
                                            std::span<const std::byte> bytes = {});
  // Bytes on the device that were not there when the test began.
  int64_t DeviceBytesMore() const;

 private:
  std::shared_ptr<Device> device_;
  Quota quota_;
  uint64_t bytes_before_ = 0;
  uint64_t messages_before_ = 0;
  std::unique_ptr<InProcessHost> host_;
  std::unique_ptr<webnn::ML> ml_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_SERVICE_FIXTURE_H_

#include "tests/support/service_fixture.h"

#include <utility>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {

void ServiceTest::SetUp() {
  device_ = TestDevice();
  bytes_before_ = device_->bytes_in_use();
  messages_before_ = Device::ValidationMessageCount();
  host_ = std::make_unique<InProcessHost>(SessionOptions{.devices = {device_}, .quota = quota_});
}

void ServiceTest::TearDown() {
  ml_.reset();
  host_.reset();
  EXPECT_EQ(DeviceBytesMore(), 0);
  EXPECT_EQ(Device::ValidationMessageCount(), messages_before_);
}

int64_t ServiceTest::DeviceBytesMore() const {
  return static_cast<int64_t>(device_->bytes_in_use()) - static_cast<int64_t>(bytes_before_);
}

webnn::ML& ServiceTest::ml() {
  if (ml_ == nullptr) ml_ = std::make_unique<webnn::ML>(webnn::Connect::InProcess(*host_));
  return *ml_;
}

std::shared_ptr<webnn::Context> ServiceTest::MakeContext(const webnn::ContextOptions& options) {
  auto context = ml().Wait(ml().CreateContext(options));
  EXPECT_TRUE(context.ok()) << context.error().ToString();
  return context.ok() ? *context : nullptr;
}

std::shared_ptr<webnn::Tensor> ServiceTest::MakeTensor(webnn::Context& context,
                                                       const webidl::OperandDescriptor& descriptor,
                                                       std::span<const std::byte> bytes) {
  auto tensor = ml().Wait(context.CreateTensor({.data_type = descriptor.data_type(),
                                                .shape = descriptor.shape(),
                                                .readable = true,
                                                .writable = true}));
  EXPECT_TRUE(tensor.ok()) << tensor.error().ToString();
  if (!tensor.ok()) return nullptr;
  if (!bytes.empty()) {
    auto written = context.WriteTensor(**tensor, bytes);
    EXPECT_TRUE(written.ok()) << written.error().ToString();
  }
  return *tensor;
}

}  // namespace webnnd::service

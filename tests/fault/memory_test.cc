// What a client leaves behind in a daemon, the next ones must not find; and what a driver leaves
// behind in a worker.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "tests/fault/daemon_process.h"

namespace webnnd {
namespace {

using webnn::OperandDataType;

constexpr uint32_t kTensorBytes = 6 << 20;
constexpr int kTensors = 8;

class Client {
 public:
  explicit Client(const std::string& socket) : ml_(webnn::Connect::ToSocket(socket)) {
    auto context = ml_.Wait(ml_.CreateContext());
    EXPECT_TRUE(context.ok()) << context.error().ToString();
    if (context.ok()) context_ = *context;
  }

  std::shared_ptr<webnn::Tensor> MakeTensor() {
    auto tensor = ml_.Wait(context_->CreateTensor(
        {OperandDataType::kUint8, {kTensorBytes}, /*readable=*/true, /*writable=*/true}));
    EXPECT_TRUE(tensor.ok()) << tensor.error().ToString();
    return *tensor;
  }

  const std::string& device_name() const { return context_->device_name(); }

  void FillTensors() {
    const std::vector<std::byte> secret(kTensorBytes, std::byte{0xa5});
    for (int i = 0; i < kTensors; ++i) {
      tensors_.push_back(MakeTensor());
      ASSERT_TRUE(context_->WriteTensor(*tensors_.back(), secret).ok());
    }
    auto bytes = ml_.Wait(context_->ReadTensor(*tensors_.back()));
    ASSERT_TRUE(bytes.ok());
    ASSERT_EQ(*bytes, secret);
  }

  // Bytes in new tensors that are not 0.
  size_t CountWhatIsThere() {
    size_t count = 0;
    for (int i = 0; i < kTensors; ++i) {
      tensors_.push_back(MakeTensor());
      auto bytes = ml_.Wait(context_->ReadTensor(*tensors_.back()));
      EXPECT_TRUE(bytes.ok());
      if (!bytes.ok()) return count;
      EXPECT_EQ(bytes->size(), kTensorBytes);
      count += bytes->size() -
               static_cast<size_t>(std::count(bytes->begin(), bytes->end(), std::byte{}));
    }
    return count;
  }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::vector<std::shared_ptr<webnn::Tensor>> tensors_;
};

void ExpectMemoryOfOneIsNotSeenByOthers(std::vector<std::string> options) {
  DaemonProcess daemon(std::move(options));
  auto first = std::make_unique<Client>(daemon.socket());
  first->FillTensors();
  EXPECT_EQ(Client(daemon.socket()).CountWhatIsThere(), 0u);
  first.reset();
  EXPECT_EQ(Client(daemon.socket()).CountWhatIsThere(), 0u);
}

TEST(DaemonMemory, OfOneClient_IsNotSeenByTheNextNorBesideIt) {
  ExpectMemoryOfOneIsNotSeenByOthers({});
}

// All in one worker, on one device.
TEST(DaemonMemory, OfOneClientOfASharedWorker_IsNotSeenByTheNextNorBesideIt) {
  ExpectMemoryOfOneIsNotSeenByOthers({"--isolation", "shared"});
}

// Of files, in MiB: the program's and its libraries' pages.
uint64_t ResidentOfFiles(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoull(line.substr(8)) >> 10;
  }
  ADD_FAILURE() << "the system does not say";
  return 0;
}

TEST(DaemonMemory, LibrariesOfTheDriver_AreNotKept) {
#ifdef WEBNND_SANITIZERS
  GTEST_SKIP() << "a sanitizer's program is larger than the driver";
#endif
  DaemonProcess daemon({});
  const Client client(daemon.socket());
  if (client.device_name().find("llvmpipe") == std::string::npos) {
    GTEST_SKIP() << "only lavapipe compiles with LLVM";
  }
  // 46 MiB where they are, 11 where not.
  const std::vector<pid_t> workers = daemon.Workers();
  EXPECT_FALSE(workers.empty());
  for (pid_t worker : workers) EXPECT_LT(ResidentOfFiles(worker), 30u);
}

}  // namespace
}  // namespace webnnd

// Fails the n-th call of a client's whole life, once and for ever, for n = 1, 2, ... until nothing
// fails any more: client and session over a real socket, and the device under them. Each time what
// comes back is an error or the right values, nothing is left behind, another client has not
// noticed, and a new one works.
//
// `--every-call` fails each of them also where that takes long.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fault.h"
#include "base/log.h"
#include "client/webnn.h"
#include "ipc/channel.h"
#include "ipc/shared_memory.h"
#include "service/vulkan/device_impl.h"
#include "service/vulkan/fault.h"
#include "service/vulkan/handle.h"
#include "tests/support/device_options.h"
#include "tests/support/socket_host.h"

namespace webnnd {
namespace {

using service::Device;
using service::SocketHost;
using webidl::DynamicDimension;
using webidl::Shape;
using webidl::Sizes;
using webnn::OperandDataType;

using Clock = std::chrono::steady_clock;

bool every_call = false;

// Sanitized programs start several times slower; the promise is for the real ones.
#ifdef WEBNND_SANITIZERS
constexpr double kNewContextMsMax = 10000;
#else
constexpr double kNewContextMsMax = 1000;
#endif

// A call that never comes back shows where.
constexpr unsigned kPatienceSeconds = 15;
char doing[200] = "nothing";

void SayWhatHangs(int) {
  (void)!write(STDERR_FILENO, doing, strlen(doing));
  (void)!write(STDERR_FILENO, ": hangs\n", 8);
  abort();
}

// --- What a client does in its life. ------------------------------------------------------------

// 8 KiB: more than travels inline.
constexpr uint32_t kLarge = 2048;

std::span<const std::byte> Bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<float> Ramp(uint32_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Status ExpectRead(webnn::ML& ml, webnn::Context& context, const webnn::Tensor& tensor,
                  const std::vector<float>& expected) {
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ml.Wait(context.ReadTensor(tensor)));
  const auto wanted = Bytes(expected);
  if (bytes.size() != wanted.size() || std::memcmp(bytes.data(), wanted.data(), bytes.size())) {
    ADD_FAILURE() << doing << ": a read answers wrong values";
  }
  return {};
}

class Life {
 public:
  Life(webnn::ML& ml, std::shared_ptr<webnn::Context> context)
      : ml_(ml), context_(std::move(context)) {}

  // Constants from all three places, a graph, a plain dispatch, and reads of both sizes.
  Status Static() {
    ASSIGN_OR_RETURN(auto x, Tensor(Shape{kLarge}));
    ASSIGN_OR_RETURN(auto y, Tensor(Shape{kLarge}));
    const std::vector<float> in_arena = Ramp(kLarge, 1);
    ASSIGN_OR_RETURN(auto shared, SharedConstant());
    webnn::GraphBuilder builder(context_);
    ASSIGN_OR_RETURN(auto a, builder.Input("x", OperandDataType::kFloat32, Shape{kLarge}));
    ASSIGN_OR_RETURN(auto b,
                     builder.Constant(OperandDataType::kFloat32, Shape{kLarge}, Bytes(in_arena)));
    ASSIGN_OR_RETURN(auto c, builder.Constant(OperandDataType::kFloat32, 2.0));
    ASSIGN_OR_RETURN(auto d, builder.Constant(*shared));
    ASSIGN_OR_RETURN(auto sum, builder.Add(a, b));
    ASSIGN_OR_RETURN(auto product, builder.Mul(sum, c));
    ASSIGN_OR_RETURN(auto result, builder.Sub(product, d));
    ASSIGN_OR_RETURN(auto graph, ml_.Wait(builder.Build({{"y", result}})));
    TRY(context_->WriteTensor(*x, Bytes(Ramp(kLarge, 0))));
    TRY(context_->Dispatch(*graph, {{"x", x}}, {{"y", y}}));
    // (i + (i + 1)) * 2 - 3
    std::vector<float> expected(kLarge);
    for (uint32_t i = 0; i < kLarge; ++i) expected[i] = static_cast<float>(2 * (2 * i + 1)) - 3;
    TRY(ExpectRead(ml_, *context_, *y, expected));
    // One tensor as input and output, twice over.
    ASSIGN_OR_RETURN(auto binding, context_->Bind(*graph, {{"x", y}}, {{"y", y}}));
    TRY(context_->Dispatch(*binding));
    TRY(context_->Dispatch(*binding));
    for (int time = 0; time < 2; ++time) {
      for (uint32_t i = 0; i < kLarge; ++i) {
        expected[i] = (expected[i] + static_cast<float>(i + 1)) * 2 - 3;
      }
    }
    TRY(ExpectRead(ml_, *context_, *y, expected));
    binding->Destroy();
    graph->Destroy();
    x->Destroy();
    return {};
  }

  // Names for sizes, and tensors that change theirs.
  Status Dynamic() {
    const std::vector<webidl::Dimension> sizes{DynamicDimension{"n", 64, 1}};
    ASSIGN_OR_RETURN(auto x, Tensor(Sizes(sizes)));
    ASSIGN_OR_RETURN(auto y, Tensor(Sizes(sizes)));
    webnn::GraphBuilder builder(context_);
    ASSIGN_OR_RETURN(auto a, builder.Input("x", OperandDataType::kFloat32, sizes));
    ASSIGN_OR_RETURN(auto one, builder.Constant(OperandDataType::kFloat32, 1.0));
    ASSIGN_OR_RETURN(auto sum, builder.Add(a, one));
    ASSIGN_OR_RETURN(auto graph, ml_.Wait(builder.Build({{"y", sum}})));
    ASSIGN_OR_RETURN(auto binding, context_->Bind(*graph, {{"x", x}}, {{"y", y}}));
    for (uint32_t size : {5u, 60u}) {
      TRY(x->Resize({size}));
      TRY(context_->WriteTensor(*x, Bytes(Ramp(size, 0))));
      TRY(context_->Dispatch(*binding));
      TRY(ExpectRead(ml_, *context_, *y, Ramp(size, 1)));
    }
    return {};
  }

 private:
  Result<std::shared_ptr<webnn::Tensor>> Tensor(const Sizes& shape) {
    return ml_.Wait(context_->CreateTensor({.data_type = OperandDataType::kFloat32,
                                            .shape = shape,
                                            .readable = true,
                                            .writable = true}));
  }

  // 3 everywhere, from memory of its own.
  Result<std::shared_ptr<webnn::Tensor>> SharedConstant() {
    const std::vector<float> threes(kLarge, 3.0f);
    const size_t bytes = kLarge * sizeof(float);
    // Not a place of faults: an embedder's own.
    UniqueFd file(memfd_create("test-constant", MFD_CLOEXEC));
    if (write(file.get(), threes.data(), bytes) != static_cast<ssize_t>(bytes)) {
      return ErrnoError("write");
    }
    return ml_.Wait(context_->CreateConstantTensorFromFile(OperandDataType::kFloat32, Shape{kLarge},
                                                           file.get(), 0));
  }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
};

struct Lived {
  Status status;
  std::shared_ptr<webnn::Context> context;  // nullptr: there was none.
};

Lived Live(webnn::ML& ml) {
  auto context = ml.Wait(ml.CreateContext());
  if (!context.ok()) return {context.error(), nullptr};
  Life life(ml, *context);
  Status status = life.Static();
  if (status.ok()) status = life.Dynamic();
  return {std::move(status), *context};
}

// --- What must not be left. ---------------------------------------------------------------------

struct Left {
  size_t descriptors = 0;
  size_t mappings = 0;  // Of shared memory.
  uint64_t objects = 0;
  uint64_t device_bytes = 0;

  bool operator==(const Left&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Left& left) {
  return out << left.descriptors << " descriptors, " << left.mappings << " mappings, "
             << left.objects << " Vulkan objects, " << left.device_bytes << " device bytes";
}

Left Count(const Device& device) {
  Left left;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++left.descriptors;
  closedir(directory);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:webnn-") != std::string::npos) ++left.mappings;
  }
  left.objects = service::live_object_count;
  left.device_bytes = device.bytes_in_use();
  return left;
}

// What a thread lets go of just after it has answered is not left.
Left CountSettled(const Device& device, const std::optional<Left>& expected = {}) {
  Left left = Count(device);
  for (int i = 0; i < 200; ++i) {
    if (expected && left == *expected) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Left next = Count(device);
    if (!expected && left == next) break;
    left = next;
  }
  return left;
}

std::shared_ptr<Device> OpenDevice() {
  // Without the validation layers, which are slow; service/vulkan_fault has them.
  service::DeviceOptions options = service::TestDeviceOptions();
  options.validation = false;
  auto device = Device::Open(0, options);
  EXPECT_TRUE(device.ok()) << device.error().ToString();
  return *device;
}

// --- The sweeps. --------------------------------------------------------------------------------

struct Sweep {
  std::string name;
  fault::Fault fault;  // All but `nth`.
  // 1: every call is failed in turn; n: every n-th, where it takes long.
  uint64_t stride = 1;
  // Made up for, rather than told.
  bool is_harmless = false;
};

std::ostream& operator<<(std::ostream& out, const Sweep& sweep) { return out << sweep.name; }

class SweepTest : public testing::TestWithParam<Sweep> {
 protected:
  static void SetUpTestSuite() {
    InitLog("test", LogLevel::kOff);
    signal(SIGALRM, SayWhatHangs);
    device_ = new std::shared_ptr<Device>(OpenDevice());
    // Compiles the kernels, and makes what a device keeps.
    SocketHost host(*device_);
    webnn::ML ml(webnn::Connect::InProcess(host));
    Lived lived = Live(ml);
    ASSERT_TRUE(lived.status.ok()) << lived.status.error().ToString();
  }
  static void TearDownTestSuite() {
    alarm(0);
    delete device_;
  }
  void TearDown() override { fault::Clear(); }

  static Device& device() { return **device_; }
  static std::shared_ptr<Device> shared_device() { return *device_; }

 private:
  static std::shared_ptr<Device>* device_;
};

std::shared_ptr<Device>* SweepTest::device_ = nullptr;

// A client that was there before the fault, and must not notice.
class Bystander {
 public:
  explicit Bystander(std::shared_ptr<Device> device)
      : host_(std::move(device)), ml_(webnn::Connect::InProcess(host_)) {
    auto context = ml_.Wait(ml_.CreateContext());
    EXPECT_TRUE(context.ok());
    context_ = *context;
    auto tensor = ml_.Wait(context_->CreateTensor({.data_type = OperandDataType::kFloat32,
                                                   .shape = Shape{4},
                                                   .readable = true,
                                                   .writable = true}));
    EXPECT_TRUE(tensor.ok());
    tensor_ = *tensor;
    webnn::GraphBuilder builder(context_);
    auto x = builder.Input("x", OperandDataType::kFloat32, Shape{4}).value();
    auto one = builder.Constant(OperandDataType::kFloat32, 1.0).value();
    auto graph = ml_.Wait(builder.Build({{"y", builder.Add(x, one).value()}}));
    EXPECT_TRUE(graph.ok());
    auto binding = context_->Bind(**graph, {{"x", tensor_}}, {{"y", tensor_}});
    EXPECT_TRUE(binding.ok());
    binding_ = *binding;
    // From here on it does nothing by itself.
    ExpectUndisturbed();
  }

  // Counts on the device.
  void ExpectUndisturbed() {
    EXPECT_TRUE(context_->Dispatch(*binding_).ok());
    ++count_;
    Status read = ExpectRead(ml_, *context_, *tensor_, std::vector<float>(4, count_));
    EXPECT_TRUE(read.ok()) << doing << ": " << read.error().ToString();
    EXPECT_FALSE(context_->is_lost()) << doing;
  }

 private:
  SocketHost host_;
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Tensor> tensor_;
  std::shared_ptr<webnn::Binding> binding_;
  float count_ = 0;
};

TEST_P(SweepTest, EachCall_FailsCleanly) {
  Sweep sweep = GetParam();
  const uint64_t stride = every_call ? 1 : sweep.stride;
  Bystander bystander(shared_device());
  const Left before = CountSettled(device());
  uint64_t failures = 0;
  for (uint64_t nth = 1;; nth += stride) {
    ASSERT_LT(nth, 20000u);
    sweep.fault.nth = nth;
    snprintf(doing, sizeof doing, "%s at call %d", sweep.name.c_str(), static_cast<int>(nth));
    alarm(kPatienceSeconds);
    Status status;
    {
      SocketHost host(shared_device());
      fault::Inject(sweep.fault);
      webnn::ML ml(webnn::Connect::InProcess(host));
      Lived lived = Live(ml);
      status = std::move(lived.status);
    }
    const bool reached = fault::CallCount() >= nth;
    fault::Clear();
    EXPECT_EQ(CountSettled(device(), before), before) << doing;
    if (!status.ok()) {
      ++failures;
      EXPECT_FALSE(sweep.is_harmless) << doing << ": " << status.error().ToString();
      EXPECT_FALSE(status.error().message().empty()) << doing;
      // But of a call that comes after the loss.
      const bool is_late = status.error().message().find("context is lost") != std::string::npos;
      EXPECT_TRUE(status.error().cause() != Cause::kValidation || is_late)
          << doing << ": " << status.error().ToString();
    }
    bystander.ExpectUndisturbed();
    if (!reached) {
      EXPECT_TRUE(status.ok()) << doing << ": " << status.error().ToString();
      break;
    }
    SocketHost host(shared_device());
    webnn::ML ml(webnn::Connect::InProcess(host));
    Status again = Live(ml).status;
    EXPECT_TRUE(again.ok()) << doing << ", then: " << again.error().ToString();
  }
  // The sweep has met something that cannot be made up for.
  EXPECT_EQ(failures == 0, sweep.is_harmless);
}

std::vector<Sweep> Sweeps() {
  using fault::Kind;
  std::vector<Sweep> sweeps;
  struct Row {
    const char* name;
    Kind kind;
    uint64_t stride = 1;
  };
  // A client whose sends fail gives the service a second to say why: those sweeps take their time.
  for (const Row& row :
       {Row{"Vulkan", Kind::kVulkan}, Row{"Memory", Kind::kMemory},
        Row{"Descriptor", Kind::kDescriptor}, Row{"File", Kind::kFile}, Row{"Send", Kind::kSend, 6},
        Row{"Receive", Kind::kReceive}, Row{"Pool", Kind::kPool}}) {
    for (bool forever : {false, true}) {
      sweeps.push_back({std::string(row.name) + (forever ? "Forever" : "Once"),
                        {.forever = forever, .kinds = fault::Only(row.kind)},
                        row.stride});
    }
  }
  // What a call may answer at any time.
  for (Kind kind : {Kind::kSend, Kind::kReceive}) {
    const std::string name = kind == Kind::kSend ? "Send" : "Receive";
    for (int answer : {EAGAIN, EINTR}) {
      sweeps.push_back({name + (answer == EAGAIN ? "WouldBlock" : "Interrupted"),
                        {.forever = false, .kinds = fault::Only(kind), .answer = answer},
                        /*stride=*/1,
                        /*is_harmless=*/true});
    }
  }
  return sweeps;
}

INSTANTIATE_TEST_SUITE_P(Calls, SweepTest, testing::ValuesIn(Sweeps()),
                         [](const auto& info) { return info.param.name; });

class DeviceLostSweepTest : public SweepTest {};

// The device under the client alone is lost, as in a worker of its own.
TEST_F(DeviceLostSweepTest, EachVulkanCallOnce_ContextIsLostAndANewOneWorks) {
  std::shared_ptr<Device> others_device = OpenDevice();
  {
    Bystander bystander(others_device);
    const Left before = CountSettled(device());
    uint64_t losses = 0;
    for (uint64_t nth = 1;; ++nth) {
      ASSERT_LT(nth, 20000u);
      snprintf(doing, sizeof doing, "device lost at call %d", static_cast<int>(nth));
      alarm(kPatienceSeconds);
      const auto start = Clock::now();
      bool reached = false;
      {
        SocketHost host(shared_device());
        service::InjectFaultAt(nth, /*forever=*/false, service::Fault::kDeviceLost);
        webnn::ML ml(webnn::Connect::InProcess(host));
        Lived lived = Live(ml);
        reached = fault::CallCount() >= nth;
        fault::Clear();
        EXPECT_EQ(device().lost(), reached) << doing;
        if (reached && lived.context != nullptr) {
          ++losses;
          auto info = ml.Wait(lived.context->lost());
          ASSERT_TRUE(info.ok());
          EXPECT_NE(info->message.find("lost"), std::string::npos) << doing << info->message;
          EXPECT_EQ(lived.context->CheckLive().error().cause(), Cause::kInvalidState) << doing;
        } else {
          EXPECT_EQ(lived.status.ok(), !reached) << doing;
        }
      }
      EXPECT_EQ(CountSettled(device(), before), before) << doing;
      bystander.ExpectUndisturbed();
      if (!reached) break;
      // The device is sound: only an answer said otherwise. A worker that starts anew has one with
      // kernels still to compile, which would take the sweep minutes.
      *device().impl().logical().lost() = false;
      SocketHost host(shared_device());
      webnn::ML ml(webnn::Connect::InProcess(host));
      Status again = Live(ml).status;
      EXPECT_TRUE(again.ok()) << doing << ", then: " << again.error().ToString();
      const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
      EXPECT_LT(elapsed.count(), kNewContextMsMax) << doing;
    }
    EXPECT_GT(losses, 20u);
  }
}

}  // namespace
}  // namespace webnnd

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--every-call") webnnd::every_call = true;
  }
  return RUN_ALL_TESTS();
}

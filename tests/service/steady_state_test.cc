// What a dispatch does that has been made before: nothing is recorded, no descriptor written and no
// memory allocated, and next to nothing crosses the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using webnn::Dimension;
using webnn::DynamicDimension;
using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;
using webnn::Sizes;
using webnn::Tensor;

constexpr auto kFloat = OperandDataType::kFloat32;
constexpr uint32_t kHeads = 2, kHeadSize = 8;

class SteadyStateTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    context_ = MakeContext();
    builder_ = std::make_unique<webnn::GraphBuilder>(context_);
  }
  void TearDown() override {
    builder_ = nullptr;
    context_ = nullptr;
    CloseClient();
    ServiceTest::TearDown();
  }

  std::shared_ptr<webnn::Graph> Build(const webnn::NamedOperands& outputs) {
    auto graph = ml().Wait(builder_->Build(outputs));
    EXPECT_TRUE(graph.ok()) << graph.error().ToString();
    return graph.ok() ? *graph : nullptr;
  }
  std::shared_ptr<Tensor> MakeTensor(const std::vector<Dimension>& dimensions) {
    auto tensor = ml().Wait(context_->CreateTensor(
        {.data_type = kFloat, .shape = Sizes(dimensions), .readable = true, .writable = true}));
    EXPECT_TRUE(tensor.ok()) << tensor.error().message();
    return *tensor;
  }
  std::vector<float> Read(const Tensor& tensor) {
    auto bytes = ml().Wait(context_->ReadTensor(tensor));
    EXPECT_TRUE(bytes.ok()) << bytes.error().ToString();
    if (!bytes.ok()) return {};
    std::vector<float> values(bytes->size() / sizeof(float));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  void Write(Tensor& tensor, const std::vector<float>& values) {
    ASSERT_TRUE(context_->WriteTensor(tensor, std::as_bytes(std::span(values))).ok());
  }

  // y = x W, so that there are constants, intermediates and more than one kernel.
  std::shared_ptr<webnn::Graph> BuildProduct() {
    Operand x = *builder_->Input("x", kFloat, Shape{4, 16});
    std::vector<float> weights(16 * 16, 0.5f);
    Operand w = *builder_->Constant(kFloat, Shape{16, 16}, std::as_bytes(std::span(weights)));
    Operand product = *builder_->Matmul(x, w);
    return Build({{"y", *builder_->Softmax(*builder_->Matmul(product, w), 1)}});
  }

  // Attention of new rows over a cache that grows by them: dynamic in what is stored, in what is
  // computed in between, and in masks.
  std::shared_ptr<webnn::Graph> BuildGrowingAttention(uint32_t capacity) {
    const DynamicDimension past{"past", capacity, 0}, seq{"seq", 4, 1};
    Operand cache =
        *builder_->Input("past", kFloat, std::vector<Dimension>{kHeads, past, kHeadSize});
    Operand rows = *builder_->Input("new", kFloat, std::vector<Dimension>{kHeads, seq, kHeadSize});
    Operand all = *builder_->Concat({cache, rows}, 1);
    Operand turned = *builder_->Transpose(all, {.permutation = {{0, 2, 1}}});
    Operand scores = *builder_->Softmax(*builder_->Matmul(rows, turned), 2);
    return Build({{"present", all}, {"y", *builder_->Matmul(scores, all)}});
  }

  // Counts what `count` dispatches do, each of which is followed by a read of `result`.
  WorkCounts CountWork(uint32_t count, const Tensor& result,
                       const std::function<webnnd::Result<void>()>& dispatch) {
    const WorkCounts before = device().work_counts();
    for (uint32_t i = 0; i < count; ++i) {
      auto dispatched = dispatch();
      EXPECT_TRUE(dispatched.ok()) << dispatched.error().message();
      EXPECT_FALSE(Read(result).empty());
    }
    const WorkCounts after = device().work_counts();
    return {after.descriptor_updates - before.descriptor_updates,
            after.recordings - before.recordings, after.allocations - before.allocations};
  }
  static constexpr WorkCounts kNothing = {};

  std::shared_ptr<webnn::Context> context_;
  std::unique_ptr<webnn::GraphBuilder> builder_;
};

testing::Message Show(const WorkCounts& counts) {
  return testing::Message() << counts.descriptor_updates << " descriptor updates, "
                            << counts.recordings << " recordings, " << counts.allocations
                            << " allocations";
}

TEST_F(SteadyStateTest, FirstDispatch_IsCounted) {
  auto graph = BuildProduct();
  auto x = MakeTensor({4u, 16u}), y = MakeTensor({4u, 16u});
  auto dispatch = [&] { return context_->Dispatch(*graph, {{"x", x}}, {{"y", y}}); };
  const WorkCounts first = CountWork(1, *y, dispatch);
  EXPECT_GE(first.descriptor_updates, 2u);
  EXPECT_GE(first.recordings, 1u);
}

TEST_F(SteadyStateTest, BoundGraph_OnlySubmits) {
  auto graph = BuildProduct();
  auto x = MakeTensor({4u, 16u}), y = MakeTensor({4u, 16u});
  auto binding = context_->Bind(*graph, {{"x", x}}, {{"y", y}});
  ASSERT_TRUE(binding.ok());
  auto dispatch = [&] { return context_->Dispatch(**binding); };
  CountWork(1, *y, dispatch);
  const WorkCounts counts = CountWork(20, *y, dispatch);
  EXPECT_EQ(counts, kNothing) << Show(counts);
}

// How often threads of this process that have such a name have waited for something.
uint64_t CountWaits(const std::string& name) {
  uint64_t waits = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    std::ifstream comm(task.path() / "comm");
    if (!std::getline(comm, line) || line != name) continue;
    std::ifstream status(task.path() / "status");
    const std::string_view key = "voluntary_ctxt_switches:";
    while (std::getline(status, line)) {
      if (line.starts_with(key)) waits += std::stoull(line.substr(key.size()));
    }
  }
  return waits;
}

// A thread that is handed something, and waits for the next, is a wake-up and two switches more.
TEST_F(SteadyStateTest, StepGoesThroughNoThreadThatItNeedNot) {
  auto graph = BuildProduct();
  auto x = MakeTensor({4u, 16u}), y = MakeTensor({4u, 16u});
  auto binding = context_->Bind(*graph, {{"x", x}}, {{"y", y}});
  ASSERT_TRUE(binding.ok());
  auto dispatch = [&] { return context_->Dispatch(**binding); };
  CountWork(2, *y, dispatch);
  constexpr uint32_t kSteps = 200;
  // Threads that nothing has been handed to may still be on the way to their first wait.
  uint64_t timeline = 0, client_io = 0;
  for (int i = 0; i < 1000 && (timeline == 0 || client_io == 0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    timeline = CountWaits("timeline");
    client_io = CountWaits("webnn-io");
  }
  ASSERT_GT(timeline, 0u);
  ASSERT_GT(client_io, 0u);
  CountWork(kSteps, *y, dispatch);
  // Some go there: where the device has not told the end of the step before, or the client's thread
  // came late to its wait.
  EXPECT_LT(CountWaits("timeline") - timeline, kSteps / 2);
  EXPECT_LT(CountWaits("webnn-io") - client_io, kSteps / 2);
}

TEST_F(SteadyStateTest, PlainDispatches_OnlySubmit) {
  auto graph = BuildProduct();
  auto a = MakeTensor({4u, 16u}), b = MakeTensor({4u, 16u});
  // As a decoder does it whose tensors swap.
  auto dispatch = [&] {
    std::swap(a, b);
    return context_->Dispatch(*graph, {{"x", a}}, {{"y", b}});
  };
  CountWork(2, *a, dispatch);
  const WorkCounts counts = CountWork(20, *a, dispatch);
  EXPECT_EQ(counts, kNothing) << Show(counts);
}

TEST_F(SteadyStateTest, CacheThatGrows_OnlySubmits) {
  constexpr uint32_t kCapacity = 100;
  auto graph = BuildGrowingAttention(kCapacity);
  ASSERT_NE(graph, nullptr);
  auto cache = MakeTensor({kHeads, DynamicDimension{"rows", kCapacity, 0}, kHeadSize});
  auto fresh = MakeTensor({kHeads, 1u, kHeadSize}), y = MakeTensor({kHeads, 1u, kHeadSize});
  ASSERT_TRUE(cache->Resize({kHeads, 0, kHeadSize}).ok());
  Write(*fresh, std::vector<float>(kHeads * kHeadSize, 0.25f));
  auto binding =
      context_->Bind(*graph, {{"past", cache}, {"new", fresh}}, {{"present", cache}, {"y", y}});
  ASSERT_TRUE(binding.ok()) << binding.error().message();
  auto dispatch = [&] { return context_->Dispatch(**binding); };
  // An empty cache, one of one row, and sizes of every alignment are graphs of their own; so are
  // rows of scores that are short.
  CountWork(66, *y, dispatch);
  const WorkCounts counts = CountWork(33, *y, dispatch);
  EXPECT_EQ(cache->shape()[1], 99u);
  EXPECT_EQ(counts, kNothing) << Show(counts);
}

TEST_F(SteadyStateTest, ClientThatIsAhead_WaitsAndRecordsNothing) {
  constexpr uint32_t kCapacity = 100;
  auto graph = BuildGrowingAttention(kCapacity);
  auto cache = MakeTensor({kHeads, DynamicDimension{"rows", kCapacity, 0}, kHeadSize});
  auto fresh = MakeTensor({kHeads, 1u, kHeadSize}), y = MakeTensor({kHeads, 1u, kHeadSize});
  ASSERT_TRUE(cache->Resize({kHeads, 0, kHeadSize}).ok());
  Write(*fresh, std::vector<float>(kHeads * kHeadSize, 0.25f));
  auto binding =
      context_->Bind(*graph, {{"past", cache}, {"new", fresh}}, {{"present", cache}, {"y", y}});
  ASSERT_TRUE(binding.ok());
  CountWork(66, *y, [&] { return context_->Dispatch(**binding); });
  const WorkCounts before = device().work_counts();
  for (uint32_t i = 0; i < 33; ++i) ASSERT_TRUE(context_->Dispatch(**binding).ok());
  // Each row is the mean of equal rows.
  EXPECT_THAT(Read(*y), testing::Each(testing::FloatNear(0.25f, 1e-6f)));
  EXPECT_EQ(Read(*cache), std::vector<float>(99 * kHeads * kHeadSize, 0.25f));
  EXPECT_EQ(device().work_counts(), before);
}

TEST_F(SteadyStateTest, BoundDispatch_IsAFewBytes) {
  auto graph = BuildProduct();
  auto x = MakeTensor({4u, 16u}), y = MakeTensor({4u, 16u});
  auto binding = context_->Bind(*graph, {{"x", x}}, {{"y", y}});
  ASSERT_TRUE(binding.ok());
  ASSERT_TRUE(context_->Dispatch(**binding).ok());
  Read(*y);
  const uint64_t before = context_->bytes_sent();
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(context_->Dispatch(**binding).ok());
  const uint64_t sent = context_->bytes_sent() - before;
  EXPECT_GE(sent, 16u);
  EXPECT_LT(sent, 16 * 64u);
  Read(*y);
}

}  // namespace
}  // namespace webnnd::service

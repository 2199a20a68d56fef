// What one client leaves in memory, another must not find: not in tensors, and not by computing.
// The sessions share a device, as they do in one worker; workers of their own share less.
#include <algorithm>
#include <cstring>
#include <utility>

#include "client/webnn.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using webidl::DynamicDimension;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Shape;
using webidl::Sizes;
using webnn::Context;
using webnn::Operand;
using webnn::Tensor;

constexpr auto kInt = OperandDataType::kInt32;
constexpr auto kFloat = OperandDataType::kFloat32;
// Found nowhere by chance.
constexpr int32_t kSecret = 0x5ec4e7ed;
// Bytes of tensors: inline and not, in shared blocks and in blocks of their own (over 4 MiB).
constexpr uint64_t kSizes[] = {4, 60, 4096, 8192, 100'000, 1 << 20, 3'000'000, 5 << 20};

std::vector<std::byte> Secret(uint64_t bytes) {
  std::vector<int32_t> words(bytes / sizeof kSecret, kSecret);
  std::vector<std::byte> result(bytes);
  std::memcpy(result.data(), words.data(), words.size() * sizeof kSecret);
  return result;
}

size_t CountNonZero(std::span<const std::byte> bytes) {
  return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(),
                                           [](std::byte byte) { return byte != std::byte{}; }));
}

// One client of the host.
class Client {
 public:
  explicit Client(InProcessHost& host) : ml_(webnn::Connect::InProcess(host)) { NewContext(); }

  void NewContext() {
    context_ = nullptr;
    auto context = ml_.Wait(ml_.CreateContext());
    ASSERT_TRUE(context.ok()) << context.error().ToString();
    context_ = *context;
  }

  std::shared_ptr<Tensor> MakeTensor(OperandDataType type, Sizes shape) {
    auto tensor = ml_.Wait(context_->CreateTensor(
        {.data_type = type, .shape = std::move(shape), .readable = true, .writable = true}));
    EXPECT_TRUE(tensor.ok()) << tensor.error().ToString();
    return tensor.ok() ? *tensor : nullptr;
  }

  void Write(Tensor& tensor, std::span<const std::byte> bytes) {
    auto written = context_->WriteTensor(tensor, bytes);
    EXPECT_TRUE(written.ok()) << written.error().ToString();
  }

  std::vector<std::byte> Read(const Tensor& tensor) {
    auto bytes = ml_.Wait(context_->ReadTensor(tensor));
    EXPECT_TRUE(bytes.ok()) << bytes.error().ToString();
    return bytes.ok() ? *bytes : std::vector<std::byte>();
  }

  std::shared_ptr<webnn::Graph> Build(webnn::GraphBuilder& builder, const Operand& output) {
    auto graph = ml_.Wait(builder.Build({{"output", output}}));
    EXPECT_TRUE(graph.ok()) << graph.error().ToString();
    return graph.ok() ? *graph : nullptr;
  }

  void Dispatch(webnn::Graph& graph, const std::shared_ptr<Tensor>& input,
                const std::shared_ptr<Tensor>& output) {
    auto dispatched = context_->Dispatch(graph, {{"input", input}}, {{"output", output}});
    EXPECT_TRUE(dispatched.ok()) << dispatched.error().ToString();
  }

  const std::shared_ptr<Context>& context() const { return context_; }

  // Leaves the secret wherever device memory may hold it: tensors, staging, constants, constant
  // tensors, intermediates.
  void FillMemoryWithTheSecret() {
    std::vector<std::shared_ptr<Tensor>> tensors;
    for (int round = 0; round < 4; ++round) {
      for (uint64_t bytes : kSizes) {
        tensors.push_back(MakeTensor(kInt, Shape{static_cast<uint32_t>(bytes / 4)}));
        Write(*tensors.back(), Secret(bytes));
      }
    }
    // Transposing moves the words without changing them, through the arena of intermediates.
    constexpr uint32_t kEdge = 512;
    const std::vector<std::byte> square = Secret(kEdge * kEdge * 4);
    webnn::GraphBuilder builder(context_);
    Operand x = builder.Input("input", kInt, Shape{kEdge, kEdge}).value();
    Operand c = builder.Constant(kInt, Shape{kEdge, kEdge}, square).value();
    auto shared = ml_.Wait(context_->CreateConstantTensor(kInt, {kEdge, kEdge}, square));
    ASSERT_TRUE(shared.ok());
    Operand t = builder.Transpose(builder.Max(builder.Transpose(x).value(), c).value()).value();
    Operand y =
        builder.Transpose(builder.Max(t, builder.Constant(**shared).value()).value()).value();
    auto graph = Build(builder, y);
    ASSERT_NE(graph, nullptr);
    auto input = MakeTensor(kInt, Shape{kEdge, kEdge}),
         output = MakeTensor(kInt, Shape{kEdge, kEdge});
    Write(*input, square);
    Dispatch(*graph, input, output);
    // It was all there.
    EXPECT_EQ(Read(*output), square);
    for (const auto& tensor : tensors)
      EXPECT_EQ(CountNonZero(Read(*tensor)), tensor->byte_length());
  }

  // New tensors of many sizes, fixed and dynamic, have nothing in them.
  void ExpectNewTensorsAreClear() {
    for (int round = 0; round < 6; ++round) {
      std::vector<std::shared_ptr<Tensor>> tensors;
      for (uint64_t bytes : kSizes) {
        // Other sizes than the secret's, so that ranges begin and end elsewhere.
        const auto words = static_cast<uint32_t>(bytes / 4 + static_cast<uint64_t>(round) * 3);
        tensors.push_back(MakeTensor(kInt, Shape{words}));
        tensors.push_back(MakeTensor(OperandDataType::kUint8, Shape{4 * words + 1}));
        tensors.push_back(MakeTensor(kInt, Sizes({DynamicDimension{"n", words, 0}, 3u})));
      }
      for (const auto& tensor : tensors) {
        ASSERT_NE(tensor, nullptr);
        std::vector<std::byte> bytes = Read(*tensor);
        EXPECT_EQ(bytes.size(), tensor->byte_length());
        EXPECT_EQ(CountNonZero(bytes), 0u) << tensor->byte_length() << " bytes";
      }
    }
  }

  // A tensor that shrinks and grows shows what it held, and nothing else.
  void ExpectResizedTensorsAreClear() {
    for (uint32_t rows : {3u, 1000u, 70'000u}) {
      auto tensor = MakeTensor(kInt, Sizes({DynamicDimension{"n", rows, 0}, 5u}));
      for (uint32_t now : {1u, rows, 0u, rows / 2 + 1, rows}) {
        ASSERT_TRUE(tensor->Resize({now, 5}).ok());
        EXPECT_EQ(CountNonZero(Read(*tensor)), 0u) << now << " of " << rows;
      }
    }
  }

  // Operators with intermediates, sums and shapes that end within a texel.
  std::vector<std::byte> Compute() {
    const Shape shape = {37, 53};
    std::vector<float> values(37 * 53);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 19) / 7 - 1;
    webnn::GraphBuilder builder(context_);
    Operand x = builder.Input("input", kFloat, shape).value();
    Operand product = builder.Matmul(x, builder.Transpose(x).value()).value();
    Operand weights = builder.Softmax(product, 1).value();
    Operand y = builder.Matmul(weights, builder.Gelu(x).value()).value();
    auto graph = Build(builder, y);
    auto input = MakeTensor(kFloat, shape), output = MakeTensor(kFloat, shape);
    Write(*input, std::as_bytes(std::span(values)));
    Dispatch(*graph, input, output);
    return Read(*output);
  }

 private:
  webnn::ML ml_;
  std::shared_ptr<Context> context_;
};

using SessionMemoryTest = ServiceTest;

TEST_F(SessionMemoryTest, AfterAnotherClient_NewTensorsAreClear) {
  { Client(host()).FillMemoryWithTheSecret(); }
  Client client(host());
  client.ExpectNewTensorsAreClear();
  client.ExpectResizedTensorsAreClear();
}

TEST_F(SessionMemoryTest, BesideAnotherClient_NewTensorsAreClear) {
  Client other(host());
  other.FillMemoryWithTheSecret();
  Client client(host());
  client.ExpectNewTensorsAreClear();
}

TEST_F(SessionMemoryTest, AfterAContextOfTheSameClient_NewTensorsAreClear) {
  Client client(host());
  client.FillMemoryWithTheSecret();
  client.context()->Destroy();
  client.NewContext();
  client.ExpectNewTensorsAreClear();
}

// Results come from a client's own inputs, whatever lies in the memory between.
TEST_F(SessionMemoryTest, AfterAnotherClient_ResultsHaveTheSameBits) {
  std::vector<std::byte> before;
  { before = Client(host()).Compute(); }
  { Client(host()).FillMemoryWithTheSecret(); }
  EXPECT_GT(CountNonZero(before), 0u);
  EXPECT_EQ(Client(host()).Compute(), before);
}

}  // namespace
}  // namespace webnnd::service

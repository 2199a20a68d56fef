// Graphs with dynamic dimensions, from the client to the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "service/vulkan/device_impl.h"
#include "tests/support/sample.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;
using webidl::Dimension;
using webidl::DynamicDimension;
using webidl::OperandDataType;
using webidl::Shape;
using webidl::Sizes;
using webnn::Operand;
using webnn::Tensor;

constexpr auto kFloat = OperandDataType::kFloat32;

using Floats = std::vector<float>;

uint32_t Count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1u, std::multiplies<>());
}

Floats Ramp(const Shape& shape, float from) {
  Floats values(Count(shape));
  std::iota(values.begin(), values.end(), from);
  return values;
}

class DynamicShapesTest : public ServiceTest {
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

  Operand Input(const std::string& name, const std::vector<Dimension>& dimensions) {
    auto operand = builder_->Input(name, kFloat, dimensions);
    EXPECT_TRUE(operand.ok()) << operand.error().message();
    return *operand;
  }

  std::shared_ptr<webnn::Graph> Build(const webnn::NamedOperands& outputs) {
    auto graph = ml().Wait(builder_->Build(outputs));
    EXPECT_TRUE(graph.ok()) << graph.error().ToString();
    return graph.ok() ? *graph : nullptr;
  }

  std::shared_ptr<Tensor> MakeTensor(const std::vector<Dimension>& dimensions,
                                     OperandDataType type = kFloat) {
    auto tensor = ml().Wait(context_->CreateTensor(
        {.data_type = type, .shape = Sizes(dimensions), .readable = true, .writable = true}));
    EXPECT_TRUE(tensor.ok()) << tensor.error().message();
    return *tensor;
  }

  void Write(Tensor& tensor, const Floats& values) {
    auto written = context_->WriteTensor(tensor, std::as_bytes(std::span(values)));
    EXPECT_TRUE(written.ok()) << written.error().message();
  }

  Floats Read(const Tensor& tensor) {
    auto bytes = ml().Wait(context_->ReadTensor(tensor));
    EXPECT_TRUE(bytes.ok()) << bytes.error().ToString();
    if (!bytes.ok()) return {};
    Floats values(bytes->size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }

  std::string Refused(const webnnd::Result<void>& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message();
  }

  const DynamicDimension past_{"past", 12, 0}, seq_{"seq", 5, 1};
  std::shared_ptr<webnn::Context> context_;
  std::unique_ptr<webnn::GraphBuilder> builder_;
};

// Normalized products by block of few rows, of more where one of the group is too small to unpack,
// of many.
TEST_F(DynamicShapesTest, ProductsByBlockOfAnyRows_CompileNothingWhenDispatched) {
  constexpr uint32_t kDepth = 256;
  constexpr uint32_t kBlock = 32;
  const DynamicDimension rows{"rows", 512, 1};
  Operand x = Input("x", {rows, kDepth});
  const auto constant = [&](float value) {
    return *builder_->Constant(kFloat, {}, std::as_bytes(std::span(&value, 1)));
  };
  Operand mean = *builder_->ReduceMean(*builder_->Pow(x, constant(2)),
                                       {.axes = std::vector<uint32_t>{1}, .keep_dimensions = true});
  Operand root = *builder_->Sqrt(*builder_->Add(mean, constant(0)));
  const Floats gains(kDepth, 1.0f);
  Operand gain = *builder_->Constant(kFloat, {kDepth}, std::as_bytes(std::span(gains)));
  Operand norm = *builder_->Mul(gain, *builder_->Div(x, root));
  const auto multiply = [&](uint32_t columns) {
    const std::vector<std::byte> codes(columns * kDepth / 2, std::byte{0x5a});
    const std::vector<std::byte> zeros(columns * kDepth / kBlock / 2, std::byte{0x33});
    const Floats scales(columns * kDepth / kBlock, 0.5f);
    const Shape blocks = {columns, kDepth / kBlock, 1};
    Operand weights =
        *builder_->Constant(OperandDataType::kUint4, {columns, kDepth / kBlock, kBlock}, codes);
    Operand scale = *builder_->Constant(kFloat, blocks, std::as_bytes(std::span(scales)));
    Operand zero_point = *builder_->Constant(OperandDataType::kUint4, blocks, zeros);
    Operand matrix = *builder_->Reshape(*builder_->DequantizeLinear(weights, scale, zero_point),
                                        {columns, kDepth});
    return *builder_->Matmul(norm, *builder_->Transpose(matrix));
  };
  auto graph = Build({{"q", multiply(256)}, {"k", multiply(128)}});
  ASSERT_NE(graph, nullptr);
  const uint64_t compiled = device().impl().pipelines().compiled_count();
  for (uint32_t size : {1u, 2u, 15u, 16u, 31u, 32u, 56u, 96u, 97u, 512u}) {
    SCOPED_TRACE(size);
    auto in = MakeTensor({size, kDepth});
    auto q = MakeTensor({size, 256u});
    auto k = MakeTensor({size, 128u});
    Write(*in, Floats(size * kDepth, 1.0f));
    ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"q", q}, {"k", k}}).ok());
    // Codes are 10 and 5 by turns, and 3 is their zero.
    EXPECT_EQ(Read(*q), Floats(size * 256, 0.5f * (7 + 2) * kDepth / 2));
    EXPECT_EQ(Read(*k), Floats(size * 128, 0.5f * (7 + 2) * kDepth / 2));
    EXPECT_EQ(device().impl().pipelines().compiled_count(), compiled);
  }
}

// Weights of 4 bits lie by tiles (service/graph/row_tiles.h), and nobody can put them in order
// before sizes are known.
TEST_F(DynamicShapesTest, WeightsOfFourBits_AreReadInTheirOrder) {
  const Shape shape = {32, 2, 32};
  std::vector<std::byte> codes(Count(shape) / 2);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i * 37 + i / 16);
  auto code = [&](size_t i) { return static_cast<int>(codes[i / 2]) >> (i % 2 * 4) & 15; };
  const Floats one = {1};
  const std::byte zero{0};
  Operand weights = *builder_->Constant(OperandDataType::kUint4, shape, codes);
  Operand scale = *builder_->Constant(kFloat, {1, 1, 1}, std::as_bytes(std::span(one)));
  Operand zero_point = *builder_->Constant(OperandDataType::kUint4, {1, 1, 1}, {&zero, 1});
  Operand decoded = *builder_->DequantizeLinear(weights, scale, zero_point);
  Operand matrix = *builder_->Reshape(decoded, {32u, 64u});
  Operand x = Input("x", {seq_, 1u, 64u});
  auto graph = Build({{"y", *builder_->Add(x, matrix)}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({seq_, 1u, 64u}), out = MakeTensor({seq_, 32u, 64u});
  for (uint32_t seq : {1u, 3u}) {
    ASSERT_TRUE(in->Resize({seq, 1, 64}).ok());
    ASSERT_TRUE(out->Resize({seq, 32, 64}).ok());
    const Floats values = Ramp({seq, 1, 64}, 1);
    Write(*in, values);
    ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
    const Floats sums = Read(*out);
    ASSERT_EQ(sums.size(), seq * 2048);
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(sums[i], values[i / 2048 * 64 + i % 64] + static_cast<float>(code(i % 2048))) << i;
    }
  }
}

TEST_F(DynamicShapesTest, OneGraph_RunsAtEverySize) {
  Operand x = Input("x", {2u, seq_, 3u});
  auto graph = Build({{"y", *builder_->Add(x, *builder_->Relu(x))}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({2u, seq_, 3u}), out = MakeTensor({2u, seq_, 3u});
  for (uint32_t seq : {5u, 1u, 3u, 2u, 3u}) {
    const Shape shape = {2, seq, 3};
    ASSERT_TRUE(in->Resize(shape).ok());
    Floats values = Ramp(shape, -2);
    Write(*in, values);
    auto dispatched = context_->Dispatch(*graph, {{"x", in}}, {{"y", out}});
    ASSERT_TRUE(dispatched.ok()) << dispatched.error().message();
    EXPECT_EQ(out->shape(), shape);
    for (float& value : values) value += std::max(value, 0.0f);
    EXPECT_EQ(Read(*out), values) << seq;
  }
}

// For one row the transpose changes nothing; for more, the product reads through it.
TEST_F(DynamicShapesTest, ProductWithATranspose_RunsAtEverySize) {
  Operand rows = Input("rows", {seq_, 8u});
  Operand queries = Input("queries", {3u, 8u});
  auto graph = Build({{"y", *builder_->Matmul(queries, *builder_->Transpose(rows))}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({seq_, 8u}), fixed = MakeTensor({3u, 8u}), out = MakeTensor({3u, seq_});
  const Floats query_values = Ramp({3, 8}, -7);
  Write(*fixed, query_values);
  for (uint32_t seq : {5u, 1u, 4u, 1u, 5u}) {
    ASSERT_TRUE(in->Resize({seq, 8}).ok());
    ASSERT_TRUE(out->Resize({3, seq}).ok());
    const Floats values = Ramp({seq, 8}, -2);
    Write(*in, values);
    ASSERT_TRUE(context_->Dispatch(*graph, {{"rows", in}, {"queries", fixed}}, {{"y", out}}).ok());
    Floats want;
    for (uint32_t q = 0; q < 3; ++q) {
      for (uint32_t row = 0; row < seq; ++row) {
        want.push_back(std::inner_product(values.begin() + row * 8, values.begin() + row * 8 + 8,
                                          query_values.begin() + q * 8, 0.0f));
      }
    }
    EXPECT_EQ(Read(*out), want) << seq;
  }
}

TEST_F(DynamicShapesTest, TensorsWithOtherCapacities_LieWithTheirOwnStrides) {
  Operand x = Input("x", {2u, seq_, 3u});
  auto graph = Build({{"y", *builder_->Neg(x)}});
  auto wide = MakeTensor({2u, DynamicDimension{"n", 9, 1}, DynamicDimension{"m", 4, 1}});
  auto exact = MakeTensor({2u, 4u, 3u});
  ASSERT_TRUE(wide->Resize({2, 4, 3}).ok());
  Floats values = Ramp({2, 4, 3}, 1);
  Write(*wide, values);
  EXPECT_EQ(Read(*wide), values);
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", wide}}, {{"y", exact}}).ok());
  for (float& value : values) value = -value;
  EXPECT_EQ(Read(*exact), values);
  // And back.
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", exact}}, {{"y", wide}}).ok());
  for (float& value : values) value = -value;
  EXPECT_EQ(Read(*wide), values);
}

TEST_F(DynamicShapesTest, OutputThatIsAnInput_IsCopied) {
  Operand x = Input("x", {2u, past_, 3u});
  auto graph = Build({{"y", *builder_->Identity(x)}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({2u, past_, 3u}), out = MakeTensor({2u, past_, 3u});
  for (uint32_t past : {2u, 5u, 0u, 1u}) {
    ASSERT_TRUE(in->Resize({2, past, 3}).ok());
    const Floats values = Ramp({2, past, 3}, 1);
    Write(*in, values);
    ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
    EXPECT_EQ(Read(*out), values) << past;
  }
}

TEST_F(DynamicShapesTest, TensorsThatSwap_MayBeEmpty) {
  Operand x = Input("x", {2u, past_}), y = Input("y", {2u, past_});
  auto graph = Build({{"a", *builder_->Identity(y)}, {"b", *builder_->Identity(x)}});
  ASSERT_NE(graph, nullptr);
  auto first = MakeTensor({2u, past_}), second = MakeTensor({2u, past_});
  auto binding =
      context_->Bind(*graph, {{"x", first}, {"y", second}}, {{"a", first}, {"b", second}});
  ASSERT_TRUE(binding.ok()) << binding.error().message();
  for (uint32_t past : {3u, 0u, 12u}) {
    ASSERT_TRUE(first->Resize({2, past}).ok() && second->Resize({2, past}).ok());
    const Floats ones = Ramp({2, past}, 1), hundreds = Ramp({2, past}, 100);
    Write(*first, ones);
    Write(*second, hundreds);
    ASSERT_TRUE(context_->Dispatch(**binding).ok());
    EXPECT_EQ(Read(*first), hundreds) << past;
    EXPECT_EQ(Read(*second), ones) << past;
  }
}

TEST_F(DynamicShapesTest, StaticGraph_TakesDynamicTensorsOfItsShape) {
  Operand x = Input("x", {2u, 3u});
  auto graph = Build({{"y", *builder_->Neg(x)}});
  auto in = MakeTensor({2u, DynamicDimension{"n", 7, 1}});
  auto out = MakeTensor({2u, DynamicDimension{"n", 5, 1}});
  EXPECT_THAT(Refused(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}})),
              HasSubstr("\"x\" is float32[2,7], where the graph has float32[2,3]"));
  ASSERT_TRUE(in->Resize({2, 3}).ok());
  Write(*in, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
  EXPECT_EQ(out->shape(), (Shape{2, 3}));
  EXPECT_EQ(Read(*out), (Floats{-1, -2, -3, -4, -5, -6}));
}

TEST_F(DynamicShapesTest, Float16RowsThatShareWords_LieWithTheStridesOfTheCapacity) {
  auto x = builder_->Input("x", OperandDataType::kFloat16, std::vector<Dimension>{3u, seq_});
  auto graph = Build({{"y", *builder_->Neg(*x)}});
  auto in = MakeTensor({3u, seq_}, OperandDataType::kFloat16);
  auto out = MakeTensor({3u, seq_}, OperandDataType::kFloat16);
  for (uint32_t seq : {3u, 1u, 5u, 2u}) {
    ASSERT_TRUE(in->Resize({3, seq}).ok());
    std::vector<uint16_t> values(3 * seq);
    std::iota(values.begin(), values.end(), uint16_t{0x3c00});
    ASSERT_TRUE(context_->WriteTensor(*in, std::as_bytes(std::span(values))).ok());
    ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
    auto bytes = ml().Wait(context_->ReadTensor(*out));
    ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
    for (uint16_t& value : values) value |= 0x8000;
    ASSERT_EQ(bytes->size(), values.size() * 2);
    EXPECT_EQ(std::memcmp(bytes->data(), values.data(), bytes->size()), 0) << seq;
  }
}

// --- Growing caches -----------------------------------------------------------------------------

// present = concat(past, new) along `axis`, and the sum of what it holds.
class GrowingCacheTest : public DynamicShapesTest, public testing::WithParamInterface<uint32_t> {
 protected:
  void SetUp() override {
    DynamicShapesTest::SetUp();
    const uint32_t axis = GetParam();
    std::vector<Dimension> old = {2u, 3u, 4u}, added = old;
    old[axis] = past_;
    added[axis] = seq_;
    cache_ = old;
    cache_[axis] = DynamicDimension{"rows", 9, 0};
    added_ = added;
    Operand past = Input("past", old), fresh = Input("new", added);
    auto present = builder_->Concat({past, fresh}, axis);
    graph_ = Build({{"present", *present}, {"sum", *builder_->ReduceSum(*present)}});
    ASSERT_NE(graph_, nullptr);
    new_ = MakeTensor(added_);
    sum_ = MakeTensor({});
  }

  // What the cache holds in all, appended in the host's memory.
  void Append(const Shape& shape, const Floats& values) {
    const uint32_t axis = GetParam();
    const uint32_t outer = Count({shape.begin(), shape.begin() + axis});
    const size_t row = values.size() / outer, old = expected_.size() / outer;
    Floats all;
    for (uint32_t i = 0; i < outer; ++i) {
      all.insert(all.end(), expected_.begin() + i * old, expected_.begin() + (i + 1) * old);
      all.insert(all.end(), values.begin() + i * row, values.begin() + (i + 1) * row);
    }
    expected_ = all;
  }
  // Appends `rows` rows by `dispatch`, and compares.
  template <class Dispatch>
  void Step(uint32_t rows, const std::shared_ptr<Tensor>& present, Dispatch dispatch) {
    Shape shape = {2, 3, 4};
    shape[GetParam()] = rows;
    ASSERT_TRUE(new_->Resize(shape).ok());
    const Floats values = Ramp(shape, static_cast<float>(++step_ * 1000));
    Write(*new_, values);
    auto dispatched = dispatch();
    ASSERT_TRUE(dispatched.ok()) << dispatched.error().message();
    Append(shape, values);
    rows_ += rows;
    EXPECT_EQ(present->shape()[GetParam()], rows_);
    EXPECT_EQ(Read(*present), expected_);
    EXPECT_EQ(Read(*sum_), Floats{std::accumulate(expected_.begin(), expected_.end(), 0.0f)});
  }

  std::vector<Dimension> cache_, added_;
  std::shared_ptr<webnn::Graph> graph_;
  std::shared_ptr<Tensor> new_, sum_;
  Floats expected_;
  uint32_t step_ = 0, rows_ = 0;
};

TEST_P(GrowingCacheTest, TensorsThatSwapRoles_HoldAllRows) {
  auto a = MakeTensor(cache_), b = MakeTensor(cache_);
  Shape empty = {2, 3, 4};
  empty[GetParam()] = 0;
  ASSERT_TRUE(a->Resize(empty).ok());
  for (uint32_t rows : {3u, 1u, 1u, 2u, 1u}) {
    Step(rows, b, [&] {
      return context_->Dispatch(*graph_, {{"past", a}, {"new", new_}},
                                {{"present", b}, {"sum", sum_}});
    });
    std::swap(a, b);
  }
}

TEST_P(GrowingCacheTest, TensorThatIsInputAndOutput_GrowsInPlace) {
  auto cache = MakeTensor(cache_);
  Shape empty = {2, 3, 4};
  empty[GetParam()] = 0;
  ASSERT_TRUE(cache->Resize(empty).ok());
  auto binding = context_->Bind(*graph_, {{"past", cache}, {"new", new_}},
                                {{"present", cache}, {"sum", sum_}});
  ASSERT_TRUE(binding.ok()) << binding.error().message();
  for (uint32_t rows : {2u, 1u, 1u, 3u, 1u}) {
    Step(rows, cache, [&] { return context_->Dispatch(**binding); });
  }
  // The capacity is 9 rows.
  EXPECT_THAT(Refused([&]() -> webnnd::Result<void> {
                Shape shape = {2, 3, 4};
                shape[GetParam()] = 2;
                TRY(new_->Resize(shape));
                return context_->Dispatch(**binding);
              }()),
              HasSubstr("the tensor of output \"present\" has the capacity"));
  EXPECT_EQ(cache->shape()[GetParam()], 8u);
  EXPECT_EQ(Read(*cache), expected_);
}

INSTANTIATE_TEST_SUITE_P(Axis, GrowingCacheTest, testing::Values(0u, 1u, 2u));

// --- Wrong use ----------------------------------------------------------------------------------

TEST_F(DynamicShapesTest, WrongSizes_AreRefusedAndHarmNobody) {
  Operand a = Input("a", {seq_, 2u}), b = Input("b", {seq_, 2u});
  auto graph = Build({{"y", *builder_->Add(a, b)}});
  const DynamicDimension large{"rows", 8, 1};
  auto ta = MakeTensor({large, 2u}), tb = MakeTensor({large, 2u}), ty = MakeTensor({large, 2u});
  auto dispatch = [&](const std::shared_ptr<Tensor>& out) {
    return context_->Dispatch(*graph, {{"a", ta}, {"b", tb}}, {{"y", out}});
  };
  EXPECT_EQ(Refused(dispatch(ty)),
            "the dimension seq (8) of the input \"a\" is not within its bounds (1 to 5)");
  ASSERT_TRUE(ta->Resize({3, 2}).ok() && tb->Resize({2, 2}).ok());
  EXPECT_EQ(Refused(dispatch(ty)),
            "the dimension seq is 2 by the input \"b\", and 3 by one before");
  ASSERT_TRUE(tb->Resize({3, 2}).ok());
  EXPECT_EQ(Refused(dispatch(MakeTensor({DynamicDimension{"rows", 2, 1}, 2u}))),
            "the tensor of output \"y\" has the capacity [2,2], where the result is float32[3,2]");
  EXPECT_EQ(Refused(dispatch(MakeTensor({4u, 2u}))),
            "the tensor of output \"y\" is float32[4,2], where the graph has float32[seq,2]");
  EXPECT_THAT(Refused(dispatch(MakeTensor({4u, 3u}))), HasSubstr("where the graph has"));
  EXPECT_EQ(Refused(ta->Resize({9, 2})),
            "dimension 0 of the shape ([9,2]) is not in the range of float32[rows,2] (1 to 8)");
  Write(*ta, {1, 2, 3, 4, 5, 6});
  Write(*tb, {1, 1, 1, 1, 1, 1});
  ASSERT_TRUE(dispatch(ty).ok());
  EXPECT_EQ(Read(*ty), (Floats{2, 3, 4, 5, 6, 7}));
  const Floats many(16);
  EXPECT_THAT(Refused(context_->WriteTensor(*ta, std::as_bytes(std::span(many)))),
              HasSubstr("the bytes (64) of the data are not those of float32[3,2] (24)"));
}

TEST_F(DynamicShapesTest, FailedDispatch_LeavesTheTensorsUsable) {
  Operand x = Input("x", {seq_});
  auto graph = Build({{"y", *builder_->Neg(x)}});
  auto in = MakeTensor({seq_}), out = MakeTensor({seq_});
  ASSERT_TRUE(in->Resize({2}).ok());
  Write(*in, {1, 2});
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
  ASSERT_TRUE(out->Resize({3}).ok());
  Write(*out, {7, 8, 9});
  EXPECT_EQ(Read(*out), (Floats{7, 8, 9}));
}

// Room for the tensors, and not for what lies in between.
class LittleMemoryTest : public DynamicShapesTest {
 protected:
  void SetUp() override {
    set_quota({.device_bytes = 5 * kRows * 4 / 2 * sizeof(float)});
    DynamicShapesTest::SetUp();
  }
  static constexpr uint32_t kRows = 1 << 14;
};

// Client and service agree on the shapes of outputs whatever becomes of a dispatch.
TEST_F(LittleMemoryTest, DispatchThatFails_LeavesOutputsThatCanBeWritten) {
  const DynamicDimension rows{"rows", kRows, 1};
  Operand x = Input("x", {rows, 4u});
  auto turned = builder_->Transpose(x);
  auto graph = Build({{"y", *builder_->Softmax(*turned, 0)}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({rows, 4u}), out = MakeTensor({4u, rows});
  ASSERT_TRUE(in->Resize({3, 4}).ok());
  Write(*in, Ramp({3, 4}, 1));
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
  EXPECT_EQ(out->shape(), (Shape{4, 3}));
  auto read = ml().Wait(context_->ReadTensor(*out));
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().ToString(), HasSubstr("limit"));
  Write(*out, Ramp({4, 3}, 7));
  EXPECT_EQ(Read(*out), Ramp({4, 3}, 7));
}

// --- Zero sizes ---------------------------------------------------------------------------------

TEST_F(DynamicShapesTest, ZeroSizes_SkipKernelsAndReadNothing) {
  Operand x = Input("x", {past_, 4u});
  auto graph = Build({{"y", *builder_->Relu(*builder_->Neg(x))}});
  ASSERT_NE(graph, nullptr);
  auto in = MakeTensor({past_, 4u}), out = MakeTensor({past_, 4u});
  ASSERT_TRUE(in->Resize({0, 4}).ok());
  Write(*in, {});
  ASSERT_TRUE(context_->Dispatch(*graph, {{"x", in}}, {{"y", out}}).ok());
  EXPECT_EQ(out->shape(), (Shape{0, 4}));
  EXPECT_EQ(Read(*out), Floats{});
}

TEST_F(DynamicShapesTest, ValueMadeOfNothing_IsRefusedByBuild) {
  Operand x = Input("x", {past_, 4u});
  auto graph = ml().Wait(builder_->Build({{"y", *builder_->ReduceSum(x)}}));
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().ToString(), HasSubstr("reduceSum of an operand without elements"));
  EXPECT_THAT(graph.error().ToString(), HasSubstr("(past is 0)"));
}

// --- Any graph ----------------------------------------------------------------------------------

// Random graphs give at any sizes what the same graphs give that were built for these sizes.
TEST_F(DynamicShapesTest, RandomGraphs_EqualTheirStaticForms) {
  std::mt19937 random(2026 + FirstSeed());
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t rounds = IsThorough() ? 60 : 12;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t seed = static_cast<uint32_t>(random());
    // The same steps on any builder.
    const auto make = [&](webnn::GraphBuilder& builder, const std::vector<Dimension>& left,
                          const std::vector<Dimension>& right) -> webnnd::Result<Operand> {
      std::mt19937 choices(seed);
      ASSIGN_OR_RETURN(Operand a, builder.Input("a", kFloat, left));
      ASSIGN_OR_RETURN(Operand b, builder.Input("b", kFloat, right));
      ASSIGN_OR_RETURN(Operand all, builder.Concat({a, b}, 1));  // [2, past + seq, 4]
      Operand rows = b;
      for (uint32_t step = 0; step < 8; ++step) {
        switch (choices() % 8) {
          case 0: {
            ASSIGN_OR_RETURN(rows, builder.Tanh(rows));
            break;
          }
          case 1: {
            ASSIGN_OR_RETURN(Operand sum,
                             builder.ReduceMean(all, {.axes = {{1}}, .keep_dimensions = true}));
            ASSIGN_OR_RETURN(rows, builder.Add(rows, sum));
            break;
          }
          case 2: {
            ASSIGN_OR_RETURN(Operand turned, builder.Transpose(all, {.permutation = {{0, 2, 1}}}));
            ASSIGN_OR_RETURN(Operand scores, builder.Matmul(rows, turned));
            ASSIGN_OR_RETURN(Operand weights, builder.Softmax(scores, 2));
            ASSIGN_OR_RETURN(rows, builder.Matmul(weights, all));
            break;
          }
          case 3: {
            ASSIGN_OR_RETURN(all, builder.Sin(all));
            break;
          }
          case 4: {
            std::vector<Dimension> shape = rows.descriptor().dimensions();
            ASSIGN_OR_RETURN(
                Operand flat,
                builder.Reshape(rows, Sizes(std::vector<Dimension>{2u, shape[1], 2u, 2u})));
            ASSIGN_OR_RETURN(flat, builder.Transpose(flat, {.permutation = {{0, 2, 1, 3}}}));
            ASSIGN_OR_RETURN(flat, builder.Transpose(flat, {.permutation = {{0, 2, 3, 1}}}));
            ASSIGN_OR_RETURN(rows, builder.Reshape(flat, Sizes(shape)));
            break;
          }
          case 5: {
            std::vector<Dimension> starts = {0u, left[1], 0u};
            ASSIGN_OR_RETURN(Operand tail, builder.Slice(all, Sizes(starts),
                                                         Sizes(rows.descriptor().dimensions())));
            ASSIGN_OR_RETURN(rows, builder.Mul(rows, tail));
            break;
          }
          case 6: {
            ASSIGN_OR_RETURN(Operand squares, builder.Mul(rows, rows));
            ASSIGN_OR_RETURN(Operand mean,
                             builder.ReduceMean(squares, {.axes = {{2}}, .keep_dimensions = true}));
            ASSIGN_OR_RETURN(Operand more, builder.Add(mean, *builder.Constant(kFloat, 1e-3)));
            ASSIGN_OR_RETURN(Operand root, builder.Sqrt(more));
            ASSIGN_OR_RETURN(Operand normal, builder.Div(rows, root));
            const Floats gain = {1, 2, 0.5, -1};
            ASSIGN_OR_RETURN(Operand g,
                             builder.Constant(kFloat, Shape{4}, std::as_bytes(std::span(gain))));
            ASSIGN_OR_RETURN(rows, builder.Mul(normal, g));
            break;
          }
          default: {
            ASSIGN_OR_RETURN(Operand zeros, builder.Expand(*builder.Constant(kFloat, 0.25),
                                                           Sizes(all.descriptor().dimensions())));
            ASSIGN_OR_RETURN(all, builder.Add(all, zeros));
          }
        }
      }
      return builder.Concat({rows, all}, 1);
    };
    webnn::GraphBuilder dynamic_builder(context_);
    auto result = make(dynamic_builder, {2u, past_, 4u}, {2u, seq_, 4u});
    ASSERT_TRUE(result.ok()) << result.error().message();
    auto graph = ml().Wait(dynamic_builder.Build({{"y", *result}}));
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    auto ta = MakeTensor({2u, past_, 4u}), tb = MakeTensor({2u, seq_, 4u});
    auto ty = MakeTensor(result->descriptor().dimensions());
    for (uint32_t trial = 0; trial < 3; ++trial) {
      const uint32_t past = below(12) + 1, seq = below(5) + 1;
      webnn::GraphBuilder static_builder(context_);
      auto expected = make(static_builder, {2u, past, 4u}, {2u, seq, 4u});
      ASSERT_TRUE(expected.ok()) << expected.error().message();
      auto static_graph = ml().Wait(static_builder.Build({{"y", *expected}}));
      ASSERT_TRUE(static_graph.ok());
      auto sy = MakeTensor(expected->descriptor().dimensions());
      auto sa = MakeTensor({2u, past, 4u}), sb = MakeTensor({2u, seq, 4u});
      for (auto& [tensor, shape] :
           std::map<std::shared_ptr<Tensor>, Shape>{{ta, {2, past, 4}}, {tb, {2, seq, 4}}}) {
        ASSERT_TRUE(tensor->Resize(shape).ok());
      }
      Floats a = Ramp({2, past, 4}, 1), b = Ramp({2, seq, 4}, 2);
      for (float& value : a) value = std::sin(value);
      for (float& value : b) value = std::cos(value);
      for (const auto& tensor : {ta, sa}) Write(*tensor, a);
      for (const auto& tensor : {tb, sb}) Write(*tensor, b);
      ASSERT_TRUE(context_->Dispatch(**graph, {{"a", ta}, {"b", tb}}, {{"y", ty}}).ok());
      ASSERT_TRUE(context_->Dispatch(**static_graph, {{"a", sa}, {"b", sb}}, {{"y", sy}}).ok());
      EXPECT_EQ(ty->shape(), sy->shape());
      EXPECT_EQ(Read(*ty), Read(*sy)) << "seed " << seed << ", past " << past << ", seq " << seq;
    }
  }
}

}  // namespace
}  // namespace webnnd::service

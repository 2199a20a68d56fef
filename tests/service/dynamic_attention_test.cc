// Attention to caches that grow, wired at random: at any sizes it gives what the same graph gives
// that was built for these, without fusion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

using webidl::Dimension;
using webidl::DynamicDimension;
using webidl::Sizes;
using webnn::Tensor;
using Dimensions = std::vector<Dimension>;

constexpr OperandDataType kInt32 = OperandDataType::kInt32;
constexpr uint32_t kPastMax = 12;
constexpr uint32_t kSeqMax = 5;

// What stands for `past` and `seq`: names, or the sizes themselves.
struct Lengths {
  Dimension past;
  Dimension seq;
};

bool IsNumber(const Dimension& dimension) { return std::holds_alternative<uint32_t>(dimension); }

Dimension Times(uint32_t times, const Dimension& dimension) {
  if (const uint32_t* size = std::get_if<uint32_t>(&dimension)) return times * *size;
  if (times == 1) return dimension;
  const auto& dynamic = std::get<DynamicDimension>(dimension);
  return DynamicDimension{std::to_string(times) + " * " + dynamic.name, times * dynamic.max_size,
                          times * dynamic.min_size};
}

// pasts * past + seqs * seq.
Dimension Total(uint32_t pasts, uint32_t seqs, const Lengths& lengths) {
  const Dimension a = Times(pasts, lengths.past);
  const Dimension b = Times(seqs, lengths.seq);
  if (IsNumber(a)) return std::get<uint32_t>(a) + std::get<uint32_t>(b);
  const auto& x = std::get<DynamicDimension>(a);
  const auto& y = std::get<DynamicDimension>(b);
  return DynamicDimension{x.name + " + " + y.name, x.max_size + y.max_size,
                          x.min_size + y.min_size};
}

// Draws the same graph for the same seed, whatever the lengths are.
class Author {
 public:
  struct Input {
    OperandDataType type{};
    Dimensions dimensions;
    bool is_past = false;
    std::string present;  // The output that it grows to.
  };

  Author(uint32_t seed, webnn::GraphBuilder& builder, const Lengths& lengths)
      : random_(seed), data_(seed), builder_(builder), lengths_(lengths) {}

  void Write() {
    type_ = Draw(4) == 0 ? kHalf : kFloat;
    group_ = 1 + Draw(3);
    kv_heads_ = 1 + Draw(3);
    head_size_ = 8 << Draw(2);
    Operand x = In("x", {lengths_.seq, heads() * head_size_});
    layouts_.resize(1 + Draw(2));
    for (size_t i = 0; i < layouts_.size(); ++i) {
      const uint32_t drawn = Draw(6);
      layouts_[i] = drawn < 3 ? Layout::kHeads : static_cast<Layout>(drawn - 2);
      for (const char* what : {"keys", "values"}) AddPast(what + std::to_string(i), layouts_[i]);
    }
    CountPositions();
    for (size_t i = 0; i < layouts_.size(); ++i) {
      layer_ = std::to_string(i);
      layout_ = layouts_[i];
      x = Attend(x);
      outputs_.emplace("attended" + layer_, x);
      x = Normalized(x);
    }
  }

  const std::map<std::string, Input>& inputs() const { return inputs_; }
  const webnn::NamedOperands& outputs() const { return outputs_; }
  const std::string& text() const { return text_; }

 private:
  // Heads first, also as one of a batch; rows first; or two heads in the place of each, which are
  // its keys one after the other.
  enum class Layout { kHeads, kBatch, kRows, kParts };

  uint32_t Draw(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  bool Chooses(const char* what, uint32_t one_of = 2) {
    const bool chooses = Draw(one_of) == 0;
    if (chooses) text_ += std::string(" ") + what;
    return chooses;
  }
  uint32_t heads() const { return group_ * kv_heads_; }

  Operand In(const std::string& name, const Dimensions& dimensions) {
    inputs_[name] = {type_, dimensions, false, ""};
    return Must(builder_.Input(name, type_, dimensions));
  }
  Operand Constant(OperandDataType type, const Shape& shape,
                   const std::vector<long double>& values) {
    return Must(builder_.Constant(type, shape, HostTensor::Create(type, shape, values).bytes));
  }
  Operand Scalar(long double value) { return Constant(type_, {}, {value}); }
  Operand Weights(const Shape& shape, long double most) {
    uint32_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    std::vector<long double> values(count);
    for (long double& value : values) {
      value = most * (static_cast<int>(data_() % 129) - 64) / 64;
    }
    return Constant(type_, shape, values);
  }
  Operand Reshape(const Operand& x, const Dimensions& dimensions) {
    return Must(builder_.Reshape(x, Sizes(dimensions)));
  }
  Operand Transpose(const Operand& x, const std::vector<uint32_t>& permutation) {
    return Must(builder_.Transpose(x, {.permutation = permutation}));
  }
  // x / sqrt(mean(x * x) + 0.01).
  Operand Normalized(const Operand& x) {
    Operand squares = Must(builder_.Mul(x, x));
    Operand mean = Must(
        builder_.ReduceMean(squares, {.axes = std::vector<uint32_t>{1}, .keep_dimensions = true}));
    Operand root = Must(builder_.Sqrt(Must(builder_.Add(mean, Scalar(0.0078125L)))));
    return Must(builder_.Mul(Must(builder_.Div(x, root)), Weights({x.shape()[1]}, 2)));
  }

  // 0, 1, 2 and so on, [1, end].
  Operand CountTo(const Dimension& end) {
    Operand ones = Must(builder_.Expand(Constant(kInt32, {}, {1}), Sizes(Dimensions{1u, end})));
    return Must(builder_.CumulativeSum(ones, 1, {.exclusive = true}));
  }
  void CountPositions() {
    count_.push_back(CountTo(Total(1, 1, lengths_)));
    Operand of_rows = Must(builder_.Slice(count_[0], Sizes(Dimensions{0u, lengths_.past}),
                                          Sizes(Dimensions{1u, lengths_.seq})));
    count_.push_back(Reshape(of_rows, {lengths_.seq, 1u}));
    std::vector<long double> list(kPastMax + kSeqMax);
    for (size_t i = 0; i < list.size(); ++i) list[i] = i;
    Operand all = Constant(kInt32, {kPastMax + kSeqMax}, list);
    count_.push_back(Must(
        builder_.Slice(all, Sizes(Dimensions{lengths_.past}), Sizes(Dimensions{lengths_.seq}))));
  }

  Operand Project(const Operand& x, uint32_t columns) {
    return Must(builder_.Gemm(x, Weights({columns, x.shape()[1]}, 0.25L), {.b_transpose = true}));
  }
  // [seq, heads, head size], turned.
  Operand Turn(const Operand& x, uint32_t heads) {
    const uint32_t half = head_size_ / 2;
    Operand halves = Reshape(x, {lengths_.seq, heads, 2u, half});
    std::vector<Operand> parts = Must(builder_.Split(halves, 2u, {.axis = 2}));
    Operand swapped = Must(builder_.Concat({parts[1], parts[0]}, 2));
    const auto angles = [&] {
      Operand table = Weights({kPastMax + kSeqMax, half}, 1);
      return Reshape(Must(builder_.Gather(table, count_[2], {.axis = 0})),
                     {lengths_.seq, 1u, 1u, half});
    };
    Operand straight = Must(builder_.Mul(halves, angles()));
    Operand crossed = Must(builder_.Mul(swapped, angles()));
    Operand turned = Must(builder_.Mul(crossed, Constant(type_, {2, 1}, {-1, 1})));
    const Dimensions rows = {lengths_.seq, heads, head_size_};
    return Must(builder_.Add(Reshape(straight, rows), Reshape(turned, rows)));
  }

  // The cache before, unless it is empty.
  void AddPast(const std::string& what, Layout layout) {
    if (lengths_.past == Dimension(0u)) return;
    const Dimension& past = lengths_.past;
    Dimensions shape = {kv_heads_, past, head_size_};
    if (layout == Layout::kBatch) shape = {1u, kv_heads_, past, head_size_};
    if (layout == Layout::kRows) shape = {past, kv_heads_, head_size_};
    if (layout == Layout::kParts) shape = {2 * kv_heads_, past, head_size_};
    const std::string name = "past " + what;
    past_.emplace(what, In(name, shape));
    inputs_[name].is_past = true;
    inputs_[name].present = "present " + what;
  }
  // The cache with rows of [seq, kv heads * head size]: [kv heads, past + seq, head size].
  Operand Grow(const Operand& rows, const std::string& what) {
    Operand fresh = rows;
    uint32_t axis = 1;
    switch (layout_) {
      case Layout::kHeads:
        fresh = Transpose(Reshape(rows, {lengths_.seq, kv_heads_, head_size_}), {1, 0, 2});
        break;
      case Layout::kBatch:
        axis = 2;
        fresh = Transpose(Reshape(rows, {1u, lengths_.seq, kv_heads_, head_size_}), {0, 2, 1, 3});
        break;
      case Layout::kRows:
        axis = 0;
        fresh = Reshape(rows, {lengths_.seq, kv_heads_, head_size_});
        break;
      case Layout::kParts:
        // Keys of a head are those of two in turn.
        fresh = Transpose(Reshape(rows, {lengths_.seq, kv_heads_, head_size_}), {1, 0, 2});
        fresh = Must(builder_.Concat({fresh, Must(builder_.Neg(fresh))}, 0));
    }
    Operand present = fresh;
    const bool is_past_read = Chooses("past is read", 8);
    if (const auto past = past_.find(what); past != past_.end()) {
      present = Must(builder_.Concat({past->second, fresh}, axis));
      if (is_past_read) outputs_.emplace("past read" + what, Must(builder_.Neg(past->second)));
    }
    outputs_.emplace("present " + what, present);
    if (Chooses("present is read", 6)) {
      outputs_.emplace("present read" + what, Must(builder_.Neg(present)));
    }
    if (layout_ == Layout::kRows) present = Transpose(present, {1, 0, 2});
    if (layout_ == Layout::kBatch || layout_ == Layout::kParts) {
      present = Reshape(present, {kv_heads_, keys(), head_size_});
    }
    return present;
  }
  Dimension keys() const {
    const uint32_t times = layout_ == Layout::kParts ? 2 : 1;
    return Total(times, times, lengths_);
  }

  // [seq, keys]
  Operand Mask() {
    Operand key = count_[0];
    Operand last = count_[1];
    if (layout_ == Layout::kParts) {
      // The last of them.
      key = CountTo(keys());
      last = Must(builder_.Slice(key, Sizes(Dimensions{0u, Total(2, 1, lengths_)}),
                                 Sizes(Dimensions{1u, lengths_.seq})));
      last = Reshape(last, {lengths_.seq, 1u});
    }
    const bool contrary = Draw(2) == 0;
    Operand condition =
        Must(contrary ? builder_.Greater(key, last) : builder_.LesserOrEqual(key, last));
    if (!contrary && Chooses("window", 3)) {
      Operand seen = Must(builder_.CumulativeSum(Must(builder_.Cast(condition, kInt32)), 1,
                                                 {.exclusive = true, .reversed = true}));
      Operand is_near = Must(builder_.Lesser(seen, Constant(kInt32, {}, {3})));
      condition = Must(builder_.LogicalAnd(condition, is_near));
    }
    Operand none = Scalar(type_ == kHalf ? -65504 : -1e30L);
    return Must(contrary ? builder_.Where(condition, none, Scalar(0))
                         : builder_.Where(condition, Scalar(0), none));
  }

  Operand Attend(const Operand& x) {
    text_ += "; " + std::to_string(group_) + "*" + std::to_string(kv_heads_) + " heads of " +
             std::to_string(head_size_) + ", layout " + std::to_string(static_cast<int>(layout_));
    Operand queries = Draw(3) == 0 ? x : Project(x, heads() * head_size_);
    Operand key_rows = Project(x, kv_heads_ * head_size_);
    if (Chooses("rotary")) {
      queries = Turn(queries, heads());
      key_rows = Turn(key_rows, kv_heads_);
    }
    Operand keys_now = Grow(key_rows, "keys" + layer_);
    Operand values = Grow(Project(x, kv_heads_ * head_size_), "values" + layer_);
    Operand by_head = Transpose(Reshape(queries, {lengths_.seq, heads(), head_size_}), {1, 0, 2});
    const bool by_lines = Chooses("lines");
    if (by_lines) {
      by_head = Reshape(by_head, {kv_heads_, Times(group_, lengths_.seq), head_size_});
    } else if (group_ != 1) {
      for (Operand* heads_of : {&keys_now, &values}) {
        Operand one = Reshape(*heads_of, {kv_heads_, 1u, keys(), head_size_});
        Operand all =
            Must(builder_.Expand(one, Sizes(Dimensions{kv_heads_, group_, keys(), head_size_})));
        *heads_of = Reshape(all, {heads(), keys(), head_size_});
      }
    }
    Operand products = Must(builder_.Matmul(by_head, Transpose(keys_now, {0, 2, 1})));
    Operand scores = Must(builder_.Mul(products, Scalar(0.25L)));
    if (by_lines) scores = Reshape(scores, {kv_heads_, group_, lengths_.seq, keys()});
    scores = Must(builder_.Add(scores, Mask()));
    Operand weights = Must(builder_.Softmax(scores, by_lines ? 3 : 2));
    if (by_lines) weights = Reshape(weights, {kv_heads_, Times(group_, lengths_.seq), keys()});
    Operand result = Must(builder_.Matmul(weights, values));
    result = Transpose(Reshape(result, {heads(), lengths_.seq, head_size_}), {1, 0, 2});
    return Reshape(result, {lengths_.seq, heads() * head_size_});
  }

  std::mt19937 random_;
  std::mt19937 data_;  // Of weights, apart, so that both lengths have the same.
  webnn::GraphBuilder& builder_;
  Lengths lengths_;
  std::map<std::string, Input> inputs_;
  webnn::NamedOperands outputs_;
  std::string text_;
  OperandDataType type_ = kFloat;
  uint32_t group_ = 1;
  uint32_t kv_heads_ = 1;
  uint32_t head_size_ = 8;
  std::vector<Layout> layouts_;
  std::map<std::string, Operand> past_;
  Layout layout_ = Layout::kHeads;  // Of the layer that is being written.
  std::string layer_;
  std::vector<Operand> count_;  // Of keys [1, keys], of rows [seq, 1], of rows for tables [seq].
};

class DynamicAttention : public ServiceTest {
 protected:
  void TearDown() override {
    CloseClient();
    ServiceTest::TearDown();
  }

  std::shared_ptr<Tensor> Make(webnn::Context& context, OperandDataType type,
                               const Dimensions& dimensions) {
    return Must(ml().Wait(context.CreateTensor(
        {.data_type = type, .shape = Sizes(dimensions), .readable = true, .writable = true})));
  }

  // Capacities of their own, where they are larger than what is needed.
  static Dimensions Roomy(Dimensions dimensions, uint32_t more) {
    int names = 0;
    for (Dimension& dimension : dimensions) {
      if (auto* dynamic = std::get_if<DynamicDimension>(&dimension)) {
        *dynamic = {"n" + std::to_string(names++), dynamic->max_size + more, 0};
      }
    }
    return dimensions;
  }

  static std::vector<long double> Data(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<long double> values(count);
    for (long double& value : values) value = (static_cast<int>(random() % 513) - 256) / 128.0L;
    return values;
  }

  void Compare(uint32_t seed);
};

void DynamicAttention::Compare(uint32_t seed) {
  std::mt19937 choices(seed + 1);
  const Lengths names = {DynamicDimension{"past", kPastMax, 0},
                         DynamicDimension{"seq", kSeqMax, 1}};
  auto context = MakeContext();
  webnn::GraphBuilder builder(context);
  Author author(seed, builder, names);
  author.Write();
  auto graph = Must(ml().Wait(builder.Build(author.outputs())));
  const bool in_place = choices() % 2 == 0;
  const bool is_uneven = choices() % 4 == 0;
  webnn::NamedTensors inputs;
  webnn::NamedTensors outputs;
  uint32_t more = 0;
  for (const auto& [name, input] : author.inputs()) {
    // A cache has room for what comes.
    if (is_uneven) ++more;
    inputs[name] =
        Make(*context, input.type, Roomy(input.dimensions, input.is_past ? kSeqMax + more : 0));
    if (in_place && input.is_past) outputs[input.present] = inputs[name];
  }
  for (const auto& [name, operand] : author.outputs()) {
    if (outputs.contains(name)) continue;
    outputs[name] =
        Make(*context, operand.data_type(), Roomy(operand.descriptor().dimensions(), more));
  }
  std::shared_ptr<webnn::Binding> binding = Must(context->Bind(*graph, inputs, outputs));
  for (uint32_t trial = 0; trial < 4; ++trial) {
    // One row and many rows.
    const uint32_t seq = trial % 2 == 0 ? 1 : 1 + static_cast<uint32_t>(choices() % kSeqMax);
    const uint32_t past = static_cast<uint32_t>(choices() % (kPastMax + 1));
    SCOPED_TRACE("seed " + std::to_string(seed) + (in_place ? " in place" : "") +
                 (is_uneven ? " uneven" : "") + ", past " + std::to_string(past) + ", seq " +
                 std::to_string(seq) + author.text());
    auto fixed_context = MakeContext({.fusion = false});
    webnn::GraphBuilder fixed_builder(fixed_context);
    Author fixed(seed, fixed_builder, {past, seq});
    fixed.Write();
    auto fixed_graph = Must(ml().Wait(fixed_builder.Build(fixed.outputs())));
    webnn::NamedTensors fixed_inputs;
    webnn::NamedTensors fixed_outputs;
    for (const auto& [name, input] : author.inputs()) {
      const auto found = fixed.inputs().find(name);
      Shape shape;
      for (const Dimension& dimension : input.dimensions) {
        if (IsNumber(dimension)) {
          shape.push_back(std::get<uint32_t>(dimension));
        } else {
          shape.push_back(std::get<DynamicDimension>(dimension).name == "past" ? past : seq);
        }
      }
      size_t count = 1;
      for (uint32_t extent : shape) count *= extent;
      ASSERT_TRUE(inputs[name]->Resize(shape).ok());
      if (count == 0) continue;
      const HostTensor data = HostTensor::Create(
          input.type, shape, Data(count, seed + trial + static_cast<uint32_t>(name.size())));
      ASSERT_TRUE(context->WriteTensor(*inputs[name], data.bytes).ok());
      if (found == fixed.inputs().end()) continue;
      fixed_inputs[name] = Make(*fixed_context, input.type, found->second.dimensions);
      ASSERT_TRUE(fixed_context->WriteTensor(*fixed_inputs[name], data.bytes).ok());
    }
    for (const auto& [name, operand] : fixed.outputs()) {
      fixed_outputs[name] =
          Make(*fixed_context, operand.data_type(), operand.descriptor().dimensions());
    }
    ASSERT_TRUE(fixed_context->Dispatch(*fixed_graph, fixed_inputs, fixed_outputs).ok());
    auto dispatched = context->Dispatch(*binding);
    ASSERT_TRUE(dispatched.ok()) << dispatched.error().ToString();
    for (const auto& [name, operand] : fixed.outputs()) {
      SCOPED_TRACE(name);
      auto bytes = ml().Wait(context->ReadTensor(*outputs[name]));
      ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
      ASSERT_EQ(outputs[name]->shape(), operand.shape());
      const HostTensor got = {operand.descriptor(), *bytes};
      const HostTensor want = {operand.descriptor(),
                               Must(ml().Wait(fixed_context->ReadTensor(*fixed_outputs[name])))};
      const std::vector<long double> values = got.Values();
      const std::vector<long double> wanted = want.Values();
      long double greatest = 0;
      for (long double value : wanted) greatest = std::max(greatest, std::fabs(value));
      const long double tolerance = greatest * (operand.data_type() == kHalf ? 0x1p-6L : 0x1p-16L);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_LE(std::fabs(wanted[i] - values[i]), tolerance) << "element " << i;
      }
    }
  }
}

TEST_F(DynamicAttention, RandomGraphs_EqualTheirStaticForms) {
  const uint32_t graphs = IsThorough() ? 60 : 4;
  for (uint32_t seed = FirstSeed(); seed < FirstSeed() + graphs; ++seed) {
    if (FirstSeed() != 0) std::fprintf(stderr, "seed %u\n", seed);
    Compare(seed);
    if (HasFailure() && FirstSeed() == 0) return;
  }
}

}  // namespace
}  // namespace webnnd::service::fusion_test

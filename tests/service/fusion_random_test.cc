// Nets of what fusion looks for, wired at random. All rows are as long as weights have columns, so
// that an operand in the place of another fits: only what comes out tells.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "service/passes/fusion/fusion_choice.h"
#include "tests/service/fusion_fixture.h"
#include "tests/service/random_attention.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

// Draws the same net for the same seed, of the type.
class Author {
 public:
  Author(uint32_t seed, Net& net, OperandDataType type) : random_(seed), net_(net), type_(type) {
    const uint32_t sizes[] = {64, 64, 96, 128};
    size_ = sizes[Draw(4)];
    const uint32_t rows[] = {1, 1, 1, 2, 3, 17, size_};
    rows_ = rows[Draw(7)];
    for (uint32_t i = 0; i < 2; ++i) Keep("in", net_.In(type_, {rows_, size_}));
    Keep("in of one row", net_.In(type_, {1, size_}));
    Keep("constant", net_.Constant(type_, {1, size_}));
  }

  void Write() {
    const size_t given = kept_.size();
    const uint32_t steps = 3 + Draw(8);
    for (uint32_t i = 0; i < steps; ++i) Step();
    // What others use may be wanted for itself, too.
    for (size_t i = given; i < kept_.size(); ++i) {
      if (!kept_[i].is_used || Draw(6) == 0) net_.Out(kept_[i].operand);
    }
  }
  // Behind the others, all that there is.
  void OutAll() {
    for (const Kept& kept : kept_) net_.Out(Must(builder().Identity(kept.operand)));
  }

  // A line for each operand.
  const std::string& text() const { return text_; }

 private:
  struct Kept {
    Operand operand;
    bool is_used = false;
  };

  uint32_t Draw(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  // Mostly of the last ones, so that chains get long.
  Operand Take() {
    const size_t back = Draw(3) == 0 ? Draw(static_cast<uint32_t>(kept_.size())) : Draw(2);
    return Use(kept_.size() - 1 - back);
  }
  Operand Use(size_t index) {
    kept_[index].is_used = true;
    used_ += " " + std::to_string(index);
    return kept_[index].operand;
  }
  void Keep(const std::string& what, const Operand& operand) {
    text_ += std::to_string(kept_.size()) + " = " + what + used_ + "\n";
    used_.clear();
    kept_.push_back({operand});
  }

  webnn::GraphBuilder& builder() { return net_.builder; }
  Operand Multiply(const Operand& x) {
    if (Draw(2) == 0) return Project(net_, x, size_);
    constexpr OperandDataType kTypes[] = {OperandDataType::kUint4, OperandDataType::kUint4,
                                          OperandDataType::kInt4, OperandDataType::kUint8,
                                          OperandDataType::kInt8};
    const OperandDataType type = kTypes[Draw(5)];
    return AddBlockMatmul(net_, x, type, size_, 16u << Draw(2));
  }
  Operand NormOf(const Operand& x) {
    return AddNorm(net_, x, net_.Constant(x.data_type(), {x.shape().back()})).result;
  }
  Operand Gate(const Operand& gate, const Operand& up) {
    Operand silu = Must(builder().Mul(gate, Must(builder().Sigmoid(gate))));
    return Must(builder().Mul(silu, up));
  }
  Operand InRowsOf(const Operand& x, uint32_t size) {
    const uint32_t elements = x.shape()[0] * x.shape()[1];
    return Must(builder().Reshape(x, {elements / size, size}));
  }
  // Halves of rows, the second turned round, as rotary embeddings have it.
  Operand Turn(const Operand& x) {
    std::vector<Operand> halves = Must(builder().Split(x, 2u, {.axis = 1}));
    return Must(builder().Concat({Must(builder().Neg(halves[1])), halves[0]}, 1));
  }

  Operand Indices(const Shape& shape) {
    uint32_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    std::vector<long double> values(count);
    // Some count from the end, some are out of range, some are the same.
    for (long double& value : values) value = static_cast<int>(Draw(90)) - 45;
    const OperandDataType type = Draw(2) == 0 ? OperandDataType::kInt32 : OperandDataType::kInt64;
    return Draw(2) == 0 ? net_.Integers(shape, values, type) : net_.Constant(type, shape, values);
  }
  Operand LookUp(const Operand& x) {
    Operand table = Draw(2) == 0 ? x : net_.Constant(type_, {20, size_});
    Operand rows = Must(builder().Gather(table, Indices({rows_}), {.axis = 0}));
    return Draw(2) == 0 ? NormOf(rows) : rows;
  }
  Operand Gather(const Operand& x) {
    switch (Draw(3)) {
      case 0:
        return Must(builder().Gather(x, Indices({size_}), {.axis = 1}));
      case 1:
        return Must(builder().GatherElements(x, Indices({x.shape()[0], size_}), {.axis = Draw(2)}));
      default:
        return Must(builder().GatherND(x, Indices({x.shape()[0], size_, 2})));
    }
  }
  Operand Scatter(const Operand& x, const Operand& y) {
    const uint32_t rows = y.shape()[0];
    switch (Draw(3)) {
      case 0:
        return Must(builder().ScatterND(x, Indices({rows, 1}), y));
      case 1:
        return Must(builder().ScatterND(x, Indices({rows, size_, 2}), y));
      default: {
        const uint32_t axis = x.shape()[0] == rows ? Draw(2) : 0;
        return Must(builder().ScatterElements(x, Indices({rows, size_}), y, {.axis = axis}));
      }
    }
  }

  void Step() {
    Operand x = Take();
    switch (Draw(23)) {
      case 0:
      case 1:
        return Keep("norm", NormOf(x));
      case 2:
      case 3:
        return Keep("product", Multiply(x));
      case 4: {
        Keep("norm", NormOf(x));
        const size_t norm = kept_.size() - 1;
        Keep("product", Multiply(Use(norm)));
        if (Draw(2) == 0) Keep("product", Multiply(Use(norm)));
        return;
      }
      case 5: {
        Operand y = Take();
        return Keep("sum", Must(builder().Add(x, y)));
      }
      case 6: {
        Operand y = Take();
        return Keep("elements' product", Must(builder().Mul(x, y)));
      }
      case 7:
        return Keep("biased", AddBias(net_, x));
      case 8: {
        Operand y = Take();
        return Keep("gated", Gate(x, y));
      }
      case 9:
        return Keep("gated products", Gate(Multiply(x), Multiply(x)));
      case 10: {
        // The second matrix of a product, or what it adds.
        Operand y = Take();
        if (y.shape()[0] == size_ && Draw(2) == 0) {
          return Keep("gemm", Must(builder().Gemm(x, y, {.b_transpose = Draw(2) == 0})));
        }
        if (y.shape()[0] != 1 && y.shape()[0] != x.shape()[0]) std::swap(x, y);
        Operand weights = net_.Constant(type_, {size_, size_});
        return Keep("gemm and c", Must(builder().Gemm(x, weights, {.c = y, .b_transpose = true})));
      }
      case 11: {
        const uint32_t size = Draw(2) == 0 || x.shape()[0] % 2 != 0 ? size_ / 2 : 2 * size_;
        return Keep("norm of others' rows", InRowsOf(NormOf(InRowsOf(x, size)), size_));
      }
      case 12:
        return Keep("softmax of norm", Must(builder().Softmax(NormOf(x), 1)));
      case 13:
        return Keep("turned", Turn(x));
      case 14:
        return Keep("looked up", LookUp(x));
      case 15: {
        Operand y = Take();
        return Keep("scattered", Scatter(x, y));
      }
      case 16:
        return Keep("gathered", Gather(x));
      case 17: {
        Operand wide = Must(builder().Cast(x, kFloat));
        return Keep("wider", Must(builder().Cast(NormOf(wide), type_)));
      }
      case 18: {
        const char* const names[] = {"relu", "gelu", "tanh", "leaky"};
        const uint32_t drawn = Draw(4);
        const auto activate = [&] {
          if (drawn == 0) return builder().Relu(x);
          if (drawn == 1) return builder().Gelu(x);
          if (drawn == 2) return builder().Tanh(x);
          return builder().LeakyRelu(x, {.alpha = 0.25});
        };
        return Keep(names[drawn], Must(activate()));
      }
      default: {
        // Scores stay small.
        RandomAttention attention(net_, random_, /*strange=*/30);
        Operand attended = attention.Attend(NormOf(x));
        return Keep("attention:" + attention.text(), attended);
      }
    }
  }

  std::mt19937 random_;
  Net& net_;
  OperandDataType type_;
  uint32_t size_ = 0;  // Of a row.
  uint32_t rows_ = 1;
  std::vector<Kept> kept_;
  std::string used_;
  std::string text_;
};

long double Greatest(const std::vector<long double>& values) {
  long double greatest = 0;
  for (long double value : values) {
    if (std::isfinite(value)) greatest = std::max(greatest, std::fabs(value));
  }
  return greatest;
}

// By how much the values are off at most; nothing else may be where one is no number.
long double Distance(const std::vector<long double>& wanted,
                     const std::vector<long double>& values) {
  long double distance = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == values[i] || (std::isnan(wanted[i]) && std::isnan(values[i]))) continue;
    const long double off = std::fabs(wanted[i] - values[i]);
    if (!std::isfinite(off)) return std::numeric_limits<long double>::infinity();
    distance = std::max(distance, off);
  }
  return distance;
}

class RandomFusion : public Fusion {
 protected:
  // Writes a net of the seed; where it wants all, what else it keeps follows the outputs.
  using WriteAs = std::function<std::string(uint32_t seed, Net&, OperandDataType, bool wants_all)>;

  // Nets that `write` draws, fused and as they are. A wrong operand is off by as much as there is;
  // ten steps after each other round by far less. In float16 they round by about as much as those
  // that are not fused, which is seen by the same in float32.
  void ExpectTheSameFused(uint32_t nets, const WriteAs& write) {
    constexpr long double kTolerance = 0x1p-10L;
    const std::vector<std::string> names = FusionChoice::Names();
    uint32_t fused_nets = 0;
    uint32_t half_outputs = 0;
    for (uint32_t i = 0; i < nets; ++i) {
      const uint32_t seed = FirstSeed() + i;
      std::mt19937 choices(seed);
      const OperandDataType type = choices() % 4 == 0 ? kHalf : kFloat;
      std::string left_out;
      if (choices() % 4 == 0) left_out = "-" + names[choices() % names.size()];
      std::string text;
      const auto write_as = [&](OperandDataType as, bool wants_all = false) {
        return [&, as, wants_all](Net& net) { text = write(seed, net, as, wants_all); };
      };
      if (FirstSeed() != 0) std::fprintf(stderr, "seed %u\n", seed);
      const Net::Ran plain = Run(write_as(type), /*fusion=*/false);
      const bool in_place = choices() % 2 == 0;
      const Net::Ran fused = Run(write_as(type), /*fusion=*/true, left_out, in_place);
      SCOPED_TRACE("seed " + std::to_string(seed) + (in_place ? " in place " : " ") + left_out +
                   "\n" + text);
      if (fused.kernels < plain.kernels) ++fused_nets;
      ASSERT_EQ(fused.outputs.size(), plain.outputs.size());
      std::optional<Net::Ran> exact;
      if (type == kHalf) {
        exact = Run(write_as(kFloat, /*wants_all=*/true), /*fusion=*/false);
        long double greatest = 0;
        for (const HostTensor& values : exact->outputs) {
          greatest = std::max(greatest, Greatest(values.Values()));
        }
        // Squares overflow in float16 where kernels that calculate in float32 have room.
        if (greatest > 128) continue;
      }
      for (size_t output = 0; output < plain.outputs.size(); ++output) {
        const std::vector<long double> wanted = plain.outputs[output].Values();
        const std::vector<long double> values = fused.outputs[output].Values();
        long double tolerance = kTolerance * Greatest(wanted);
        if (exact) {
          const std::vector<long double> right = exact->outputs[output].Values();
          tolerance = 4 * tolerance + 4 * Distance(right, wanted);
          // Where rounding makes as much of a difference, nothing can be told.
          if (!(4 * tolerance < Greatest(right))) continue;
          ++half_outputs;
        }
        EXPECT_LE(Distance(wanted, values), tolerance)
            << "output " << output << " of " << Greatest(wanted);
      }
      if (HasFailure() && FirstSeed() == 0) return;
    }
    EXPECT_GT(fused_nets, nets / 2);
    EXPECT_GT(half_outputs, nets / 20);
  }
};

TEST_F(RandomFusion, Nets_AreTheSameFused) {
  ExpectTheSameFused(IsThorough() ? 70 : 25,
                     [](uint32_t seed, Net& net, OperandDataType type, bool wants_all) {
                       Author author(seed, net, type);
                       author.Write();
                       if (wants_all) author.OutAll();
                       return author.text();
                     });
}

TEST_F(RandomFusion, Attention_IsTheSameFused) {
  ExpectTheSameFused(IsThorough() ? 90 : 25, [](uint32_t seed, Net& net, OperandDataType type,
                                                bool /*wants_all*/) {
    std::mt19937 random(seed);
    const uint32_t rows[] = {1, 2, 3, 7};
    RandomAttention attention(net, random, /*strange=*/seed % 3 == 0 ? 0 : 15);
    net.Out(attention.Attend(net.In(type, {rows[random() % 4], 32u << random() % 2})));
    return attention.text();
  });
}

}  // namespace
}  // namespace webnnd::service::fusion_test

// Nets of what fusion looks for, wired at random. All rows are as long as weights have columns, so
// that an operand in the place of another fits: only what comes out tells.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

constexpr uint32_t kSize = 64;

// Draws the same net for the same seed.
class Author {
 public:
  Author(uint32_t seed, Net& net) : random_(seed), net_(net) {
    const uint32_t rows[] = {1, 1, 3, kSize};
    rows_ = rows[Draw(4)];
    for (uint32_t i = 0; i < 2; ++i) Keep("in", net_.In(kFloat, {rows_, kSize}));
    Keep("in of one row", net_.In(kFloat, {1, kSize}));
    Keep("constant", net_.Constant(kFloat, {1, kSize}));
  }

  void Write() {
    const size_t given = kept_.size();
    const uint32_t steps = 3 + Draw(8);
    for (uint32_t i = 0; i < steps; ++i) Step();
    // Inputs that nobody uses are none of the graph's.
    for (size_t i = 0; i < given; ++i) {
      if (!kept_[i].is_used) net_.Out(Must(builder().Neg(kept_[i].operand)));
    }
    // What others use may be wanted for itself, too.
    for (size_t i = given; i < kept_.size(); ++i) {
      if (!kept_[i].is_used || Draw(6) == 0) net_.Out(kept_[i].operand);
    }
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
    return Draw(2) == 0 ? Project(net_, x, kSize)
                        : AddBlockMatmul(net_, x, OperandDataType::kUint4, kSize, 32);
  }
  Operand NormOf(const Operand& x) {
    return AddNorm(net_, x, net_.Constant(kFloat, {x.shape().back()})).result;
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

  void Step() {
    Operand x = Take();
    switch (Draw(14)) {
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
        if (y.shape()[0] == kSize && Draw(2) == 0) {
          return Keep("gemm", Must(builder().Gemm(x, y, {.b_transpose = Draw(2) == 0})));
        }
        if (y.shape()[0] != 1 && y.shape()[0] != x.shape()[0]) std::swap(x, y);
        Operand weights = net_.Constant(kFloat, {kSize, kSize});
        return Keep("gemm and c", Must(builder().Gemm(x, weights, {.c = y, .b_transpose = true})));
      }
      case 11: {
        const uint32_t size = Draw(2) == 0 || x.shape()[0] % 2 != 0 ? kSize / 2 : 2 * kSize;
        return Keep("norm of others' rows", InRowsOf(NormOf(InRowsOf(x, size)), kSize));
      }
      case 12:
        return Keep("softmax of norm", Must(builder().Softmax(NormOf(x), 1)));
      default:
        return Keep("turned", Turn(x));
    }
  }

  std::mt19937 random_;
  Net& net_;
  uint32_t rows_ = 1;
  std::vector<Kept> kept_;
  std::string used_;
  std::string text_;
};

TEST_F(Fusion, RandomNets_AreTheSameFused) {
  // A wrong operand is off by as much as there is; ten steps after each other round by far less.
  constexpr long double kTolerance = 0x1p-10L;
  const uint32_t nets = IsThorough() ? 400 : 60;
  uint32_t fused_nets = 0;
  for (uint32_t seed = 0; seed < nets; ++seed) {
    std::string text;
    const auto write = [&](Net& net) {
      Author author(seed, net);
      author.Write();
      text = author.text();
    };
    const Net::Ran plain = Run(write, /*fusion=*/false);
    const Net::Ran fused = Run(write, /*fusion=*/true);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    if (fused.kernels < plain.kernels) ++fused_nets;
    ASSERT_EQ(fused.outputs.size(), plain.outputs.size());
    for (size_t i = 0; i < plain.outputs.size(); ++i) {
      const std::vector<long double> wanted = plain.outputs[i].Values();
      const std::vector<long double> values = fused.outputs[i].Values();
      long double greatest = 0;
      for (long double value : wanted) greatest = std::max(greatest, std::fabs(value));
      for (size_t e = 0; e < wanted.size(); ++e) {
        ASSERT_LE(std::fabs(wanted[e] - values[e]), kTolerance * greatest)
            << "element " << e << " of output " << i;
      }
    }
  }
  EXPECT_GT(fused_nets, nets / 2);
}

}  // namespace
}  // namespace webnnd::service::fusion_test

// BlockMatmul and MatmulGroup against double-precision loops, between guard bands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;

struct Case {
  OperandDataType type = kFloat;
  uint32_t rows = 1;
  uint32_t depth = 64;
  std::vector<uint32_t> columns;  // Of each product.
  bool biases = false;
  bool gated = false;
  // Of weights by block; 0: they are as they are.
  uint32_t block = 0;
  OperandDataType weights = OperandDataType::kUint4;
  // Whether scales and zero points come by tiles of rows (service/passes/pack_block_scales.h).
  bool by_tiles = false;
  // Whether x, a single row, is normalised first.
  bool normalizes = false;
};

constexpr double kNormalizationEpsilon = 0.25;  // Large, so that it is seen.

// Weights of one product, in doubles, and its bias.
struct Weights {
  std::vector<double> of;  // [N, K]
  std::vector<double> bias;
};

class MatmulGroupGraph {
 public:
  explicit MatmulGroupGraph(Case test) : test_(std::move(test)), random_(test_.depth) {
    x_ = Doubles(Add(Random(test_.type, {test_.rows, test_.depth})));
    for (uint32_t columns : test_.columns) AddProduct(columns);
    node_.kind = OperatorKind::kMatmul;
    node_.macro = MatmulGroup{.by_block = test_.block != 0,
                              .gated = test_.gated,
                              .normalizes = test_.normalizes,
                              .epsilon = kNormalizationEpsilon};
    if (test_.normalizes) Normalize(Doubles(Add(Random(test_.type, {test_.depth}))));
    AddResults();
  }

  void Expect() {
    SCOPED_TRACE(testing::Message()
                 << webidl::ToString(test_.type) << " [" << test_.rows << ", " << test_.depth
                 << "] x " << testing::PrintToString(test_.columns) << ", block " << test_.block
                 << ' ' << webidl::ToString(test_.weights) << ", biases " << test_.biases
                 << ", gated " << test_.gated << ", by tiles " << test_.by_tiles << ", normalizes "
                 << test_.normalizes);
    graph_.nodes = {node_};
    Result<std::vector<HostTensor>> results = RunGraph(graph_, inputs_);
    ASSERT_TRUE(results.ok()) << results.error().ToString();
    for (size_t i = 0; i < results->size(); ++i) ExpectResult(i, (*results)[i].Values());
  }

 private:
  HostTensor Random(OperandDataType type, const Shape& shape) {
    size_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    const bool is_float = type == kFloat || type == kHalf;
    const bool is_signed = type == OperandDataType::kInt4 || type == OperandDataType::kInt8;
    std::uniform_real_distribution<double> real(-1, 1);
    std::uniform_int_distribution<int> integer(is_signed ? -8 : 0, is_signed ? 7 : 15);
    Values values(count);
    for (long double& value : values) value = is_float ? real(random_) : integer(random_);
    return HostTensor::Create(type, shape, values);
  }

  // Makes it the next operand.
  const HostTensor& Add(HostTensor tensor) {
    const auto index = static_cast<uint32_t>(graph_.inputs.size());
    node_.operands.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.inputs.push_back({"input" + std::to_string(index), node_.operands.back()});
    graph_.values.push_back({Value::Kind::kInput, tensor.descriptor, index});
    inputs_.push_back(std::move(tensor));
    return inputs_.back();
  }

  static std::vector<double> Doubles(const HostTensor& tensor) {
    const Values values = tensor.Values();
    return {values.begin(), values.end()};
  }

  // An operand with an element for each block: those by row, as a reference wants them.
  std::vector<double> AddForBlocks(OperandDataType type, uint32_t columns, uint32_t blocks) {
    const HostTensor by_row = Random(type, {columns, blocks, 1});
    if (!test_.by_tiles) return Doubles(Add(by_row));
    const Values values = by_row.Values();
    Values by_tiles(values.size());
    for (uint32_t n = 0; n < columns; ++n) {
      for (uint32_t block = 0; block < blocks; ++block) {
        by_tiles[((n / 64 * blocks + block) * 8 + n % 8) * 8 + n % 64 / 8] =
            values[n * blocks + block];
      }
    }
    Add(HostTensor::Create(type, {columns / 64, blocks, 8, 8}, by_tiles));
    return {values.begin(), values.end()};
  }

  void AddProduct(uint32_t columns) {
    Weights weights;
    if (test_.block == 0) {
      weights.of = Doubles(Add(Random(test_.type, {columns, test_.depth})));
      node_.operands.insert(node_.operands.end(), {kNoValue, kNoValue});
    } else {
      const uint32_t blocks = test_.depth / test_.block;
      weights.of = Doubles(Add(Random(test_.weights, {columns, blocks, test_.block})));
      const auto scale = AddForBlocks(test_.type, columns, blocks);
      const auto zero_point = AddForBlocks(test_.weights, columns, blocks);
      for (size_t i = 0; i < weights.of.size(); ++i) {
        weights.of[i] = (weights.of[i] - zero_point[i / test_.block]) * scale[i / test_.block];
      }
    }
    if (test_.biases) {
      weights.bias = Doubles(Add(Random(test_.type, {columns})));
    } else {
      node_.operands.push_back(kNoValue);
    }
    products_.push_back(std::move(weights));
  }

  void Normalize(const std::vector<double>& gain) {
    double squares = 0;
    for (double x : x_) squares += x * x;
    const double divisor = std::sqrt(squares / test_.depth + kNormalizationEpsilon);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] *= gain[i] / divisor;
  }

  void AddResults() {
    const size_t count = test_.gated ? 1 : test_.columns.size();
    for (size_t i = 0; i < count; ++i) {
      auto descriptor = OperandDescriptor::Create(test_.type, Shape{test_.rows, test_.columns[i]});
      const auto value = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back({Value::Kind::kResult, *std::move(descriptor), 0});
      graph_.outputs.push_back({"output" + std::to_string(i), value});
      node_.results.push_back(value);
    }
  }

  // An element of a product, and the sum of the magnitudes of its terms.
  std::pair<double, double> Element(const Weights& weights, size_t m, size_t n) const {
    double sum = weights.bias.empty() ? 0 : weights.bias[n];
    double magnitude = std::fabs(sum);
    for (size_t k = 0; k < test_.depth; ++k) {
      const double term = x_[m * test_.depth + k] * weights.of[n * test_.depth + k];
      sum += term;
      magnitude += std::fabs(term);
    }
    return {sum, magnitude};
  }

  void ExpectResult(size_t index, const Values& actual) const {
    const size_t columns = test_.columns[index];
    ASSERT_EQ(actual.size(), test_.rows * columns);
    // Sums are float32, in any order. By block, terms are sums less the zero point's share: up to
    // 15 times as great as what is left.
    const double epsilon = (test_.block == 0 ? 6e-8 : 1e-6) * (4 + std::sqrt(test_.depth));
    for (size_t i = 0; i < actual.size(); ++i) {
      auto [want, magnitude] = Element(products_[index], i / columns, i % columns);
      double bound = epsilon * magnitude;
      if (test_.gated) {
        auto [up, up_magnitude] = Element(products_[1], i / columns, i % columns);
        const double silu = want / (1 + std::exp(-want));
        // silu is steeper than 1 by a tenth at most.
        bound = 1.1 * bound * std::fabs(up) + std::fabs(silu) * epsilon * up_magnitude;
        want = silu * up;
      }
      if (test_.type == kHalf) {
        // Half a unit of the last place for each result: of many rows, the products are results
        // too.
        const double roundings = test_.gated && test_.block == 0 && test_.rows > 1 ? 3 : 1;
        bound += roundings * 0x1p-11 * std::max(std::fabs(want), 0x1p-14);
      }
      ASSERT_NEAR(static_cast<double>(actual[i]), want, bound + 1e-30) << "element " << i;
    }
  }

  Case test_;
  std::mt19937 random_;
  Graph graph_;
  Node node_;
  std::vector<HostTensor> inputs_;
  std::vector<double> x_;
  std::vector<Weights> products_;
};

void Expect(const Case& test) { MatmulGroupGraph(test).Expect(); }

TEST(LowerMatmulGroup, Products_MatchReference) {
  Sample sample(2);
  const auto expect = [&](const Case& test) {
    if (sample.Takes()) Expect(test);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t rows : {1u, 3u}) {
      expect({.type = type, .rows = rows, .depth = 576, .columns = {40, 13, 13}, .biases = true});
      expect({.type = type, .rows = rows, .depth = 64, .columns = {9, 130}});
      expect({.type = type, .rows = rows, .depth = 8, .columns = {1, 2, 3}, .biases = true});
    }
  }
}

TEST(LowerMatmulGroup, GatedProducts_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t rows : {1u, 3u}) {
      for (uint32_t columns : {1u, 7u, 200u}) {
        Expect({.type = type,
                .rows = rows,
                .depth = 72,
                .columns = {columns, columns},
                .gated = true});
      }
    }
  }
}

TEST(LowerMatmulGroup, ProductsWithBlocks_MatchReference) {
  Sample sample(2);
  const auto expect = [&](const Case& test) {
    if (sample.Takes()) Expect(test);
  };
  for (OperandDataType weights : {OperandDataType::kInt4, OperandDataType::kUint4}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      expect({.type = type,
              .depth = 288,
              .columns = {70, 3, 65},
              .biases = true,
              .block = 32,
              .weights = weights});
      expect({.type = type,
              .rows = 3,
              .depth = 128,
              .columns = {5, 67},
              .block = 64,
              .weights = weights});
      expect({.type = type,
              .rows = 2,
              .depth = 256,
              .columns = {9},
              .biases = true,
              .block = 128,
              .weights = weights});
    }
  }
}

TEST(LowerMatmulGroup, GatedProductsWithBlocks_MatchReference) {
  for (OperandDataType weights : {OperandDataType::kInt4, OperandDataType::kUint4}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      for (uint32_t columns : {1u, 33u, 200u}) {
        Expect({.type = type,
                .rows = columns == 33 ? 4u : 1u,
                .depth = 96,
                .columns = {columns, columns},
                .gated = true,
                .block = 32,
                .weights = weights});
      }
    }
  }
}

// Where GPUs have an invocation compute one row, two or four, in several turns of which the last
// one is not full.
TEST(LowerMatmulGroup, BlocksOfManyTurns_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  Sample sample(5);
  const auto expect = [&](const Case& test) {
    if (sample.Takes()) Expect(test);
  };
  struct Size {
    uint32_t rows;
    uint32_t depth;
    uint32_t depth_of_gated;
  };
  for (const Size& size : {Size{1, 2144, 2144}, Size{24, 2144, 1056}, Size{48, 1056, 544}}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      for (bool by_tiles : {false, true}) {
        Case test{.type = type, .rows = size.rows, .depth = size.depth, .columns = {192}};
        test.block = 32;
        test.by_tiles = by_tiles;
        expect(test);
        test.weights = OperandDataType::kInt4;
        test.columns = by_tiles ? std::vector<uint32_t>{64, 128} : std::vector<uint32_t>{65, 123};
        test.biases = true;
        expect(test);
        test.biases = false;
        test.gated = true;
        test.depth = size.depth_of_gated;
        test.columns = {192, 192};
        expect(test);
      }
    }
  }
  for (bool by_tiles : {false, true}) {
    Case test{.depth = 2176, .columns = {64, 64, 64}, .block = 64, .by_tiles = by_tiles};
    test.normalizes = true;
    Expect(test);
  }
}

// More rows of weights than one for each subgroup of a GPU.
TEST(LowerMatmulGroup, ManyColumns_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (uint32_t columns : {4097u, 8195u}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      Expect({.type = type, .depth = 40, .columns = {columns, columns}, .gated = true});
      Expect({.type = type, .depth = 8, .columns = {columns, 5, columns}, .biases = true});
    }
  }
}

TEST(LowerMatmulGroup, ScalesByTiles_MatchReference) {
  Sample sample(3);
  const auto expect = [&](const Case& test) {
    if (sample.Takes()) Expect(test);
  };
  for (OperandDataType weights : {OperandDataType::kInt4, OperandDataType::kUint4}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      Case test{.type = type,
                .depth = 288,
                .columns = {192, 64, 128},
                .biases = true,
                .block = 32,
                .weights = weights,
                .by_tiles = true};
      expect(test);
      test.rows = 3;
      test.depth = 192;
      test.columns = {320};
      test.block = 64;
      expect(test);
      test.biases = false;
      test.gated = true;
      for (uint32_t columns : {64u, 192u}) {
        test.columns = {columns, columns};
        expect(test);
      }
    }
  }
}

TEST(LowerMatmulGroup, NormalizedRow_MatchesReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    Case test{.type = type, .depth = 576, .columns = {40, 13, 13}, .biases = true};
    test.normalizes = true;
    Expect(test);
    test.columns = {130};
    test.depth = 8;
    Expect(test);
    test.depth = 72;  // No multiple of what a subgroup loads.
    Expect(test);
    test.biases = false;
    test.gated = true;
    test.columns = {200, 200};
    Expect(test);
  }
}

TEST(LowerMatmulGroup, NormalizedRowWithBlocks_MatchesReference) {
  Sample sample(2);
  const auto expect = [&](const Case& test) {
    if (sample.Takes()) Expect(test);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    Case test{.type = type, .depth = 288, .columns = {70, 3, 65}, .block = 32};
    test.normalizes = true;
    expect(test);
    test.columns = {192, 64, 128};
    test.by_tiles = true;
    expect(test);
    test.columns = {128, 64};
    test.biases = true;
    expect(test);
    test.columns = {320};
    expect(test);
    test.biases = false;
    test.gated = true;
    test.columns = {192, 192};
    expect(test);
  }
}

}  // namespace
}  // namespace webnnd::service

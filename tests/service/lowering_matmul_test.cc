// matmul and gemm against double-precision loops.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "service/passes/lowering.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;

// A matrix product in double precision, element by element: where a[m, k] and b[k, n] lie.
struct Reference {
  size_t depth;
  std::function<size_t(size_t element, size_t k)> a_index;
  std::function<size_t(size_t element, size_t k)> b_index;
};

// The bound is that of float32 sums in any order: each addition errs by half a unit of the last
// place of a partial sum.
void ExpectProduct(const HostTensor& a, const HostTensor& b, const Reference& reference,
                   const HostTensor& actual,
                   const std::function<long double(size_t, long double)>& finish) {
  OperandDataType type = a.descriptor.data_type();
  Values a_values = a.Values();
  Values b_values = b.Values();
  Values values = actual.Values();
  for (size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    double magnitude = 0;
    for (size_t k = 0; k < reference.depth; ++k) {
      auto product = static_cast<double>(a_values[reference.a_index(i, k)] *
                                         b_values[reference.b_index(i, k)]);
      sum += product;
      magnitude += std::fabs(product);
    }
    long double want = RoundTo(type, finish(i, sum));
    double bound = 6e-8 * (4 + std::sqrt(reference.depth)) * magnitude;
    if (std::fabs(want - values[i]) <= bound) continue;
    ASSERT_LE(UlpDistance(type, want, values[i]), type == kHalf ? 1 : 8)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(values[i]);
  }
}

// --- matmul --------------------------------------------------------------------------------------

// The element of a batch broadcast to `result_batch` that stands for its element `index`.
size_t BroadcastIndex(const Shape& batch, const Shape& result_batch, size_t index) {
  size_t result = 0;
  size_t stride = 1;
  for (size_t d = result_batch.size(); d-- > 0;) {
    size_t coordinate = index % result_batch[d];
    index /= result_batch[d];
    size_t missing = result_batch.size() - batch.size();
    if (d < missing) continue;
    uint32_t size = batch[d - missing];
    if (size != 1) result += coordinate * stride;
    stride *= size;
  }
  return result;
}

Shape BatchOf(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

void ExpectMatmul(const HostTensor& a, const HostTensor& b) {
  SCOPED_TRACE(a.descriptor.ToString() + " x " + b.descriptor.ToString());
  HostTensor result = RunOne(OperatorKind::kMatmul, {a, b});
  const Shape& a_shape = a.descriptor.shape();
  const Shape& b_shape = b.descriptor.shape();
  Shape batch = BatchOf(result.descriptor.shape());
  size_t rows = a_shape[a_shape.size() - 2];
  size_t depth = a_shape.back();
  size_t columns = b_shape.back();
  Reference reference{
      depth,
      [&](size_t i, size_t k) {
        size_t matrix = BroadcastIndex(BatchOf(a_shape), batch, i / (rows * columns));
        return (matrix * rows + i / columns % rows) * depth + k;
      },
      [&](size_t i, size_t k) {
        size_t matrix = BroadcastIndex(BatchOf(b_shape), batch, i / (rows * columns));
        return (matrix * depth + k) * columns + i % columns;
      }};
  ExpectProduct(a, b, reference, result, [](size_t, long double sum) { return sum; });
}

void ExpectMatmul(OperandDataType type, const Shape& a, const Shape& b) {
  ExpectMatmul(RandomTensor(type, a, 1), RandomTensor(type, b, 2));
}

TEST(LowerMatmul, EverySizeAroundTheTile_MatchesReference) {
  Sample sample(5);
  for (uint32_t rows : {1u, 2u, 8u, 9u}) {
    for (uint32_t depth : {1u, 3u, 4u, 7u, 8u, 12u, 33u}) {
      for (uint32_t columns : {1u, 2u, 4u, 31u, 32u, 36u}) {
        if (!sample.Takes()) continue;
        ExpectMatmul(kFloat, {rows, depth}, {depth, columns});
      }
    }
  }
}

TEST(LowerMatmul, Float16_MatchesReference) {
  Sample sample(5);
  for (uint32_t rows : {1u, 3u}) {
    for (uint32_t depth : {5u, 16u}) {
      for (uint32_t columns : {1u, 3u, 6u, 8u, 37u, 40u}) {
        if (!sample.Takes()) continue;
        ExpectMatmul(kHalf, {2, rows, depth}, {2, depth, columns});
      }
    }
  }
}

TEST(LowerMatmul, Batches_Broadcast) {
  ExpectMatmul(kFloat, {3, 2, 5}, {5, 4});
  ExpectMatmul(kFloat, {2, 5}, {3, 5, 4});
  ExpectMatmul(kFloat, {2, 1, 2, 5}, {3, 5, 4});
  ExpectMatmul(kFloat, {4, 3, 1, 8}, {1, 3, 8, 16});
  ExpectMatmul(kFloat, {4, 1, 1, 8}, {1, 3, 8, 5});
  ExpectMatmul(kFloat, {3, 40, 300}, {3, 300, 132});
  ExpectMatmul(kHalf, {3, 1, 40, 100}, {2, 100, 200});
  ExpectMatmul(kFloat, {1, 1, 9, 3}, {2, 2, 3, 3});
}

TEST(LowerMatmul, RankEight_Broadcasts) {
  ExpectMatmul(kFloat, {2, 1, 3, 1, 2, 1, 2, 5}, {1, 2, 1, 2, 1, 3, 5, 3});
}

TEST(LowerMatmul, LongRows_MatchReference) {
  ExpectMatmul(kFloat, {1, 1500}, {1500, 1100});
  ExpectMatmul(kFloat, {1, 300}, {300, 1027});
  ExpectMatmul(kFloat, {1, 9}, {9, 1148});
  ExpectMatmul(kHalf, {2, 1, 20}, {2, 20, 1154});
  ExpectMatmul(kFloat, {70, 300}, {300, 130});
}

// GPUs divide the depth of one row between invocations: by blocks, and steps that are left; more of
// them where there are few columns.
TEST(LowerMatmul, OneRowOfManySteps_MatchesReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t depth : {32u, 61u, 520u, 2049u}) {
      for (uint32_t columns : {1u, 4u, 37u, 64u}) {
        ExpectMatmul(type, {1, depth}, {depth, columns});
      }
    }
    ExpectMatmul(type, {5, 1, 132}, {5, 132, 36});
    ExpectMatmul(type, {2, 1, 1, 68}, {3, 68, 11});
    ExpectMatmul(type, {1, 100}, {100, 4100});
    ExpectMatmul(type, {1, 36}, {36, 32900});
  }
}

TEST(LowerMatmul, InfinityAndNan_StayInTheirRowAndColumn) {
  for (const auto& [rows, depth] : {std::pair(1u, 10u), {1u, 61u}, {9u, 10u}}) {
    for (uint32_t columns : {5u, 8u}) {
      HostTensor a = RandomTensor(kFloat, {rows, depth}, 3);
      Values b_values = RandomTensor(kFloat, {depth, columns}, 4).Values();
      b_values[9 * columns + columns - 1] = std::numeric_limits<long double>::infinity();
      b_values[1 * columns + columns - 2] = std::numeric_limits<long double>::quiet_NaN();
      Values result =
          RunOne(OperatorKind::kMatmul, {a, HostTensor::Create(kFloat, {depth, columns}, b_values)})
              .Values();
      for (uint32_t i = 0; i < result.size(); ++i) {
        bool infinite = i % columns == columns - 1;
        bool nan = i % columns == columns - 2;
        EXPECT_EQ(std::isinf(result[i]), infinite) << i;
        EXPECT_EQ(std::isnan(result[i]), nan) << i;
      }
    }
  }
}

TEST(LowerMatmul, DepthsThatDiffer_AreRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kMatmul,
                       {RandomTensor(kFloat, {2, 3}, 5), RandomTensor(kFloat, {4, 2}, 6)},
                       webidl::NoAttributes{})
                   .ok());
}

TEST(LowerMatmul, SameOperands_GiveSameBits) {
  HostTensor a = RandomTensor(kFloat, {17, 100}, 7);
  HostTensor b = RandomTensor(kFloat, {100, 50}, 8);
  EXPECT_EQ(RunOne(OperatorKind::kMatmul, {a, b}).bytes,
            RunOne(OperatorKind::kMatmul, {a, b}).bytes);
}

// Batches of tall tiles, of which a, b or neither repeats.
TEST(LowerMatmul, BatchesOfTallTiles_MatchReference) {
  ExpectMatmul(kFloat, {2, 3, 40, 68}, {2, 3, 68, 272});
  ExpectMatmul(kFloat, {2, 1, 40, 68}, {3, 68, 272});
  ExpectMatmul(kFloat, {40, 68}, {6, 68, 272});
}

// --- gemm ----------------------------------------------------------------------------------------

struct GemmCase {
  uint32_t rows;
  uint32_t depth;
  uint32_t columns;
  webidl::GemmAttributes attributes;
  std::optional<Shape> c;
};

void ExpectGemm(OperandDataType type, const GemmCase& test) {
  const webidl::GemmAttributes& attributes = test.attributes;
  Shape a_shape = {test.rows, test.depth};
  Shape b_shape = {test.depth, test.columns};
  if (attributes.a_transpose) std::swap(a_shape[0], a_shape[1]);
  if (attributes.b_transpose) std::swap(b_shape[0], b_shape[1]);
  HostTensor a = RandomTensor(type, a_shape, 9);
  HostTensor b = RandomTensor(type, b_shape, 10);
  std::optional<HostTensor> c;
  if (test.c) c = RandomTensor(type, *test.c, 11);
  SCOPED_TRACE(a.descriptor.ToString() + " x " + b.descriptor.ToString() + " + " +
               (c ? c->descriptor.ToString() : "nothing"));
  HostTensor result = RunOne(OperatorKind::kGemm, {a, b, c}, attributes);
  size_t columns = test.columns;
  Reference reference{test.depth,
                      [&](size_t i, size_t k) {
                        size_t m = i / columns;
                        return attributes.a_transpose ? k * test.rows + m : m * test.depth + k;
                      },
                      [&](size_t i, size_t k) {
                        size_t n = i % columns;
                        return attributes.b_transpose ? n * test.depth + k : k * columns + n;
                      }};
  Values c_values = c ? c->Values() : Values{};
  ExpectProduct(a, b, reference, result, [&](size_t i, long double sum) {
    sum *= attributes.alpha;
    if (!c) return sum;
    return sum + attributes.beta * c_values[BroadcastIndex(*test.c, {test.rows, test.columns}, i)];
  });
}

TEST(LowerGemm, EveryTranspose_MatchesReference) {
  Sample sample(3);
  const auto expect = [&](OperandDataType type, const GemmCase& test) {
    if (sample.Takes()) ExpectGemm(type, test);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (int choice = 0; choice < 4; ++choice) {
      webidl::GemmAttributes attributes{.a_transpose = (choice & 1) != 0,
                                        .b_transpose = (choice & 2) != 0};
      for (uint32_t rows : {1u, 11u}) {
        expect(type, {rows, 7, 5, attributes, {}});
        expect(type, {rows, 16, 36, attributes, {}});
        expect(type, {rows, 172, 40, attributes, {}});
        expect(type, {rows, 8, 1, attributes, {}});
        expect(type, {rows, 1, 9, attributes, {}});
      }
    }
  }
}

TEST(LowerGemm, EveryShapeOfC_IsBroadcast) {
  for (const Shape& c :
       {Shape{}, Shape{1}, Shape{6}, Shape{1, 6}, Shape{3, 1}, Shape{3, 6}, Shape{1, 1}}) {
    ExpectGemm(kFloat, {3, 5, 6, {.alpha = 0.5, .beta = -2}, c});
    ExpectGemm(kHalf, {3, 5, 6, {.alpha = 2, .beta = 0.25, .b_transpose = true}, c});
  }
  ExpectGemm(kFloat, {1, 64, 70, {.b_transpose = true}, Shape{70}});
}

TEST(LowerGemm, WeightsOfADecoder_MatchReference) {
  ExpectGemm(kFloat, {1, 1024, 515, {.b_transpose = true}, {}});
  ExpectGemm(kFloat, {33, 256, 70, {.b_transpose = true}, {}});
}

// Rows of b as they lie in memory: shorter than a subgroup's loads, some of them, and part of one.
TEST(LowerGemm, OneRow_MatchesReference) {
  const webidl::GemmAttributes attributes{.alpha = 0.5, .beta = -2, .b_transpose = true};
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t depth : {8u, 24u, 264u, 1544u}) {
      for (uint32_t columns : {1u, 3u, 8u, 67u, 1030u}) {
        ExpectGemm(type, {1, depth, columns, attributes, {}});
      }
      for (const Shape& c : {Shape{}, Shape{1, 1}, Shape{67}, Shape{1, 67}}) {
        ExpectGemm(type, {1, depth, 67, attributes, c});
        ExpectGemm(type, {1, depth, 67, {.alpha = 0.5, .beta = -2}, c});
      }
    }
    // More rows of b than one for each subgroup of a GPU.
    for (uint32_t columns : {4099u, 8195u, 16387u}) {
      ExpectGemm(type, {1, 40, columns, attributes, {}});
    }
  }
}

// By words, or not: tiles of 4, 8 and 16 vectors, whole ones and such that overlap, and depths of
// whole turns and of steps that are left.
TEST(LowerGemm, OneRowOfNeighbours_MatchesReference) {
  Sample sample(3);
  const webidl::GemmAttributes attributes{.alpha = 0.5, .beta = -2};
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t depth : {1u, 4u, 7u, 60u}) {
      for (uint32_t columns : {63u, 64u, 65u, 66u, 126u, 128u, 130u, 250u, 1024u, 1026u, 1301u}) {
        if (!sample.Takes()) continue;
        ExpectGemm(type, {1, depth, columns, attributes, {}});
        ExpectGemm(type, {1, depth, columns, {.a_transpose = true}, Shape{columns}});
      }
    }
    ExpectGemm(type, {1, 9, 100, attributes, Shape{100}});
    ExpectGemm(type, {1, 9, 100, attributes, Shape{1, 1}});
  }
}

TEST(LowerMatmul, RowsOfNeighbours_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectMatmul(type, {3, 1, 21}, {3, 21, 100});
    ExpectMatmul(type, {2, 1, 1, 12}, {3, 12, 70});
    ExpectMatmul(type, {3, 1, 6}, {3, 6, 69});
    ExpectMatmul(type, {2, 1, 5}, {2, 5, 1154});
  }
}

// More steps than a kernel by words loops over.
TEST(LowerMatmul, OneRowOfHugeDepth_MatchesReference) {
  if (!IsThorough()) GTEST_SKIP() << "takes seconds";
  ExpectMatmul(kFloat, {1, 300000}, {300000, 64});
}

// Computed as a row of what is transposed.
TEST(LowerGemm, OneColumn_MatchesReference) {
  Sample sample(3);
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t rows : {2u, 9u, 66u, 130u, 1030u}) {
      for (uint32_t depth : {1u, 8u, 61u, 264u}) {
        for (const bool a_transpose : {false, true}) {
          if (!sample.Takes()) continue;
          const webidl::GemmAttributes attributes{
              .alpha = 0.5, .beta = -2, .a_transpose = a_transpose, .b_transpose = depth == 8};
          ExpectGemm(type, {rows, depth, 1, attributes, {}});
          ExpectGemm(type, {rows, depth, 1, attributes, Shape{rows, 1}});
          ExpectGemm(type, {rows, depth, 1, attributes, Shape{1}});
        }
      }
    }
    ExpectMatmul(type, {3, 40, 24}, {24, 1});
    ExpectMatmul(type, {40, 24}, {3, 24, 1});
    ExpectMatmul(type, {2, 1, 66, 7}, {3, 7, 1});
  }
}

TEST(LowerMatmul, InfinityInARowOfNeighbours_StaysInItsColumn) {
  constexpr uint32_t kDepth = 9;
  // Odd rows of halves begin within words.
  for (const auto& [type, columns] : {std::pair(kFloat, 130u), std::pair(kHalf, 131u)}) {
    for (uint32_t at : {0u, 63u, 64u, 127u, columns - 1}) {
      for (uint32_t row : {0u, 7u, 8u}) {
        Values b = RandomTensor(type, {kDepth, columns}, 4).Values();
        b[row * columns + at] = std::numeric_limits<long double>::infinity();
        Values result =
            RunOne(OperatorKind::kMatmul, {RandomTensor(type, {1, kDepth}, 3),
                                           HostTensor::Create(type, {kDepth, columns}, b)})
                .Values();
        for (uint32_t n = 0; n < columns; ++n) EXPECT_EQ(std::isinf(result[n]), n == at) << n;
      }
    }
  }
}

TEST(LowerGemm, InfinityInOneRow_StaysInItsColumn) {
  const uint32_t depth = 68;  // The last four are loaded apart.
  for (uint32_t k : {0u, 35u, depth - 1}) {
    Values b = RandomTensor(kFloat, {9, depth}, 4).Values();
    b[8 * depth + k] = std::numeric_limits<long double>::infinity();
    Values result = RunOne(OperatorKind::kGemm,
                           {RandomTensor(kFloat, {1, depth}, 3),
                            HostTensor::Create(kFloat, {9, depth}, b), std::nullopt},
                           webidl::GemmAttributes{.b_transpose = true})
                        .Values();
    for (uint32_t n = 0; n < 9; ++n) EXPECT_EQ(std::isinf(result[n]), n == 8) << n;
  }
}

// Large enough for the tall kernels, of few steps and of many (more than 256); whole tiles and
// partial ones, with every way to load.
TEST(LowerGemm, TallTiles_MatchReference) {
  Sample sample(2);
  const auto expect = [&](OperandDataType type, const GemmCase& test) {
    if (sample.Takes()) ExpectGemm(type, test);
  };
  for (int choice = 0; choice < 4; ++choice) {
    webidl::GemmAttributes attributes{.a_transpose = (choice & 1) != 0,
                                      .b_transpose = (choice & 2) != 0};
    expect(kFloat, {256, 128, 128, attributes, {}});
    expect(kFloat, {268, 124, 132, attributes, {}});
    expect(kFloat, {132, 260, 132, attributes, {}});
  }
  expect(kFloat, {259, 127, 131, {}, Shape{259, 1}});
  expect(kFloat, {259, 257, 131, {}, Shape{259, 1}});
  expect(kHalf, {258, 132, 132, {.b_transpose = true}, Shape{132}});
  expect(kHalf, {259, 127, 131, {.a_transpose = true}, {}});
  expect(kFloat, {256, 128, 132, {.alpha = 0.5, .beta = -2}, Shape{256, 132}});
}

// Rows of halves that begin within words.
TEST(LowerGemm, TallTilesOfOddHalves_MatchReference) {
  const webidl::GemmAttributes attributes{.alpha = 0.5, .beta = -2};
  ExpectGemm(kHalf, {259, 127, 131, attributes, Shape{131}});
  ExpectGemm(kHalf, {130, 260, 67, attributes, Shape{130, 1}});
  ExpectGemm(kHalf,
             {97, 132, 133, {.alpha = 0.5, .beta = -2, .b_transpose = true}, Shape{97, 133}});
  ExpectGemm(kHalf, {24, 512, 259, {.b_transpose = true}, {}});
  ExpectMatmul(kHalf, {3, 97, 64}, {3, 64, 67});
  ExpectMatmul(kHalf, {2, 1, 77, 77}, {3, 77, 63});
}

const GemmCase kCasesOfTurns[] = {
    {2, 1036, 516, {.b_transpose = true}, {}}, {3, 520, 1028, {}, {}},
    {9, 260, 512, {.b_transpose = true}, {}},  {33, 132, 268, {}, Shape{33, 268}},
    {40, 128, 256, {.a_transpose = true}, {}}, {7, 640, 256, {.b_transpose = true}, Shape{256}},
    {95, 64, 260, {.b_transpose = true}, {}},  {95, 36, 324, {.alpha = 0.5}, Shape{95, 1}},
};

// So few rows that steps of b are brought to a cache in turns: whole blocks, squares and vectors of
// them and not, columns or steps beside each other.
TEST(LowerGemm, RowsWhoseBComesInTurns_MatchReference) {
  Sample sample(2);
  for (const OperandDataType type : {kFloat, kHalf}) {
    for (const GemmCase& test : kCasesOfTurns) {
      if (sample.Takes()) ExpectGemm(type, test);
    }
  }
  ExpectMatmul(kFloat, {3, 12, 100}, {3, 100, 352});
  ExpectMatmul(kHalf, {2, 12, 160}, {1, 160, 352});
  // Some tiles of each workgroup.
  ExpectMatmul(kFloat, {260, 2, 32}, {260, 32, 64});
}

TEST(LowerGemm, FewRows_TakeBInTurns) {
  for (const GemmCase& test : kCasesOfTurns) {
    for (const bool wide : {false, true}) {
      Graph graph;
      graph.device.wide = wide;
      Shape a = {test.rows, test.depth};
      Shape b = {test.depth, test.columns};
      if (test.attributes.a_transpose) std::swap(a[0], a[1]);
      if (test.attributes.b_transpose) std::swap(b[0], b[1]);
      for (const Shape& shape : {a, b, Shape{test.rows, test.columns}}) {
        auto descriptor = webidl::OperandDescriptor::Create(kFloat, shape);
        ASSERT_TRUE(descriptor.ok());
        graph.values.push_back({Value::Kind::kInput, *descriptor, 0});
      }
      Node node;
      node.kind = OperatorKind::kGemm;
      node.attributes = test.attributes;
      node.operands = {0, 1, kNoValue};
      node.results = {2};
      LoweringBuilder builder(graph);
      ASSERT_TRUE(GetLowering(node.kind)(node, builder).ok());
      EXPECT_EQ(builder.calls().back().shader == shaders::ShaderId::kTurnTallTile, !wide)
          << test.rows << " " << test.depth << " " << test.columns;
    }
  }
}

// Neither steps that only fill up a square nor columns beside those that there are.
TEST(LowerGemm, InfinitiesOfTurns_StayInTheirColumns) {
  for (const bool b_transpose : {true, false}) {
    constexpr uint32_t kDepth = 1036;
    constexpr uint32_t kColumns = 516;
    Values b(kDepth * kColumns, 1);
    const long double infinity = std::numeric_limits<long double>::infinity();
    for (const uint32_t n : {1u, 33u, kColumns - 1}) {
      for (const uint32_t k : {0u, kDepth - 1}) {
        b[b_transpose ? n * kDepth + k : k * kColumns + n] = infinity;
      }
    }
    const Shape shape = b_transpose ? Shape{kColumns, kDepth} : Shape{kDepth, kColumns};
    const HostTensor result = RunOne(OperatorKind::kGemm,
                                     {HostTensor::Create(kFloat, {2, kDepth}, {1}),
                                      HostTensor::Create(kFloat, shape, b), std::nullopt},
                                     webidl::GemmAttributes{.b_transpose = b_transpose});
    const Values values = result.Values();
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t n = i % kColumns;
      ASSERT_EQ(values[i], n == 1 || n == 33 || n == kColumns - 1 ? infinity : kDepth) << i;
    }
  }
}

// Enough rows that b is packed as well.
TEST(LowerGemm, RowsThatShareB_MatchReference) {
  ExpectGemm(kFloat, {546, 60, 132, {}, Shape{132}});
  if (IsThorough()) ExpectGemm(kFloat, {546, 60, 132, {.b_transpose = true}, {}});
  ExpectGemm(kHalf, {544, 61, 131, {}, Shape{131}});
  ExpectGemm(kFloat, {544, 261, 132, {}, Shape{132}});
}

// So many that invocations of GPUs have more rows each.
TEST(LowerGemm, ManyTiles_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  ExpectGemm(kFloat, {1029, 37, 774, {}, Shape{1029, 1}});
  ExpectGemm(kFloat, {772, 36, 1028, {.b_transpose = true}, Shape{1028}});
  if (IsThorough()) ExpectGemm(kHalf, {1030, 45, 780, {.a_transpose = true}, {}});
}

// GPUs divide long sums of few elements.
TEST(LowerGemm, FewRowsOfManySteps_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  ExpectGemm(kFloat, {8, 580, 300, {.b_transpose = true}, Shape{300}});
  ExpectGemm(kFloat, {5, 1001, 301, {.alpha = 0.5, .beta = -2}, Shape{5, 301}});
  ExpectGemm(kHalf, {33, 648, 131, {.b_transpose = true}, Shape{131}});
  ExpectGemm(kHalf, {3, 2052, 260, {.a_transpose = true}, Shape{3, 1}});
  ExpectGemm(kFloat, {61, 420, 70, {.b_transpose = true}, Shape{61, 1}});
  ExpectGemm(kHalf, {125, 260, 66, {.a_transpose = true}, Shape{66}});
}

// What the last part adds up, in whatever order they come.
TEST(LowerMatmul, SumsInParts_GiveSameBits) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  HostTensor a = RandomTensor(kFloat, {40, 1024}, 1);
  HostTensor b = RandomTensor(kFloat, {1024, 64}, 2);
  const HostTensor first = RunOne(OperatorKind::kMatmul, {a, b});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(RunOne(OperatorKind::kMatmul, {a, b}).bytes, first.bytes);
  }
}

// Panels of b would take more memory than they may.
TEST(LowerGemm, LargeTransposedB_MatchesReference) {
  if (!IsThorough()) GTEST_SKIP() << "takes seconds";
  ExpectGemm(kFloat, {24, 8204, 1028, {.b_transpose = true}, {}});
}

// Steps that only fill up a block must not meet them.
TEST(LowerGemm, InfinitiesInTallTiles_StayInfinite) {
  for (uint32_t rows : {256u, 544u}) {
    constexpr uint32_t kDepth = 127;
    constexpr uint32_t kColumns = 130;
    Values b_values(kDepth * kColumns, 1);
    const long double infinity = std::numeric_limits<long double>::infinity();
    for (uint32_t k = kDepth - 8; k < kDepth; ++k) b_values[k * kColumns + 7] = infinity;
    HostTensor a = HostTensor::Create(kFloat, {rows, kDepth}, {1});
    HostTensor b = HostTensor::Create(kFloat, {kDepth, kColumns}, b_values);
    Values result = RunOne(OperatorKind::kGemm, {a, b, {}}, webidl::GemmAttributes{}).Values();
    for (size_t i = 0; i < result.size(); ++i) {
      ASSERT_EQ(result[i], i % kColumns == 7 ? infinity : kDepth) << "element " << i;
    }
  }
}

TEST(LowerGemm, ShapeOfCThatDoesNotBroadcast_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kGemm,
                       {RandomTensor(kFloat, {2, 3}, 12), RandomTensor(kFloat, {3, 4}, 13),
                        RandomTensor(kFloat, {3}, 14)},
                       webidl::GemmAttributes{})
                   .ok());
}

}  // namespace
}  // namespace webnnd::service

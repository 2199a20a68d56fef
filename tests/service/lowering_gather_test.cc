// gather and scatter against loops on the host: indices of every type, negative, and far outside.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "service/passes/lowering.h"
#include "tests/support/kernel_runner.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;

constexpr OperandDataType kTypes[] = {OperandDataType::kFloat32, OperandDataType::kFloat16,
                                      OperandDataType::kInt64, OperandDataType::kUint8};
constexpr OperandDataType kIndexTypes[] = {OperandDataType::kInt32, OperandDataType::kUint32,
                                           OperandDataType::kInt64};

size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

HostTensor Pattern(OperandDataType type, const Shape& shape, int start = 1) {
  Values values(CountOf(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<long double>((static_cast<size_t>(start) + i * 7) % 97);
  }
  return HostTensor::Create(type, shape, values);
}

// Indices in [0, size), from its end, and, where `wild`, outside.
HostTensor Indices(OperandDataType type, const Shape& shape, uint32_t size, bool wild = false) {
  Values values(CountOf(shape));
  std::mt19937 random(11);
  for (long double& value : values) {
    value = random() % size;
    if (type != OperandDataType::kUint32 && random() % 2 == 0) value -= size;
    if (wild && random() % 3 == 0) {
      if (type == OperandDataType::kUint32) {
        value = random() % 2 == 0 ? UINT32_MAX : size;
      } else if (type == OperandDataType::kInt32) {
        value = random() % 2 == 0 ? INT32_MIN : INT32_MAX;
      } else {
        const long double extremes[] = {INT64_MIN,     INT64_MAX,
                                        4294967296.0L, -4294967296.0L,
                                        4294967295.0L, static_cast<long double>(size)};
        value = extremes[random() % 6];
      }
    }
  }
  return HostTensor::Create(type, shape, values);
}

size_t Resolve(long double index, uint32_t size) {
  if (index < 0) index += size;
  return static_cast<size_t>(std::min(std::max(index, 0.0L), static_cast<long double>(size) - 1));
}

void ExpectGathered(OperandDataType type, OperandDataType index_type, const Shape& shape,
                    const Shape& index_shape, uint32_t axis) {
  HostTensor input = Pattern(type, shape);
  HostTensor indices = Indices(index_type, index_shape, shape[axis], /*wild=*/true);
  HostTensor result =
      RunOne(OperatorKind::kGather, {input, indices}, webidl::GatherAttributes{axis});
  Values from = input.Values();
  Values at = indices.Values();
  size_t outer = CountOf(Shape(shape.begin(), shape.begin() + axis));
  size_t inner = CountOf(Shape(shape.begin() + axis + 1, shape.end()));
  Values expected;
  for (size_t o = 0; o < outer; ++o) {
    for (long double index : at) {
      for (size_t i = 0; i < inner; ++i) {
        expected.push_back(from[(o * shape[axis] + Resolve(index, shape[axis])) * inner + i]);
      }
    }
  }
  ASSERT_EQ(result.Values(), expected) << input.descriptor.ToString() << " axis " << axis;
}

TEST(Gather, EveryAxisAndType_MatchesReference) {
  const Shape index_shapes[] = {{}, {1}, {7}, {2, 3}};
  for (OperandDataType type : kTypes) {
    for (OperandDataType index_type : kIndexTypes) {
      for (uint32_t axis = 0; axis < 3; ++axis) {
        for (const Shape& index_shape : index_shapes) {
          ExpectGathered(type, index_type, {3, 5, 4}, index_shape, axis);
        }
      }
    }
  }
}

// Of whole quads: a workgroup each where they are 16 quads or more, and 64 slices or more.
TEST(Gather, ManyLongSlices_MatchReference) {
  for (OperandDataType index_type : kIndexTypes) {
    ExpectGathered(OperandDataType::kFloat32, index_type, {2, 5, 72}, {40}, 1);
    ExpectGathered(OperandDataType::kFloat32, index_type, {5, 204}, {9, 8}, 0);
    ExpectGathered(OperandDataType::kFloat32, index_type, {5, 60}, {64}, 0);
    ExpectGathered(OperandDataType::kFloat32, index_type, {5, 64}, {63}, 0);
    ExpectGathered(OperandDataType::kFloat16, index_type, {2, 5, 136}, {32}, 1);
    ExpectGathered(OperandDataType::kInt64, index_type, {5, 2, 33}, {65}, 0);
    ExpectGathered(OperandDataType::kUint8, index_type, {5, 272}, {66}, 0);
  }
}

// Which begin anywhere within words, and have elements that share theirs with other slices.
TEST(Gather, ManyLongSlicesOfAnyLength_MatchReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t length : {16u, 33u, 34u, 35u, 67u, 131u, 269u}) {
      ExpectGathered(type, OperandDataType::kInt32, {7, length}, {70}, 0);
      ExpectGathered(type, OperandDataType::kInt64, {2, 5, length}, {33}, 1);
    }
  }
}

TEST(Gather, Int4Rows_MoveWithoutUnpacking) {
  for (uint32_t width : {8u, 3u}) {
    Values values(6 * width);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 5 % 16) - 8;
    HostTensor input = HostTensor::Create(OperandDataType::kInt4, {6, width}, values);
    HostTensor indices = HostTensor::Create(OperandDataType::kInt32, {4}, {5, 0, -2, 3});
    HostTensor result =
        RunOne(OperatorKind::kGather, {input, indices}, webidl::GatherAttributes{0});
    Values expected;
    for (size_t row : {5, 0, 4, 3}) {
      for (size_t i = 0; i < width; ++i) expected.push_back(values[row * width + i]);
    }
    EXPECT_EQ(result.Values(), expected);
  }
}

TEST(GatherElements, EveryAxis_MatchesReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t axis = 0; axis < 2; ++axis) {
      Shape shape = {4, 6};
      Shape index_shape = shape;
      index_shape[axis] = 3;
      HostTensor input = Pattern(type, shape);
      HostTensor indices = Indices(OperandDataType::kInt64, index_shape, shape[axis], true);
      HostTensor result =
          RunOne(OperatorKind::kGatherElements, {input, indices}, webidl::GatherAttributes{axis});
      Values from = input.Values();
      Values at = indices.Values();
      Values expected;
      for (size_t y = 0; y < index_shape[0]; ++y) {
        for (size_t x = 0; x < index_shape[1]; ++x) {
          size_t index = Resolve(at[y * index_shape[1] + x], shape[axis]);
          expected.push_back(axis == 0 ? from[index * 6 + x] : from[y * 6 + index]);
        }
      }
      EXPECT_EQ(result.Values(), expected);
    }
  }
}

// Along the axis before the last one, of which `along` indices are taken.
void ExpectGathersElements(OperandDataType type, OperandDataType index_type, const Shape& shape,
                           uint32_t along, const StreamedStores& streamed_stores = {}) {
  const auto axis = static_cast<uint32_t>(shape.size() - 2);
  const uint32_t size = shape[axis];
  const uint32_t inner = shape[axis + 1];
  Shape index_shape = shape;
  index_shape[axis] = along;
  const HostTensor input = Pattern(type, shape);
  const HostTensor indices = Indices(index_type, index_shape, size, /*wild=*/true);
  const HostTensor result = RunOne(OperatorKind::kGatherElements, {input, indices},
                                   webidl::GatherAttributes{axis}, streamed_stores);
  const Values from = input.Values();
  const Values at = indices.Values();
  Values expected;
  for (size_t e = 0; e < at.size(); ++e) {
    const size_t outer = e / (uint64_t{along} * inner);
    expected.push_back(from[(outer * size + Resolve(at[e], size)) * inner + e % inner]);
  }
  EXPECT_EQ(result.Values(), expected) << input.descriptor.ToString() << " " << along;
}

// So large that caches do not keep what indices come back to: by blocks, of which the last is
// shorter.
TEST(GatherElements, FromALargeInput_MatchesReference) {
  ExpectGathersElements(OperandDataType::kFloat32, OperandDataType::kInt32, {2, 4200, 1000}, 7);
  ExpectGathersElements(OperandDataType::kFloat16, OperandDataType::kInt32, {4200, 2000}, 7);
  ExpectGathersElements(OperandDataType::kInt64, OperandDataType::kInt32, {2100, 1000}, 7);
  ExpectGathersElements(OperandDataType::kUint8, OperandDataType::kInt32, {8200, 2064}, 7);
}

// So often that a copy of the input in strips pays: of rows, of the input and of indices, one, two,
// and three more than a multiple of four, and of every width beside indices of either.
TEST(GatherElements, OftenFromALargeInput_MatchesReference) {
  ExpectGathersElements(OperandDataType::kFloat32, OperandDataType::kInt32, {2, 1030, 256}, 261);
  ExpectGathersElements(OperandDataType::kFloat32, OperandDataType::kInt64, {515, 512}, 551);
  ExpectGathersElements(OperandDataType::kFloat16, OperandDataType::kUint32, {521, 1024}, 142);
  ExpectGathersElements(OperandDataType::kInt64, OperandDataType::kInt64, {520, 256}, 143);
  ExpectGathersElements(OperandDataType::kInt64, OperandDataType::kInt32, {520, 256}, 140);
  ExpectGathersElements(OperandDataType::kUint8, OperandDataType::kInt32, {518, 2048}, 131);
  ExpectGathersElements(OperandDataType::kUint8, OperandDataType::kInt64, {517, 2048}, 133);
}

// Along so long an axis that strips are half as wide.
TEST(GatherElements, OftenAlongALongAxis_MatchesReference) {
  ExpectGathersElements(OperandDataType::kFloat32, OperandDataType::kInt32, {2051, 160}, 517);
  ExpectGathersElements(OperandDataType::kFloat16, OperandDataType::kInt64, {2, 2050, 320}, 514);
  ExpectGathersElements(OperandDataType::kInt64, OperandDataType::kInt32, {2049, 80}, 515);
}

// Of fewer rows than a turn over strips takes.
TEST(GatherElements, FromALargeInputOfFewRows_MatchesReference) {
  ExpectGathersElements(OperandDataType::kFloat32, OperandDataType::kInt32, {3, 131072}, 2);
}

// So many that the result is streamed where processors gain by it.
TEST(GatherElements, ManyFromALargeInput_MatchReference) {
  ExpectGathersElements(OperandDataType::kInt64, OperandDataType::kInt32, {520, 256}, 8201,
                        {.gathered = true});
}

// What caches keep goes through them.
TEST(GatherElements, ManyFromALargeInput_AreStreamed) {
  for (const auto& [along, gathered, is_streamed] :
       {std::tuple(8192u, true, 1u), std::tuple(8191u, true, 0u), std::tuple(8192u, false, 0u)}) {
    Graph graph;
    graph.device.streamed_stores.gathered = gathered;
    const std::pair<OperandDataType, Shape> operands[] = {{OperandDataType::kInt64, {520, 256}},
                                                          {OperandDataType::kInt32, {along, 256}},
                                                          {OperandDataType::kInt64, {along, 256}}};
    for (const auto& [type, shape] : operands) {
      auto descriptor = webidl::OperandDescriptor::Create(type, shape);
      ASSERT_TRUE(descriptor.ok());
      graph.values.push_back({Value::Kind::kInput, *descriptor, 0});
    }
    Node node;
    node.kind = OperatorKind::kGatherElements;
    node.attributes = webidl::GatherAttributes{0};
    node.operands = {0, 1};
    node.results = {2};
    LoweringBuilder builder(graph);
    ASSERT_TRUE(GetLowering(node.kind)(node, builder).ok());
    ASSERT_EQ(builder.calls().size(), 1u);
    EXPECT_EQ(builder.calls()[0].shader, shaders::ShaderId::kGatherStrips);
    EXPECT_EQ(builder.calls()[0].specialization.at(3), is_streamed) << along << " " << gathered;
  }
}

void ExpectGathersNd(OperandDataType type, const Shape& shape, uint32_t rows,
                     uint32_t coordinates) {
  HostTensor input = Pattern(type, shape);
  HostTensor indices = Indices(OperandDataType::kInt32, {rows / 2, 2, coordinates}, 3, true);
  HostTensor result = RunOne(OperatorKind::kGatherND, {input, indices});
  Values from = input.Values();
  Values at = indices.Values();
  size_t slice = CountOf(Shape(shape.begin() + coordinates, shape.end()));
  Values expected;
  for (size_t row = 0; row < rows; ++row) {
    size_t place = 0;
    for (size_t d = 0; d < coordinates; ++d) {
      place = place * shape[d] + Resolve(at[row * coordinates + d], shape[d]);
    }
    for (size_t i = 0; i < slice; ++i) expected.push_back(from[place * slice + i]);
  }
  EXPECT_EQ(result.Values(), expected) << coordinates;
}

TEST(GatherNd, AnyNumberOfCoordinates_MatchesReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t coordinates = 1; coordinates <= 3; ++coordinates) {
      ExpectGathersNd(type, {3, 4, 5}, 6, coordinates);
    }
  }
}

TEST(GatherNd, LongSlices_MatchReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t length : {272u, 35u, 67u, 133u}) ExpectGathersNd(type, {3, 4, length}, 70, 2);
  }
}

void ExpectScattersNd(OperandDataType type, const Shape& shape, uint32_t rows,
                      uint32_t coordinates) {
  HostTensor input = Pattern(type, shape);
  HostTensor indices = Indices(OperandDataType::kInt32, {rows, coordinates}, 3, true);
  Shape update_shape = {rows};
  update_shape.insert(update_shape.end(), shape.begin() + coordinates, shape.end());
  HostTensor updates = Pattern(type, update_shape, 50);
  HostTensor result = RunOne(OperatorKind::kScatterND, {input, indices, updates});
  Values expected = input.Values();
  Values at = indices.Values();
  Values from = updates.Values();
  size_t slice = CountOf(Shape(shape.begin() + coordinates, shape.end()));
  for (size_t row = 0; row < rows; ++row) {
    size_t place = 0;
    for (size_t d = 0; d < coordinates; ++d) {
      place = place * shape[d] + Resolve(at[row * coordinates + d], shape[d]);
    }
    for (size_t i = 0; i < slice; ++i) expected[place * slice + i] = from[row * slice + i];
  }
  EXPECT_EQ(result.Values(), expected) << coordinates;
}

TEST(ScatterNd, RepeatedIndices_LastUpdateWins) {
  for (OperandDataType type : kTypes) {
    for (uint32_t coordinates = 1; coordinates <= 3; ++coordinates) {
      ExpectScattersNd(type, {3, 4, 5}, 20, coordinates);
    }
  }
}

TEST(ScatterNd, LongSlices_MatchReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t length : {272u, 35u, 67u, 133u}) ExpectScattersNd(type, {9, 4, length}, 70, 2);
  }
}

// Whoever has the first half of the slices comes to a place late that the second half has early.
TEST(ScatterNd, LongSlicesForOnePlace_LastUpdateWins) {
  constexpr uint32_t kPlaces = 1000;
  Values at;
  for (uint32_t row = 0; row < kPlaces; ++row) at.push_back(row);
  for (uint32_t row = 0; row < kPlaces; ++row) at.push_back(kPlaces - 1 - row);
  HostTensor input = Pattern(OperandDataType::kFloat32, {kPlaces, 64});
  HostTensor indices = HostTensor::Create(OperandDataType::kInt32, {2 * kPlaces, 1}, at);
  HostTensor updates = Pattern(OperandDataType::kFloat32, {2 * kPlaces, 64}, 50);
  Values from = updates.Values();
  Values expected;
  for (uint32_t place = 0; place < kPlaces; ++place) {
    const auto last = from.end() - int64_t{place + 1} * 64;
    expected.insert(expected.end(), last, last + 64);
  }
  EXPECT_EQ(RunOne(OperatorKind::kScatterND, {input, indices, updates}).Values(), expected);
}

TEST(ScatterNd, TheInput_StaysUnchangedElsewhere) {
  HostTensor input = Pattern(OperandDataType::kUint8, {9});
  HostTensor indices = HostTensor::Create(OperandDataType::kInt64, {2, 1}, {-1, 2});
  HostTensor updates = HostTensor::Create(OperandDataType::kUint8, {2}, {200, 201});
  Values expected = input.Values();
  expected[8] = 200;
  expected[2] = 201;
  EXPECT_EQ(RunOne(OperatorKind::kScatterND, {input, indices, updates}).Values(), expected);
}

TEST(ScatterElements, EveryAxis_MatchesReference) {
  for (OperandDataType type : kTypes) {
    for (uint32_t axis = 0; axis < 2; ++axis) {
      Shape shape = {4, 6};
      Shape update_shape = shape;
      update_shape[axis] = 3;
      HostTensor input = Pattern(type, shape);
      HostTensor indices = Indices(OperandDataType::kUint32, update_shape, shape[axis], true);
      HostTensor updates = Pattern(type, update_shape, 60);
      HostTensor result = RunOne(OperatorKind::kScatterElements, {input, indices, updates},
                                 webidl::ScatterAttributes{axis});
      Values expected = input.Values();
      Values at = indices.Values();
      Values from = updates.Values();
      for (size_t y = 0; y < update_shape[0]; ++y) {
        for (size_t x = 0; x < update_shape[1]; ++x) {
          size_t i = y * update_shape[1] + x;
          size_t index = Resolve(at[i], shape[axis]);
          expected[axis == 0 ? index * 6 + x : y * 6 + index] = from[i];
        }
      }
      EXPECT_EQ(result.Values(), expected);
    }
  }
}

// Updates of [shape[0], updates, shape[2]] along axis 1, of which some name the same place.
void ExpectScattersElements(OperandDataType type, OperandDataType index_type, const Shape& shape,
                            uint32_t updates_of_row) {
  const Shape update_shape = {shape[0], updates_of_row, shape[2]};
  const HostTensor input = Pattern(type, shape);
  const HostTensor indices = Indices(index_type, update_shape, shape[1], /*wild=*/true);
  const HostTensor updates = Pattern(type, update_shape, 60);
  const HostTensor result = RunOne(OperatorKind::kScatterElements, {input, indices, updates},
                                   webidl::ScatterAttributes{1});
  Values expected = input.Values();
  const Values at = indices.Values();
  const Values from = updates.Values();
  for (size_t e = 0; e < at.size(); ++e) {
    const size_t outer = e / (updates_of_row * shape[2]);
    const size_t place = outer * shape[1] + Resolve(at[e], shape[1]);
    expected[place * shape[2] + e % shape[2]] = from[e];
  }
  EXPECT_EQ(result.Values(), expected)
      << input.descriptor.ToString() << " " << indices.descriptor.ToString();
}

void ExpectScattersElements(const Shape& shape, uint32_t updates_of_row) {
  for (OperandDataType type : kTypes) {
    for (OperandDataType index_type : kIndexTypes) {
      ExpectScattersElements(type, index_type, shape, updates_of_row);
    }
  }
}

// So many rows that an invocation takes the updates of each.
TEST(ScatterElements, IntoManyRows_LastUpdateWins) {
  ExpectScattersElements({5, 6, 64}, 9);
  ExpectScattersElements({5, 6, 63}, 9);
  ExpectScattersElements({300, 6, 1}, 9);
}

// Into a copy in strips: of every width, beside indices of either.
TEST(ScatterElements, OftenIntoALargeTensor_LastUpdateWins) {
  using enum OperandDataType;
  ExpectScattersElements(kFloat32, kInt32, {2, 258, 1024}, 301);
  ExpectScattersElements(kFloat16, kUint32, {1, 513, 1024}, 130);
  ExpectScattersElements(kInt64, kInt64, {1, 515, 256}, 131);
  ExpectScattersElements(kInt64, kInt32, {1, 516, 256}, 132);
  ExpectScattersElements(kUint8, kInt32, {1, 513, 2048}, 133);
  ExpectScattersElements(kUint8, kInt64, {1, 514, 2048}, 134);
}

// Along so long an axis that strips are half as wide.
TEST(ScatterElements, OftenAlongALongAxis_LastUpdateWins) {
  using enum OperandDataType;
  ExpectScattersElements(kFloat32, kInt32, {2, 2051, 160}, 517);
  ExpectScattersElements(kFloat16, kInt64, {1, 2050, 320}, 514);
  ExpectScattersElements(kInt64, kInt32, {1, 2049, 80}, 515);
}

// Axes of several tiles, the last of which is shorter, and of less than one.
TEST(ScatterElements, AlongALongAxis_LastUpdateWins) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  ExpectScattersElements({2, 1030, 24}, 700);
  ExpectScattersElements({1, 512, 8}, 1);
  ExpectScattersElements({1, 512, 8}, 64);
  ExpectScattersElements({3, 65, 16}, 9);
  ExpectScattersElements({2, 65, 8}, 1300);
}

// --- Indices out of range -----------------------------------------------------------------------

constexpr uint32_t kPlaces = 5;

// An index into kPlaces elements, and the place that it means.
struct WildIndex {
  long double index;
  size_t place;
};

// Of every type: what just fits, what just does not, extremes, and what fits in its lower bits.
std::vector<WildIndex> WildIndices(OperandDataType type) {
  std::vector<WildIndex> wild = {{0, 0}, {4, 4}, {5, 4}, {6, 4}, {2147483647.0L, 4}};
  if (type == OperandDataType::kUint32) {
    // Those from 2^31 on are not negative: they do not count from the end.
    for (uint32_t index : {0x80000000u, 0x80000001u, 0xfffffffbu, 0xffffffffu}) {
      wild.push_back({static_cast<long double>(index), 4});
    }
    return wild;
  }
  wild.insert(wild.end(), {{-1, 4}, {-4, 1}, {-5, 0}, {-6, 0}, {-7, 0}, {INT32_MIN, 0}});
  if (type == OperandDataType::kInt32) return wild;
  const long double two32 = 4294967296.0L;
  wild.insert(wild.end(), {{INT64_MAX, 4},
                           {INT64_MIN, 0},
                           {INT64_MIN + 3, 0},
                           {two32 / 2, 4},
                           {two32 - 2, 4},  // The lower word is -2.
                           {two32, 4},
                           {two32 + 1, 4},
                           {-two32 / 2 - 1, 0},
                           {-two32 + 3, 0},  // The lower word is 3.
                           {-two32, 0},
                           {-two32 - 1, 0},
                           {INT64_MAX - 4, 4}});
  return wild;
}

class IndexType : public testing::TestWithParam<OperandDataType> {
 protected:
  // Slot 1 of a call: all indices at once, of this shape.
  HostTensor AllIndices(const Shape& shape) const {
    Values values;
    for (const WildIndex& wild : WildIndices(GetParam())) values.push_back(wild.index);
    return HostTensor::Create(GetParam(), shape, values);
  }
  uint32_t Count() const { return static_cast<uint32_t>(WildIndices(GetParam()).size()); }
  // What gathering at all of them gives.
  Values Gathered(const Values& from) const {
    Values expected;
    for (const WildIndex& wild : WildIndices(GetParam())) expected.push_back(from[wild.place]);
    return expected;
  }
  // Scatters 99 to the place that each index names, one call after the other.
  void ExpectScatters(OperatorKind kind, const Shape& indices_shape,
                      const webidl::OperatorAttributes& attributes) const {
    const HostTensor input = Pattern(OperandDataType::kInt8, {kPlaces});
    const HostTensor update = HostTensor::Create(OperandDataType::kInt8, {1}, {99});
    for (const WildIndex& wild : WildIndices(GetParam())) {
      Values expected = input.Values();
      expected[wild.place] = 99;
      const HostTensor index = HostTensor::Create(GetParam(), indices_shape, {wild.index});
      EXPECT_EQ(RunOne(kind, {input, index, update}, attributes).Values(), expected) << wild.index;
    }
  }
};

TEST_P(IndexType, OfGather_IsClamped) {
  const HostTensor input = Pattern(OperandDataType::kFloat32, {kPlaces});
  EXPECT_EQ(
      RunOne(OperatorKind::kGather, {input, AllIndices({Count()})}, webidl::GatherAttributes{0})
          .Values(),
      Gathered(input.Values()));
}

TEST_P(IndexType, OfGatherElements_IsClamped) {
  const HostTensor input = Pattern(OperandDataType::kUint8, {kPlaces});
  EXPECT_EQ(RunOne(OperatorKind::kGatherElements, {input, AllIndices({Count()})},
                   webidl::GatherAttributes{0})
                .Values(),
            Gathered(input.Values()));
}

TEST_P(IndexType, OfGatherNd_IsClamped) {
  const HostTensor input = Pattern(OperandDataType::kInt64, {kPlaces});
  EXPECT_EQ(RunOne(OperatorKind::kGatherND, {input, AllIndices({Count(), 1})}).Values(),
            Gathered(input.Values()));
}

// The first coordinate is wild, the second is not: a place that leaves the tensor by the one must
// not come back into it by the other.
TEST_P(IndexType, OfGatherNdAmongSeveral_IsClampedByItself) {
  const HostTensor input = Pattern(OperandDataType::kInt32, {kPlaces, 3});
  Values indices;
  Values expected;
  for (const WildIndex& wild : WildIndices(GetParam())) {
    indices.insert(indices.end(), {wild.index, 1});
    expected.push_back(input.Values()[wild.place * 3 + 1]);
  }
  const HostTensor at = HostTensor::Create(GetParam(), {Count(), 2}, indices);
  EXPECT_EQ(RunOne(OperatorKind::kGatherND, {input, at}).Values(), expected);
}

TEST_P(IndexType, OfScatterElements_IsClamped) {
  ExpectScatters(OperatorKind::kScatterElements, {1}, webidl::ScatterAttributes{0});
}

TEST_P(IndexType, OfScatterNd_IsClamped) {
  ExpectScatters(OperatorKind::kScatterND, {1, 1}, webidl::NoAttributes{});
}

INSTANTIATE_TEST_SUITE_P(Each, IndexType, testing::ValuesIn(kIndexTypes), [](const auto& info) {
  return std::string(webidl::ToString(info.param));
});

// Whoever allows another type of index must add it here.
TEST(IndexTypes, OfTheTable_AreThose) {
  for (OperatorKind kind :
       {OperatorKind::kGather, OperatorKind::kGatherElements, OperatorKind::kGatherND,
        OperatorKind::kScatterElements, OperatorKind::kScatterND}) {
    EXPECT_EQ(webidl::GetOperatorRow(kind).slots[1].types,
              (webidl::DataTypeSet{OperandDataType::kInt32, OperandDataType::kUint32,
                                   OperandDataType::kInt64}))
        << webidl::OperatorName(kind);
  }
}

}  // namespace
}  // namespace webnnd::service

// Kernels of attention and of writes to its cache, against the formula in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::Shape;
using Numbers = std::vector<long double>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;
constexpr uint32_t kTableRows = 24;

struct Setup {
  uint32_t rows = 1;
  uint32_t capacity = 16;
  int32_t start = 0;
  OperandDataType type = kFloat;
};

// A graph of one macro operator whose operands are inputs.
class MacroGraph {
 public:
  explicit MacroGraph(uint32_t seed) : random_(seed) {}

  HostTensor Random(OperandDataType type, const Shape& shape) {
    size_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    std::uniform_real_distribution<double> real(-1, 1);
    Numbers values(count);
    for (long double& value : values) value = RoundTo(type, real(random_));
    return HostTensor::Create(type, shape, values);
  }
  void Operand(const HostTensor& data) {
    const auto index = static_cast<uint32_t>(inputs_.size());
    const auto value = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({Value::Kind::kInput, data.descriptor, index});
    graph_.inputs.push_back({"input" + std::to_string(index), value});
    node_.operands.push_back(value);
    inputs_.push_back(data);
  }
  void NoOperand() { node_.operands.push_back(kNoValue); }
  void Result(const HostTensor& like) {
    const auto value = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({Value::Kind::kResult, like.descriptor, 0});
    graph_.outputs.push_back({"output" + std::to_string(graph_.outputs.size()), value});
    node_.results.push_back(value);
  }
  std::vector<Numbers> Run(Macro macro) {
    node_.macro = std::move(macro);
    graph_.nodes.push_back(node_);
    auto results = RunGraph(std::move(graph_), inputs_);
    if (!results.ok()) std::fprintf(stderr, "%s\n", results.error().ToString().c_str());
    CHECK(results.ok());
    std::vector<Numbers> values;
    for (const HostTensor& result : *results) values.push_back(result.Values());
    return values;
  }

 private:
  std::mt19937 random_;
  Graph graph_;
  Node node_;
  std::vector<HostTensor> inputs_;
};

// An index as gather and scatter read it.
uint32_t ClampIndex(int64_t index, uint32_t size) {
  if (index < 0) index += size;
  return static_cast<uint32_t>(std::clamp<int64_t>(index, 0, size - 1));
}

// Turns a head that starts at `head` for a row at `position`.
void Turn(Numbers& x, size_t head, const HeadRotation& rotation, const Numbers& cos,
          const Numbers& sin, int64_t position) {
  const uint32_t half = rotation.rotary_size / 2;
  const size_t angle = size_t{ClampIndex(position, kTableRows)} * half;
  for (uint32_t i = 0; i < half; ++i) {
    const size_t a = head + (rotation.interleaved ? 2 * i : i);
    const size_t b = rotation.interleaved ? a + 1 : a + half;
    const long double first = x[a];
    x[a] = first * cos[angle + i] - x[b] * sin[angle + i];
    x[b] = x[b] * cos[angle + i] + first * sin[angle + i];
  }
}

// One query against the keys [begin, end) of a head.
Numbers Attend(const Numbers& q, size_t at, const Numbers& keys, const Numbers& values, size_t head,
               uint32_t begin, uint32_t end, const Attention& macro) {
  const uint32_t size = macro.head_size;
  Numbers scores;
  for (uint32_t key = begin; key < end; ++key) {
    long double score = 0;
    for (uint32_t d = 0; d < size; ++d) score += q[at + d] * keys[head + key * size + d];
    scores.push_back(score * macro.scale);
  }
  const long double greatest = *std::max_element(scores.begin(), scores.end());
  long double sum = 0;
  Numbers result(size);
  for (uint32_t key = begin; key < end; ++key) {
    const long double weight = std::exp(scores[key - begin] - greatest);
    sum += weight;
    for (uint32_t d = 0; d < size; ++d) result[d] += weight * values[head + key * size + d];
  }
  for (long double& value : result) value /= sum;
  return result;
}

struct Rotated {
  HeadRotation rotation;
  HostTensor cos;
  HostTensor sin;
};
Rotated AddRotation(MacroGraph& graph, const HeadRotation& rotation, const Setup& setup) {
  if (rotation.rotary_size == 0) {
    for (int i = 0; i < 3; ++i) graph.NoOperand();
    return {};
  }
  Rotated rotated{rotation, graph.Random(setup.type, {kTableRows, rotation.rotary_size / 2}),
                  graph.Random(setup.type, {kTableRows, rotation.rotary_size / 2})};
  graph.Operand(rotated.cos);
  graph.Operand(rotated.sin);
  graph.Operand(HostTensor::Create(OperandDataType::kInt64, {1}, {Numbers::value_type(3)}));
  return rotated;
}

void ExpectNear(const Numbers& want, const Numbers& got, OperandDataType type) {
  ASSERT_EQ(want.size(), got.size());
  const long double tolerance = type == kHalf ? 0x1p-9L : 0x1p-20L;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(std::fabs(want[i] - got[i]), tolerance * std::max(1.0L, std::fabs(want[i])))
        << "element " << i;
  }
}

void TestAttention(Attention macro, const Setup& setup) {
  SCOPED_TRACE(testing::Message() << "kv heads " << macro.key_value_heads << ", group "
                                  << macro.group << ", size " << macro.head_size << ", rows "
                                  << setup.rows << ", capacity " << setup.capacity << ", start "
                                  << setup.start << ", window " << macro.window << ", rotary "
                                  << macro.rotation.rotary_size
                                  << (macro.rotation.interleaved ? "i" : "")
                                  << (setup.type == kHalf ? ", half" : ""));
  macro.scale = 1 / std::sqrt(macro.head_size);
  macro.reach = 1;
  MacroGraph graph(macro.head_size + setup.rows);
  const uint32_t size = macro.head_size;
  const uint32_t width = macro.query_offset + macro.query_heads() * size + 8;
  const Shape cache = {macro.key_value_heads, setup.capacity, size};
  const HostTensor q = graph.Random(setup.type, {setup.rows, width});
  const HostTensor keys = graph.Random(setup.type, cache);
  const HostTensor values = graph.Random(setup.type, cache);
  graph.Operand(q);
  graph.Operand(keys);
  graph.Operand(values);
  graph.Operand(
      HostTensor::Create(OperandDataType::kInt32, {1}, {Numbers::value_type(setup.start)}));
  const Rotated rotated = AddRotation(graph, macro.rotation, setup);
  graph.Result(graph.Random(setup.type, {setup.rows, macro.query_heads(), size}));

  Numbers queries = q.Values();
  Numbers want;
  for (uint32_t row = 0; row < setup.rows; ++row) {
    for (uint32_t head = 0; head < macro.query_heads(); ++head) {
      const size_t at = size_t{row} * width + macro.query_offset + size_t{head} * size;
      if (macro.rotation.rotary_size != 0) {
        Turn(queries, at, macro.rotation, rotated.cos.Values(), rotated.sin.Values(), 3 + row);
      }
      const int64_t limit = int64_t{setup.start} + 1 + row;
      const auto end = static_cast<uint32_t>(std::clamp<int64_t>(limit, 0, setup.capacity));
      const uint32_t begin = macro.window != 0 && end > macro.window ? end - macro.window : 0;
      const size_t of_head = size_t{head / macro.group} * setup.capacity * size;
      Attention seen = macro;
      if (end == 0) seen.scale = 0;  // Sees everything alike.
      Numbers line = Attend(queries, at, keys.Values(), values.Values(), of_head, begin,
                            end == 0 ? setup.capacity : end, seen);
      if (end == 0 && macro.nothing_is_nan) {
        line.assign(size, std::numeric_limits<long double>::quiet_NaN());
      }
      want.insert(want.end(), line.begin(), line.end());
    }
  }
  const Numbers got = graph.Run(macro)[0];
  if (!macro.nothing_is_nan) return ExpectNear(want, got, setup.type);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(std::isnan(want[i]), std::isnan(got[i])) << i;
}

TEST(Attention, OneRow_FollowsTheFormula) {
  TestAttention({.key_value_heads = 3, .group = 3, .head_size = 64}, {.capacity = 40, .start = 20});
  TestAttention({.key_value_heads = 2, .group = 1, .head_size = 8},
                {.capacity = 9, .start = 8, .type = kHalf});
  TestAttention({.key_value_heads = 1, .group = 2, .head_size = 80}, {.capacity = 33, .start = 32});
  TestAttention({.key_value_heads = 1, .group = 3, .head_size = 256},
                {.capacity = 12, .start = 3, .type = kHalf});
}

TEST(Attention, DividedKeys_AreCombined) {
  for (int32_t start : {0, 70, 600, 699}) {
    TestAttention({.key_value_heads = 3, .group = 3, .head_size = 64},
                  {.capacity = 700, .start = start});
  }
  TestAttention({.key_value_heads = 2, .group = 2, .head_size = 16, .window = 300},
                {.capacity = 1000, .start = 801, .type = kHalf});
}

// Where the teams of a GPU's workgroup share a tile: some of several blocks, some of none.
TEST(Attention, KeysOfSeveralTeams_ArePutTogether) {
  TestAttention({.key_value_heads = 1, .group = 1, .head_size = 128},
                {.capacity = 400, .start = 393});
  TestAttention({.key_value_heads = 2, .group = 4, .head_size = 64, .window = 140},
                {.rows = 3, .capacity = 300, .start = 290, .type = kHalf});
  TestAttention({.key_value_heads = 1, .group = 8, .head_size = 32},
                {.capacity = 5000, .start = 4500});
}

TEST(Attention, ManyRows_EachSeeTheirOwnKeys) {
  TestAttention({.key_value_heads = 2, .group = 3, .head_size = 64},
                {.rows = 13, .capacity = 50, .start = 17});
  TestAttention({.key_value_heads = 2, .group = 2, .head_size = 16, .window = 3},
                {.rows = 9, .capacity = 20, .start = 5, .type = kHalf});
}

TEST(Attention, PackedAndTurnedQueries_AreRead) {
  const HeadRotation halves{.rotary_size = 16, .consecutive = true};
  const HeadRotation neighbours{.rotary_size = 8, .interleaved = true, .consecutive = true};
  TestAttention(
      {.key_value_heads = 2, .group = 2, .head_size = 16, .query_offset = 8, .rotation = halves},
      {.rows = 5, .capacity = 16, .start = 4});
  TestAttention({.key_value_heads = 1,
                 .group = 2,
                 .head_size = 16,
                 .query_offset = 32,
                 .rotation = neighbours},
                {.rows = 1, .capacity = 16, .start = 15, .type = kHalf});
}

TEST(Attention, RowsThatSeeNothing_AreTheMeanOrNan) {
  TestAttention({.key_value_heads = 1, .group = 2, .head_size = 16},
                {.rows = 4, .capacity = 10, .start = -3});
  TestAttention({.key_value_heads = 1, .group = 2, .head_size = 16, .nothing_is_nan = true},
                {.rows = 4, .capacity = 10, .start = -3, .type = kHalf});
}

TEST(Attention, StartBeyondTheCapacity_SeesAll) {
  TestAttention({.key_value_heads = 1, .group = 2, .head_size = 16, .window = 4},
                {.rows = 2, .capacity = 10, .start = 1000});
}

void TestWrite(KeyValueWrite macro, const Setup& setup) {
  SCOPED_TRACE(testing::Message() << "rows " << setup.rows << ", start " << setup.start
                                  << (setup.type == kHalf ? ", half" : ""));
  macro.rows = setup.rows;
  MacroGraph graph(7);
  const uint32_t size = macro.head_size;
  const uint32_t width = macro.key_value_heads * size;
  const HostTensor keys = graph.Random(setup.type, {setup.rows, macro.key_offset + width + 4});
  const HostTensor values = graph.Random(setup.type, {setup.rows, macro.value_offset + width});
  const Shape cache = {macro.key_value_heads, setup.capacity, size};
  const HostTensor past_keys = graph.Random(setup.type, cache);
  const HostTensor past_values = graph.Random(setup.type, cache);
  for (const HostTensor* operand : {&keys, &values, &past_keys, &past_values}) {
    graph.Operand(*operand);
  }
  graph.Operand(
      HostTensor::Create(OperandDataType::kInt32, {1}, {Numbers::value_type(setup.start)}));
  const Rotated rotated = AddRotation(graph, macro.rotation, setup);
  graph.Result(past_keys);
  graph.Result(past_values);

  Numbers key_rows = keys.Values();
  const Numbers value_rows = values.Values();
  Numbers want_keys = past_keys.Values();
  Numbers want_values = past_values.Values();
  for (uint32_t row = 0; row < setup.rows; ++row) {
    const uint32_t place = ClampIndex(int64_t{setup.start} + macro.offset + row, setup.capacity);
    for (uint32_t head = 0; head < macro.key_value_heads; ++head) {
      const size_t key_at = row * (macro.key_offset + width + 4) + macro.key_offset + head * size;
      if (macro.rotation.rotary_size != 0) {
        Turn(key_rows, key_at, macro.rotation, rotated.cos.Values(), rotated.sin.Values(), 3 + row);
      }
      const size_t value_at = row * (macro.value_offset + width) + macro.value_offset + head * size;
      const size_t to = (size_t{head} * setup.capacity + place) * size;
      for (uint32_t d = 0; d < size; ++d) {
        want_keys[to + d] = RoundTo(setup.type, key_rows[key_at + d]);
        want_values[to + d] = value_rows[value_at + d];
      }
    }
  }
  const std::vector<Numbers> got = graph.Run(macro);
  ExpectNear(want_keys, got[0], setup.type);
  EXPECT_EQ(want_values, got[1]);
}

TEST(KeyValueWrite, Rows_GoWhereScatterNdPutsThem) {
  for (OperandDataType type : {kFloat, kHalf}) {
    // Within; counted from the end; beyond either end, where the last of several stays.
    for (int32_t start : {0, 5, -3, 8, 30, -13}) {
      TestWrite({.key_value_heads = 3, .head_size = 8, .offset = 1},
                {.rows = 4, .capacity = 10, .start = start, .type = type});
    }
  }
}

TEST(KeyValueWrite, PackedAndTurnedKeys_AreRead) {
  for (bool interleaved : {false, true}) {
    TestWrite({.key_value_heads = 2,
               .head_size = 24,
               .key_offset = 8,
               .value_offset = 12,
               .rotation = {.rotary_size = 16, .interleaved = interleaved, .consecutive = true}},
              {.rows = 3, .capacity = 7, .start = 2});
  }
}

}  // namespace
}  // namespace webnnd::service

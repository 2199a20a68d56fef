// RandomAttention: attention with caches of keys and values as frameworks write it, and what is
// like it but for one thing.
#ifndef WEBNND_TESTS_SERVICE_RANDOM_ATTENTION_H_
#define WEBNND_TESTS_SERVICE_RANDOM_ATTENTION_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {

class RandomAttention {
 public:
  // Draws from `random`. One of `strange` choices falls on what frameworks do not do; none where it
  // is 0.
  RandomAttention(Net& net, std::mt19937& random, uint32_t strange)
      : net_(net), random_(random), strange_(strange) {}

  // x and the result are [rows, size].
  Operand Attend(const Operand& x);

  // What was drawn.
  const std::string& text() const { return text_; }

 private:
  // [kv heads, keys, head size], with a 1 before where there are four dimensions.
  struct Cache {
    Operand keys;
    Operand values;
  };
  struct Heads {
    Operand queries;  // [rows, heads * head size], or in another shape of these.
    Operand keys;     // [rows, kv heads * head size]
    Operand values;
  };
  enum class Growth { kScatter, kConcat, kFixed, kNone };

  uint32_t Draw(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  // Whether to do the strange thing of this name.
  bool IsStrange(const char* what);
  bool Chooses(const char* what, uint32_t one_of = 2);
  void Note(const std::string& what) { text_ += " " + what; }
  webnn::GraphBuilder& builder() { return net_.builder; }

  void DrawSizes(const Operand& x);
  Heads MakeHeads(const Operand& x);
  // Times weights so small that scores stay so: what they are off by, exp makes the greater.
  Operand Multiply(const Operand& x, uint32_t columns);
  Operand Turn(const Operand& x, uint32_t heads);
  Operand Positions();
  Operand HeadsFirst(const Operand& x, uint32_t heads);
  Cache MakeCache(const Heads& heads);
  Operand Scatter(const Operand& rows, const Operand& indices);
  Operand ScatterIndices();
  Operand Grow(const Operand& rows);
  Operand Repeat(const Operand& x);
  // Integers of the shape that count along the axis.
  Operand Count(OperandDataType integer, const Shape& shape, uint32_t axis, long double first,
                long double step);
  // Where rows see keys, or the contrary: [rows, keys] with ones before, of so many dimensions.
  Operand Visible(uint32_t rank, bool contrary);
  Operand Mask(uint32_t rank);
  Operand Scaled(const Operand& products);
  Operand Constant(long double value) { return net_.Constant(type_, {}, {value}); }
  Shape OfRank(Shape shape) const;

  Net& net_;
  std::mt19937& random_;
  uint32_t strange_;
  std::string text_;
  OperandDataType type_ = kFloat;
  OperandDataType integer_ = OperandDataType::kInt32;
  uint32_t rows_ = 1;
  uint32_t head_size_ = 8;
  uint32_t heads_ = 1;
  uint32_t kv_heads_ = 1;
  uint32_t keys_ = 1;
  uint32_t old_keys_ = 0;
  bool has_batch_ = false;
  bool by_lines_ = false;
  Growth growth_ = Growth::kScatter;
  std::vector<Operand> start_;  // One int32, or nothing where it is 0.
};

}  // namespace webnnd::service::fusion_test

#endif  // WEBNND_TESTS_SERVICE_RANDOM_ATTENTION_H_

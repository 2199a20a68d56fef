// A dimension of a shape: a number, or a bounded name (DESIGN section 7).
#ifndef WEBNND_WEBIDL_DIMENSION_H_
#define WEBNND_WEBIDL_DIMENSION_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace webnnd::webidl {

// Extension MLDynamicDimension {name, maxSize, minSize = 1}: one size between the two at each
// dispatch; the same name means the same size, across inputs and outputs. Of a result the name is a
// linear expression over such names ("past + seq"), see linear_expression.h.
struct DynamicDimension {
  std::string name;
  uint32_t max_size = 0;
  uint32_t min_size = 1;

  friend bool operator==(const DynamicDimension&, const DynamicDimension&) = default;
};

using Dimension = std::variant<uint32_t, DynamicDimension>;

// A shape whose dimensions are all numbers.
using Shape = std::vector<uint32_t>;

// A list among an operator's attributes whose items may be dimensions, such as newShape of reshape.
// It is the list of their numbers (of a dynamic one its maximum), so that all who work on sizes
// that are known read it as that; `dynamic` says which of them are none.
class Sizes : public std::vector<uint32_t> {
 public:
  struct Item {
    uint32_t index = 0;
    DynamicDimension dimension;
    friend bool operator==(const Item&, const Item&) = default;
  };

  Sizes() = default;
  Sizes(std::initializer_list<uint32_t> sizes) : vector(sizes) {}
  Sizes(Shape sizes) : vector(std::move(sizes)) {}  // NOLINT: so that a shape is one.
  explicit Sizes(const std::vector<Dimension>& dimensions) {
    for (const Dimension& dimension : dimensions) Add(dimension);
  }

  void Add(const Dimension& dimension) {
    if (const uint32_t* size = std::get_if<uint32_t>(&dimension)) return push_back(*size);
    const auto& dynamic_dimension = std::get<DynamicDimension>(dimension);
    dynamic.push_back({static_cast<uint32_t>(size()), dynamic_dimension});
    push_back(dynamic_dimension.max_size);
  }
  std::vector<Dimension> dimensions() const {
    std::vector<Dimension> all(begin(), end());
    for (const Item& item : dynamic) all.at(item.index) = item.dimension;
    return all;
  }

  std::vector<Item> dynamic;  // In ascending order of `index`.

  friend bool operator==(const Sizes& a, const Sizes& b) {
    return static_cast<const Shape&>(a) == static_cast<const Shape&>(b) && a.dynamic == b.dynamic;
  }
};

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_DIMENSION_H_

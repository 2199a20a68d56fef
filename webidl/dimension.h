// A dimension of a shape: a number, or a bounded name (DESIGN section 7).
#ifndef WEBNND_WEBIDL_DIMENSION_H_
#define WEBNND_WEBIDL_DIMENSION_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace webnnd::webidl {

// Extension MLDynamicDimension {name, maxSize, minSize = 1}: one size between the two at each
// dispatch; the same name means the same size, across inputs and outputs.
struct DynamicDimension {
  std::string name;
  uint32_t max_size = 0;
  uint32_t min_size = 1;

  friend bool operator==(const DynamicDimension&, const DynamicDimension&) = default;
};

using Dimension = std::variant<uint32_t, DynamicDimension>;

// A shape whose dimensions are all numbers: what runs today.
using Shape = std::vector<uint32_t>;

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_DIMENSION_H_

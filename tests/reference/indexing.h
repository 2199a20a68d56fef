// Multi-dimensional positions, for the reference alone.
#ifndef WEBNND_TESTS_REFERENCE_INDEXING_H_
#define WEBNND_TESTS_REFERENCE_INDEXING_H_

#include <cstdint>
#include <vector>

#include "tests/reference/reference.h"
#include "webidl/dimension.h"

namespace webnnd::reference {

using Position = std::vector<uint32_t>;

// The position of element `index` of a packed tensor, and back.
inline Position Unravel(uint64_t index, const webidl::Shape& shape) {
  Position position(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    position[d] = static_cast<uint32_t>(index % shape[d]);
    index /= shape[d];
  }
  return position;
}
inline uint64_t Ravel(const Position& position, const webidl::Shape& shape) {
  uint64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + position[d];
  return index;
}

// The element of a tensor of `shape` that a result's position reads after broadcasting: trailing
// dimensions align, dimensions of size 1 repeat.
inline uint64_t BroadcastIndex(const Position& position, const webidl::Shape& shape) {
  Position own(shape.size());
  size_t missing = position.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) own[d] = shape[d] == 1 ? 0 : position[missing + d];
  return Ravel(own, shape);
}

// The same where each element covers a block of equal size.
inline uint64_t BlockIndex(const Position& position, const webidl::Shape& input,
                           const webidl::Shape& shape) {
  Position own(shape.size());
  size_t missing = position.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    own[d] = position[missing + d] / (input[missing + d] / shape[d]);
  }
  return Ravel(own, shape);
}

// result[at] = operand[map(at)]
template <class Function>
void Move(const Array& operand, Array& result, Function map) {
  for (uint64_t i = 0; i < result.size(); ++i) {
    result.values[i] = operand.values[Ravel(map(Unravel(i, result.shape())), operand.shape())];
  }
}

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_INDEXING_H_

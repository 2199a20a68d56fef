// A tensor as [outer, axis, inner], which is how kernels that go along one axis see it.
#ifndef WEBNND_SERVICE_PASSES_AXIS_VIEW_H_
#define WEBNND_SERVICE_PASSES_AXIS_VIEW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace webnnd::service {

// Of sizes of a checked shape, so that it does not overflow; 1 of none.
inline uint32_t Product(std::span<const uint32_t> sizes) {
  uint32_t product = 1;
  for (uint32_t size : sizes) product *= size;
  return product;
}

struct AxisView {
  uint32_t rows;  // Along the axis: outer * inner.
  uint32_t axis;
  uint32_t inner;

  uint32_t outer() const { return rows / inner; }
};

inline AxisView ViewAlong(std::span<const uint32_t> shape, uint32_t axis) {
  const uint32_t inner = Product(shape.subspan(axis + 1));
  return {Product(shape.first(axis)) * inner, shape[axis], inner};
}

// The same along all dimensions that are set in `is_reduced`, if they lie beside each other.
inline std::optional<AxisView> ViewAlongAll(std::span<const uint32_t> shape,
                                            const std::vector<bool>& is_reduced) {
  const auto first = std::find(is_reduced.begin(), is_reduced.end(), true);
  const auto last = std::find(first, is_reduced.end(), false);
  if (first == last || std::find(last, is_reduced.end(), true) != is_reduced.end()) {
    return std::nullopt;
  }
  const size_t begin = first - is_reduced.begin();
  const size_t end = last - is_reduced.begin();
  const uint32_t inner = Product(shape.subspan(end));
  return AxisView{Product(shape.first(begin)) * inner, Product(shape.subspan(begin, end - begin)),
                  inner};
}

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_AXIS_VIEW_H_

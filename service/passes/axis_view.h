// A tensor as [outer, axis, inner], which is how kernels that go along one axis see it.
#ifndef WEBNND_SERVICE_PASSES_AXIS_VIEW_H_
#define WEBNND_SERVICE_PASSES_AXIS_VIEW_H_

#include <cstdint>
#include <span>

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

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_AXIS_VIEW_H_

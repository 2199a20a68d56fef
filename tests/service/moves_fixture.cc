#include "tests/service/moves_fixture.h"

#include <functional>
#include <numeric>
#include <random>

namespace webnnd::service::moves_test {

size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

HostTensor Pattern(OperandDataType type, const Shape& shape, int seed) {
  Values values(CountOf(shape));
  std::mt19937 random(seed);
  for (long double& value : values) value = static_cast<int>(random() % 15) - 7;
  if (type == OperandDataType::kUint8) {
    for (long double& value : values) value += 100;
  }
  return HostTensor::Create(type, shape, values);
}

Shape Coordinates(const Shape& shape, size_t index) {
  Shape coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) {
    coordinates[d] = static_cast<uint32_t>(index % shape[d]);
  }
  return coordinates;
}

size_t IndexOf(const Shape& shape, const Shape& coordinates) {
  size_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + coordinates[d];
  return index;
}

}  // namespace webnnd::service::moves_test

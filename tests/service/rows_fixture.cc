#include "tests/service/rows_fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace webnnd::service::rows_test {

size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

bool IsFloat(OperandDataType type) { return type == kFloat || type == kHalf; }

std::vector<Values> GroupsOf(const HostTensor& input, const Axes& axes) {
  const Shape& shape = input.descriptor.shape();
  std::vector<bool> is_reduced(shape.size(), !axes);
  for (uint32_t axis : axes.value_or(std::vector<uint32_t>())) is_reduced[axis] = true;
  size_t groups = 1;
  for (size_t d = 0; d < shape.size(); ++d) groups *= is_reduced[d] ? 1 : shape[d];
  std::vector<Values> result(groups);
  Values values = input.Values();
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    size_t group = 0;
    size_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!is_reduced[d]) {
        group += rest % shape[d] * stride;
        stride *= shape[d];
      }
      rest /= shape[d];
    }
    result[group].push_back(values[i]);
  }
  return result;
}

long double Identity(long double x) { return x; }

long double Sum(const Values& values, const std::function<long double(long double)>& map) {
  long double sum = 0;
  for (long double value : values) sum += map(value);
  return sum;
}

Values MapRows(const HostTensor& input, uint32_t axis, const std::function<Values(Values)>& map) {
  const Shape& shape = input.descriptor.shape();
  size_t inner = CountOf(Shape(shape.begin() + axis + 1, shape.end()));
  Values values = input.Values();
  for (size_t base = 0; base < values.size(); ++base) {
    if (base / inner % shape[axis] != 0) continue;
    Values row;
    for (uint32_t k = 0; k < shape[axis]; ++k) row.push_back(values[base + k * inner]);
    row = map(row);
    for (uint32_t k = 0; k < shape[axis]; ++k) values[base + k * inner] = row[k];
  }
  return values;
}

void ExpectNear(const Values& expected, const HostTensor& actual, double ulp, double absolute) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = RoundTo(type, expected[i]);
    if (std::fabs(want - values[i]) <= absolute) continue;
    ASSERT_LE(UlpDistance(type, want, values[i]), ulp)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(values[i]);
  }
}

}  // namespace webnnd::service::rows_test

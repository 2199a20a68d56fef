// What tests of operators that rearrange elements have in common: where each comes from, on the
// host.
#ifndef WEBNND_TESTS_SERVICE_MOVES_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_MOVES_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service::moves_test {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;

// Every width of element.
inline constexpr OperandDataType kTypes[] = {OperandDataType::kFloat32, OperandDataType::kFloat16,
                                             OperandDataType::kInt64, OperandDataType::kUint8,
                                             OperandDataType::kInt4};
// Those that operators without int4 take.
inline constexpr OperandDataType kByteTypes[] = {OperandDataType::kFloat32,
                                                 OperandDataType::kFloat16, OperandDataType::kInt64,
                                                 OperandDataType::kUint8};

size_t CountOf(const Shape& shape);

// Values that tell neighbours apart in every type.
HostTensor Pattern(OperandDataType type, const Shape& shape, int seed = 1);

Shape Coordinates(const Shape& shape, size_t index);
size_t IndexOf(const Shape& shape, const Shape& coordinates);

// Expects result[c] == operand[source(c)] for all coordinates c of the result.
template <class F>
void ExpectMoved(const HostTensor& operand, const HostTensor& result, const F& source) {
  Values from = operand.Values();
  Values to = result.Values();
  const Shape& shape = result.descriptor.shape();
  for (size_t i = 0; i < to.size(); ++i) {
    Shape coordinates = source(Coordinates(shape, i));
    ASSERT_EQ(to[i], from[IndexOf(operand.descriptor.shape(), coordinates)])
        << operand.descriptor.ToString() << " to " << result.descriptor.ToString() << " element "
        << i;
  }
}

}  // namespace webnnd::service::moves_test

#endif  // WEBNND_TESTS_SERVICE_MOVES_FIXTURE_H_

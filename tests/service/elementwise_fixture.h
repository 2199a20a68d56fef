// What tests of element-wise kernels have in common: values of each type, and how close results
// must be.
#ifndef WEBNND_TESTS_SERVICE_ELEMENTWISE_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_ELEMENTWISE_FIXTURE_H_

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service::elementwise_test {

using webidl::OperandDataType;
using webidl::OperatorKind;
using Values = std::vector<long double>;

inline constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
inline constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
inline constexpr OperandDataType kFloatTypes[] = {OperandDataType::kFloat32,
                                                  OperandDataType::kFloat16};
inline constexpr OperandDataType kSignedTypes[] = {OperandDataType::kInt32, OperandDataType::kInt64,
                                                   OperandDataType::kInt8};
inline constexpr OperandDataType kIntegerTypes[] = {
    OperandDataType::kInt32,  OperandDataType::kUint32, OperandDataType::kInt64,
    OperandDataType::kUint64, OperandDataType::kInt8,   OperandDataType::kUint8};
inline constexpr OperandDataType kAllTypes[] = {
    OperandDataType::kFloat32, OperandDataType::kFloat16, OperandDataType::kInt32,
    OperandDataType::kUint32,  OperandDataType::kInt64,   OperandDataType::kUint64,
    OperandDataType::kInt8,    OperandDataType::kUint8};

std::string Name(OperandDataType type);
bool IsFloat(OperandDataType type);

// Numbers that the type holds: small ones of both signs, its extremes and, of floats, NaN.
Values Samples(OperandDataType type);
HostTensor Vector(OperandDataType type, const Values& values);
// Small numbers, of which neighbours differ.
HostTensor Counting(OperandDataType type, const webidl::Shape& shape, int start);

// The type's own arithmetic in 128 bits, so that only the last step wraps.
long double Wrap(OperandDataType type, __int128 value);
// The element of an operand that broadcasting puts at index `index` of `result`.
size_t BroadcastIndex(const webidl::Shape& shape, const webidl::Shape& result, size_t index);

// That values are as expected, rounded to their type: to so many units in the last place, or to
// `absolute`. Subnormals may be 0, as devices flush them.
void ExpectClose(const Values& expected, const HostTensor& actual, double ulp, double absolute = 0);

}  // namespace webnnd::service::elementwise_test

#endif  // WEBNND_TESTS_SERVICE_ELEMENTWISE_FIXTURE_H_

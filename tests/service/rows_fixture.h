// What tests of operators along axes have in common: rows of tensors in long double.
#ifndef WEBNND_TESTS_SERVICE_ROWS_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_ROWS_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service::rows_test {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;
using Axes = std::optional<std::vector<uint32_t>>;

inline constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
inline constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
inline constexpr OperandDataType kFloat = OperandDataType::kFloat32;
inline constexpr OperandDataType kHalf = OperandDataType::kFloat16;
inline constexpr OperandDataType kAllTypes[] = {
    OperandDataType::kFloat32, OperandDataType::kFloat16, OperandDataType::kInt32,
    OperandDataType::kUint32,  OperandDataType::kInt64,   OperandDataType::kUint64,
    OperandDataType::kInt8,    OperandDataType::kUint8};

size_t CountOf(const Shape& shape);
bool IsFloat(OperandDataType type);

// The reduced elements that make up each element of the result, in order.
std::vector<Values> GroupsOf(const HostTensor& input, const Axes& axes);

long double Identity(long double x);
long double Sum(const Values& values,
                const std::function<long double(long double)>& map = Identity);

// Maps each row of an axis to a row.
Values MapRows(const HostTensor& input, uint32_t axis, const std::function<Values(Values)>& map);

// Each value to be off by `ulp` units or by `absolute` at most.
void ExpectNear(const Values& expected, const HostTensor& actual, double ulp, double absolute);

}  // namespace webnnd::service::rows_test

#endif  // WEBNND_TESTS_SERVICE_ROWS_FIXTURE_H_

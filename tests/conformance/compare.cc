#include "tests/conformance/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/values.h"

namespace webnnd::conformance {
namespace {

using webidl::OperandDataType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t OrderedFloat32(uint64_t bits) {
  constexpr uint64_t kSign = 0x80000000;
  auto magnitude = static_cast<int64_t>(bits & ~kSign);
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

double FloatDistance(OperandDataType type, Tolerance::Metric metric, uint64_t actual,
                     uint64_t expected) {
  double actual_value = FloatValue(type, actual);
  double expected_value = FloatValue(type, expected);
  // The suite writes a float16 NaN as 0x7c00, which is infinity and may mean that too.
  const bool is_suites_nan = type == OperandDataType::kFloat16 && expected == 0x7c00;
  if (is_suites_nan && std::isnan(actual_value)) return 0;
  if (std::isnan(actual_value) || std::isnan(expected_value)) {
    return std::isnan(actual_value) && std::isnan(expected_value) ? 0 : kInfinity;
  }
  // Zeros of either sign, and infinities of one.
  if (actual_value == expected_value) return 0;
  if (metric == Tolerance::Metric::kAtol) return std::fabs(actual_value - expected_value);
  if (type == OperandDataType::kFloat16) {
    return std::fabs(static_cast<double>(actual) - static_cast<double>(expected));
  }
  return std::fabs(static_cast<double>(OrderedFloat32(actual) - OrderedFloat32(expected)));
}

}  // namespace

double Distance(OperandDataType type, Tolerance::Metric metric, uint64_t actual,
                uint64_t expected) {
  if (IsFloat(type)) return FloatDistance(type, metric, actual, expected);
  if (IsSignedInteger(type)) {
    int64_t a = SignedValue(type, actual);
    int64_t b = SignedValue(type, expected);
    // The difference of two int64 fits uint64.
    return static_cast<double>(a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                                     : static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
  }
  return static_cast<double>(actual > expected ? actual - expected : expected - actual);
}

Result<double> Compare(const webidl::OperandDescriptor& descriptor,
                       std::span<const std::byte> actual, std::span<const std::byte> expected,
                       const Tolerance& tolerance) {
  INVALID_IF(actual.size() != expected.size(), "the bytes ({}) are not as many as expected ({})",
             actual.size(), expected.size());
  const OperandDataType type = descriptor.data_type();
  uint64_t wrong = 0;
  uint64_t first = 0;
  double greatest = 0;
  for (uint64_t i = 0; i < descriptor.element_count(); ++i) {
    double distance = Distance(type, tolerance.metric, ElementBits(type, actual, i),
                               ElementBits(type, expected, i));
    greatest = std::max(greatest, distance);
    if (distance <= tolerance.value) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return greatest;
  uint64_t a = ElementBits(type, actual, first);
  uint64_t e = ElementBits(type, expected, first);
  return ValidationError(
      "element ({}) is {} and not {}: {} {} apart, at most {}; {} of {} elements are wrong", first,
      ElementToString(type, a), ElementToString(type, e), Distance(type, tolerance.metric, a, e),
      tolerance.metric == Tolerance::Metric::kUlp ? "ULP" : "(absolute)", tolerance.value, wrong,
      descriptor.element_count());
}

}  // namespace webnnd::conformance

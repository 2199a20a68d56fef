// Comparison of a result with what a case expects, by the suite's rules.
#ifndef WEBNND_TESTS_CONFORMANCE_COMPARE_H_
#define WEBNND_TESTS_CONFORMANCE_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::conformance {

struct Tolerance {
  enum class Metric : uint8_t {
    kUlp,   // Units of the last place; the difference for integers.
    kAtol,  // Absolute difference.
  };
  Metric metric = Metric::kUlp;
  double value = 0;
};

// How far two elements, given by their bits, are apart: in the metric, or infinity where only one
// is NaN. ULP of float32 count on one line from -infinity to infinity, where -0 and +0 are one; of
// float16 they are the difference of the raw bits, as the suite has it.
double Distance(webidl::OperandDataType type, Tolerance::Metric metric, uint64_t actual,
                uint64_t expected);

// The greatest distance of two elements. Validation error that names the first element that is too
// far off, and how many are.
Result<double> Compare(const webidl::OperandDescriptor& descriptor,
                       std::span<const std::byte> actual, std::span<const std::byte> expected,
                       const Tolerance& tolerance);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_COMPARE_H_

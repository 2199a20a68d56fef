// The operators in extended precision, written from the draft's text and apart from the shaders:
// what random tests compare with. The table is indexed by OperatorKind.
#ifndef WEBNND_TESTS_REFERENCE_REFERENCE_H_
#define WEBNND_TESTS_REFERENCE_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::reference {

// A tensor on the host. long double holds every value of every type exactly.
struct Array {
  webidl::OperandDescriptor descriptor;
  std::vector<long double> values;
  // Of results: how large the terms were of which each element is made, where that is more than its
  // own size (a sum may cancel). Empty: the elements' own sizes.
  std::vector<long double> magnitudes;

  webidl::OperandDataType type() const { return descriptor.data_type(); }
  const webidl::Shape& shape() const { return descriptor.shape(); }
  uint64_t size() const { return values.size(); }
};

struct Arguments {
  webidl::OperatorKind kind;
  std::span<const Array* const> operands;  // By slot; nullptr for an absent one.
  const webidl::OperatorAttributes& attributes;
};

// Fills in the values of `results`, whose descriptors are given.
using EvaluateFunction = void (*)(const Arguments& arguments, std::span<Array> results);

// What random operands may hold.
enum class Domain : uint8_t {
  kAny,       // NaN, infinities, -0, the extremes of integers.
  kNumbers,   // No NaN: the draft does not say which operand wins.
  kModerate,  // Small numbers of both signs: sums neither overflow nor wrap.
  kPositive,  // Small numbers above 0.
  kNonzero,   // Small numbers of both signs, and no 0 (divisors).
  kPowers,    // Bases above 0 and small exponents.
};

struct Row {
  EvaluateFunction evaluate = nullptr;  // nullptr: the operator has no reference.
  // Units in the last place of an element's magnitude by which a float result may be off.
  double ulps = 0;
  Domain domain = Domain::kAny;
};

const Row& GetRow(webidl::OperatorKind kind);

bool IsFloat(webidl::OperandDataType type);
// The value that an element of `type` holds after `value` was stored: the nearest float, ties to
// even; integers modulo their range.
long double RoundTo(webidl::OperandDataType type, long double value);

// Element-wise, shape, gather and reduce families, in files of their own.
void EvaluateUnary(const Arguments& arguments, std::span<Array> results);
void EvaluateBinary(const Arguments& arguments, std::span<Array> results);
void EvaluateCast(const Arguments& arguments, std::span<Array> results);
void EvaluateClamp(const Arguments& arguments, std::span<Array> results);
void EvaluateWhere(const Arguments& arguments, std::span<Array> results);
void EvaluateDequantizeLinear(const Arguments& arguments, std::span<Array> results);
void EvaluateQuantizeLinear(const Arguments& arguments, std::span<Array> results);
void EvaluateCopy(const Arguments& arguments, std::span<Array> results);
void EvaluateTranspose(const Arguments& arguments, std::span<Array> results);
void EvaluateSlice(const Arguments& arguments, std::span<Array> results);
void EvaluateSplit(const Arguments& arguments, std::span<Array> results);
void EvaluateConcat(const Arguments& arguments, std::span<Array> results);
void EvaluateExpand(const Arguments& arguments, std::span<Array> results);
void EvaluateTile(const Arguments& arguments, std::span<Array> results);
void EvaluateReverse(const Arguments& arguments, std::span<Array> results);
void EvaluatePad(const Arguments& arguments, std::span<Array> results);
void EvaluateTriangular(const Arguments& arguments, std::span<Array> results);
void EvaluateGather(const Arguments& arguments, std::span<Array> results);
void EvaluateGatherElements(const Arguments& arguments, std::span<Array> results);
void EvaluateGatherNd(const Arguments& arguments, std::span<Array> results);
void EvaluateScatterElements(const Arguments& arguments, std::span<Array> results);
void EvaluateScatterNd(const Arguments& arguments, std::span<Array> results);
void EvaluateReduce(const Arguments& arguments, std::span<Array> results);
void EvaluateArgMinMax(const Arguments& arguments, std::span<Array> results);
void EvaluateCumulativeSum(const Arguments& arguments, std::span<Array> results);
void EvaluateSoftmax(const Arguments& arguments, std::span<Array> results);
void EvaluateMatmul(const Arguments& arguments, std::span<Array> results);
void EvaluateGemm(const Arguments& arguments, std::span<Array> results);

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_REFERENCE_H_

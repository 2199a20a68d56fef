// The operators in extended precision, written from the draft's text and apart from the shaders:
// what random tests compare with. The table is indexed by OperatorKind.
#ifndef WEBNND_TESTS_REFERENCE_REFERENCE_H_
#define WEBNND_TESTS_REFERENCE_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/reference/real.h"
#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::reference {

// A tensor on the host. long double holds every value of every type exactly.
struct Array {
  webidl::OperandDescriptor descriptor;
  std::vector<long double> values;
  // Of results: how far each element may be off before it is rounded to the type (real.h). Empty:
  // not at all.
  std::vector<long double> errors;

  webidl::OperandDataType type() const { return descriptor.data_type(); }
  const webidl::Shape& shape() const { return descriptor.shape(); }
  uint64_t size() const { return values.size(); }
  void Set(uint64_t index, Real result) {
    errors.resize(values.size());
    values[index] = result.value;
    errors[index] = result.error;
  }
};

struct Arguments {
  webidl::OperatorKind kind;
  std::span<const Array* const> operands;  // By slot; nullptr for an absent one.
  const webidl::OperatorAttributes& attributes;
};

// Fills in the values of `results`, whose descriptors are given.
using EvaluateFunction = void (*)(const Arguments& arguments, std::span<Array> results);

class CaseMaker;
// Makes a valid random call: operands and attributes.
using MakeFunction = void (*)(CaseMaker& maker);

// What random operands may hold.
enum class Domain : uint8_t {
  kAny,       // All that the type holds: NaN, infinities, -0, subnormals, the extremes of integers.
  kTerms,     // Small numbers of both signs, at times NaN and infinities: sums do not overflow.
              // Integers as above: sums wrap.
  kModerate,  // Small numbers of both signs.
  kPositive,  // Small numbers above 0.
  kFactors,   // Numbers of both signs near 1: products of many neither overflow nor vanish.
};

// What a float result may differ in beyond its error.
enum class Match : uint8_t {
  kValue,  // 0 has no sign, and a subnormal may be 0, also as an operand.
  kBits,   // Nothing: the operator moves elements.
};

struct Row {
  webidl::OperatorKind kind;
  MakeFunction make;
  EvaluateFunction evaluate;
  Domain domain = Domain::kAny;
  Match match = Match::kValue;
};

const Row& GetRow(webidl::OperatorKind kind);

bool IsFloat(webidl::OperandDataType type);
bool IsSigned(webidl::OperandDataType type);  // Of integer types.
long double LeastInteger(webidl::OperandDataType type);
long double GreatestInteger(webidl::OperandDataType type);
// The value that an element of `type` holds after `value` was stored: the nearest float, ties to
// even; integers modulo their range.
long double RoundTo(webidl::OperandDataType type, long double value);
// The draft's cast of a number, as attributes have them: the nearest value of the type, ties to
// even, where integers saturate and NaN gives 0.
long double CastTo(webidl::OperandDataType type, const webidl::Number& number);

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_REFERENCE_H_

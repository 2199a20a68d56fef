// RandomCase: one operator with random shapes, options and values that the draft allows.
#ifndef WEBNND_TESTS_REFERENCE_RANDOM_CASE_H_
#define WEBNND_TESTS_REFERENCE_RANDOM_CASE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/reference/reference.h"
#include "webidl/generated/types.h"

namespace webnnd::reference {

struct RandomCase {
  webidl::OperatorKind kind;
  std::vector<std::optional<Array>> operands;
  webidl::OperatorAttributes attributes;

  std::string Describe() const;
};

// Every case is valid: inference must take it.
RandomCase MakeRandomCase(webidl::OperatorKind kind, std::mt19937_64& random);

// A random array of the domain's values.
Array MakeRandomArray(webidl::OperandDataType type, const webidl::Shape& shape, Domain domain,
                      std::mt19937_64& random);

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_RANDOM_CASE_H_

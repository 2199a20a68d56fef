// How results are held against the reference.
#ifndef WEBNND_TESTS_REFERENCE_COMPARE_H_
#define WEBNND_TESTS_REFERENCE_COMPARE_H_

#include <span>
#include <string>
#include <vector>

#include "tests/reference/case_maker.h"
#include "tests/reference/reference.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::reference {

// The results of a call, each evaluated with its operands as they are and, where that may differ,
// with subnormal operands flushed to 0: either is right.
struct Expected {
  std::vector<Array> results;
  std::vector<Array> flushed;  // Empty where no operand is subnormal.
};
Result<Expected> Evaluate(const RandomCase& made);

// Why `actual` is not what is expected: "element 3 is 1.5 and not 1.4 (from ... to ...)". Empty
// where it is.
std::string Compare(const Expected& expected, size_t result, Match match,
                    const service::HostTensor& actual);

// Elements of which the errors that a computation may make leave nothing to compare. Few, or the
// reference is no use.
uint64_t CountUndecided(const Array& result);

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_COMPARE_H_

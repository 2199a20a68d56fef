// IsListed: the cases that must pass, whatever else may still be skipped.
#ifndef WEBNND_TESTS_CONFORMANCE_LISTED_H_
#define WEBNND_TESTS_CONFORMANCE_LISTED_H_

#include "tests/conformance/case.h"

namespace webnnd::conformance {

// Whether the case uses only the operators that a decoder of a language model needs, and only
// tensors of the types that these are made for (all but the 16-bit floats and the wide unsigned
// integers).
bool IsListed(const Case& test);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_LISTED_H_

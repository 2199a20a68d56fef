// BuildCaseGraph: makes a case's operators with a graph builder, as a page would call its methods.
#ifndef WEBNND_TESTS_CONFORMANCE_CASE_GRAPH_H_
#define WEBNND_TESTS_CONFORMANCE_CASE_GRAPH_H_

#include <map>
#include <string>

#include "base/result.h"
#include "client/webnn.h"
#include "tests/conformance/case.h"

namespace webnnd::conformance {

// Which operand each name of the case stands for.
using CaseOperands = std::map<std::string, webnn::Operand>;

// Adds the case's inputs, constants and operators. Errors of the builder are passed on
// (NotSupported for an operator without a meaning, or for a value that the draft's enums do not
// have); a case that does not fit the operator's signature answers Validation.
Result<CaseOperands> AddCaseOperators(webnn::GraphBuilder& builder, const Case& test);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_CASE_GRAPH_H_

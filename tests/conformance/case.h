// Conformance cases as their files hold them: format webnn-case/1, and the `fusion` field of cases
// that bound the number of kernels.
#ifndef WEBNND_TESTS_CONFORMANCE_CASE_H_
#define WEBNND_TESTS_CONFORMANCE_CASE_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tests/conformance/compare.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::conformance {

struct CaseInput {
  std::string name;
  webidl::OperandDescriptor descriptor;
  bool constant = false;
  std::vector<std::byte> bytes;
};

// A call of a builder method: values by position. Which of them are operands, the operator's
// signature says.
struct CaseCall {
  std::string name;
  std::vector<nlohmann::json> arguments;
  nlohmann::json options = nlohmann::json::object();
  std::vector<std::string> outputs;
};

struct CaseOutput {
  std::string name;
  webidl::OperandDescriptor descriptor;
  std::vector<std::byte> bytes;
  Tolerance tolerance;
};

struct Case {
  std::string id;
  std::string file;
  std::string name;
  std::vector<CaseInput> inputs;
  std::vector<CaseCall> calls;
  std::vector<CaseOutput> outputs;
  std::optional<uint32_t> kernels_at_most;
};

// A case that could not be read counts as one that fails: `error` says why.
struct LoadedCase {
  Case value;
  std::optional<Error> error;
};

// The cases of one file's text. Validation error when the text as a whole is none of the format.
Result<std::vector<LoadedCase>> ParseCases(const std::string& text);

// The files named *.json at or below `path`, sorted. Validation error when there is none.
Result<std::vector<std::string>> FindCaseFiles(const std::string& path);
Result<std::string> ReadFile(const std::string& path);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_CASE_H_

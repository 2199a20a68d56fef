#include "webidl/graph_endpoints.h"

namespace webnnd::webidl {

Status CheckInputName(const std::string& name, bool is_taken) {
  INVALID_IF(name.empty(), "an input's name is empty");
  INVALID_IF(is_taken, "the input name ({}) is used twice", name);
  return {};
}

Status CheckOutput(const std::string& name, bool is_result) {
  INVALID_IF(name.empty(), "an output's name is empty");
  INVALID_IF(!is_result, "the output ({}) is not the result of an operator", name);
  return {};
}

}  // namespace webnnd::webidl

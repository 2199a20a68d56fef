// The draft's rules of what a graph's inputs and outputs may be, for client and service alike.
#ifndef WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_
#define WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_

#include <string>

#include "base/result.h"

namespace webnnd::webidl {

// MLGraphBuilder.input(): a name that is not empty, and that no input has yet (`is_taken`).
Status CheckInputName(const std::string& name, bool is_taken);

// MLGraphBuilder.build(): a name that is not empty, for an operand that is neither an input nor a
// constant (`is_result`).
Status CheckOutput(const std::string& name, bool is_result);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_

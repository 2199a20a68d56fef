// The draft's rules of what a graph's inputs and outputs may be, for client and service alike.
#ifndef WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_
#define WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/generated/types.h"
#include "webidl/linear_expression.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::webidl {

// MLGraphBuilder.input(): a name that is not empty, and that no input has yet (`is_taken`).
Status CheckInputName(const std::string& name, bool is_taken);

// MLGraphBuilder.build(): a name that is not empty, for an operand that is neither an input nor a
// constant (`is_result`).
Status CheckOutput(const std::string& name, bool is_result);

// An input or output in a dispatch.
struct BoundEndpoint {
  const std::string* name = nullptr;
  const OperandDescriptor* descriptor = nullptr;  // The graph's.
  const OperandDescriptor* tensor = nullptr;      // The tensor's, at its capacity.
  const Shape* shape = nullptr;                   // The tensor's, as it is now.
};

// The names whose sizes a dispatch learns from such an input: its dimensions that are names alone.
void AddDeterminedNames(const OperandDescriptor& input, std::set<std::string>& names);
// The names that an operand's dimensions, or an operator's attributes, depend on.
void AddUsedNames(const OperandDescriptor& operand, std::set<std::string>& names);
Status AddUsedNames(const OperatorAttributes& attributes, const DimensionNames& declared,
                    std::set<std::string>& names);
// Validation error where a name that is used is not among those that inputs determine.
Status CheckDetermined(const std::set<std::string>& used, const std::set<std::string>& determined);

// "Validate tensors with descriptors" of the draft, as far as it can be told before shapes are
// known: Validation error unless type and rank are the graph's, and each dimension can be. `what`
// is "input" or "output".
Status CheckBindable(const char* what, const std::string& name, const OperandDescriptor& endpoint,
                     const OperandDescriptor& tensor);

// The rest of it, at a dispatch, and what the names of the inputs' dimensions
// are: Validation error unless numbers are equal, names are within
// their bounds and have one value, and derived dimensions have what follows from those.
Result<Assignment> CheckInputs(const std::vector<BoundEndpoint>& inputs);
// The shapes that the outputs will have. Validation error unless the tensors have the capacity.
Result<std::vector<Shape>> CheckOutputs(const std::vector<BoundEndpoint>& outputs,
                                        const Assignment& sizes);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_GRAPH_ENDPOINTS_H_

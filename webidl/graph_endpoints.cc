#include "webidl/graph_endpoints.h"

#include "base/utf8.h"
#include "webidl/dynamic_inference.h"

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

namespace {

Error Mismatch(const char* what, const BoundEndpoint& endpoint) {
  return ValidationError("the tensor of {} \"{}\" is {}{}, where the graph has {}", what,
                         DisplayText(*endpoint.name), ToString(endpoint.tensor->data_type()),
                         ShapeToString(*endpoint.shape), endpoint.descriptor->ToString());
}

bool IsNameAlone(const LinearExpression& expression) {
  return expression.terms().size() == 1 &&
         expression == LinearExpression(expression.terms()[0].name, expression.terms()[0].bounds);
}

// Takes the sizes of the dimensions of `input` that are names alone.
Status LearnSizes(const BoundEndpoint& input, Assignment& sizes) {
  if (!input.descriptor->is_dynamic()) return {};
  for (size_t axis = 0; axis < input.shape->size(); ++axis) {
    const LinearExpression& expression = input.descriptor->expressions()[axis];
    if (!IsNameAlone(expression)) continue;
    const LinearExpression::Term& term = expression.terms()[0];
    const uint32_t size = (*input.shape)[axis];
    INVALID_IF(size < term.bounds.min || size > term.bounds.max,
               "the dimension {} ({}) of the input \"{}\" is not within its bounds ({} to {})",
               DisplayText(term.name), size, DisplayText(*input.name), term.bounds.min,
               term.bounds.max);
    const uint32_t known = sizes.try_emplace(term.name, size).first->second;
    INVALID_IF(known != size, "the dimension {} is {} by the input \"{}\", and {} by one before",
               DisplayText(term.name), size, DisplayText(*input.name), known);
  }
  return {};
}

}  // namespace

void AddDeterminedNames(const OperandDescriptor& input, std::set<std::string>& names) {
  if (!input.is_dynamic()) return;
  for (const LinearExpression& expression : input.expressions()) {
    if (IsNameAlone(expression)) names.insert(expression.terms()[0].name);
  }
}

void AddUsedNames(const OperandDescriptor& operand, std::set<std::string>& names) {
  if (!operand.is_dynamic()) return;
  for (const LinearExpression& expression : operand.expressions()) {
    for (const LinearExpression::Term& term : expression.terms()) names.insert(term.name);
  }
}

Status AddUsedNames(const OperatorAttributes& attributes, const DimensionNames& declared,
                    std::set<std::string>& names) {
  ASSIGN_OR_RETURN(const Symbols symbols, FindSymbols({}, attributes, declared));
  for (const auto& [name, bounds] : symbols) names.insert(name);
  return {};
}

Status CheckDetermined(const std::set<std::string>& used, const std::set<std::string>& determined) {
  for (const std::string& name : used) {
    INVALID_IF(!determined.contains(name), "the dimension ({}) is that of no input of the graph",
               DisplayText(name));
  }
  return {};
}

Status CheckBindable(const char* what, const std::string& name, const OperandDescriptor& endpoint,
                     const OperandDescriptor& tensor) {
  const auto least = [](const OperandDescriptor& descriptor, size_t axis) {
    return descriptor.is_dynamic() ? descriptor.expressions()[axis].Min()
                                   : int64_t{descriptor.shape()[axis]};
  };
  bool fits = endpoint.data_type() == tensor.data_type() && endpoint.rank() == tensor.rank();
  for (size_t axis = 0; fits && axis < endpoint.rank(); ++axis) {
    fits = least(tensor, axis) <= endpoint.shape()[axis] &&
           least(endpoint, axis) <= tensor.shape()[axis];
  }
  INVALID_IF(!fits, "the tensor of {} \"{}\" is {}, where the graph has {}", what,
             DisplayText(name), tensor.ToString(), endpoint.ToString());
  return {};
}

Result<Assignment> CheckInputs(const std::vector<BoundEndpoint>& inputs) {
  Assignment sizes;
  for (const BoundEndpoint& input : inputs) {
    TRY(LearnSizes(input, sizes));
  }
  for (const BoundEndpoint& input : inputs) {
    const OperandDescriptor& descriptor = *input.descriptor;
    for (size_t axis = 0; axis < input.shape->size(); ++axis) {
      const int64_t expected = descriptor.is_dynamic() ? descriptor.expressions()[axis].At(sizes)
                                                       : descriptor.shape()[axis];
      if ((*input.shape)[axis] != expected) return Mismatch("input", input);
    }
  }
  return sizes;
}

Result<std::vector<Shape>> CheckOutputs(const std::vector<BoundEndpoint>& outputs,
                                        const Assignment& sizes) {
  std::vector<Shape> shapes;
  for (const BoundEndpoint& output : outputs) {
    const Shape shape = output.descriptor->At(sizes).shape();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      INVALID_IF(shape[axis] > output.tensor->shape()[axis],
                 "the tensor of output \"{}\" has the capacity {}, where the result is {}{}",
                 DisplayText(*output.name), ShapeToString(output.tensor->shape()),
                 ToString(output.tensor->data_type()), ShapeToString(shape));
      // What is not dynamic in the tensor is what it is.
      if (!output.tensor->is_dynamic() && shape[axis] != output.tensor->shape()[axis]) {
        return Mismatch("output", output);
      }
    }
    if (output.tensor->is_dynamic()) TRY(output.tensor->Resized(shape));
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace webnnd::webidl

#include "service/passes/constant_transposes.h"

#include <string>
#include <utility>

namespace webnnd::service {

using webidl::OperandDescriptor;
using webidl::Shape;

Result<ValueId> ConstantTransposes::Add(const GraphConstant& source, const Shape& shape,
                                        std::vector<uint32_t> permutation,
                                        OperandDescriptor result) {
  const auto type = source.descriptor.data_type();
  Shape permuted;
  for (uint32_t dimension : permutation) permuted.push_back(shape[dimension]);
  ASSIGN_OR_RETURN(OperandDescriptor before, OperandDescriptor::Create(type, shape));
  ASSIGN_OR_RETURN(OperandDescriptor after, OperandDescriptor::Create(type, permuted));

  const auto from = static_cast<ValueId>(drawn_.values.size());
  const ValueId transposed = from + 1;
  drawn_.values.push_back(
      {Value::Kind::kConstant, before, static_cast<uint32_t>(drawn_.constants.size())});
  drawn_.values.push_back(
      {Value::Kind::kResult, std::move(after), static_cast<uint32_t>(drawn_.nodes.size())});
  drawn_.constants.push_back({std::move(before), source.buffer, source.bytes});
  drawn_.nodes.push_back({webidl::OperatorKind::kTranspose,
                          {from},
                          {transposed},
                          "",
                          webidl::TransposeAttributes{.permutation = std::move(permutation)},
                          {}});
  ValueId output = transposed;
  if (result.data_type() != type) {
    output = transposed + 1;
    ASSIGN_OR_RETURN(OperandDescriptor cast,
                     OperandDescriptor::Create(result.data_type(), permuted));
    drawn_.values.push_back(
        {Value::Kind::kResult, std::move(cast), static_cast<uint32_t>(drawn_.nodes.size())});
    drawn_.nodes.push_back({webidl::OperatorKind::kCast,
                            {transposed},
                            {output},
                            "",
                            webidl::CastAttributes{.data_type = result.data_type()},
                            {}});
  }
  drawn_.outputs.push_back({"transposed" + std::to_string(drawn_.outputs.size()), output});

  const auto value = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(
      {Value::Kind::kConstant, result, static_cast<uint32_t>(graph_.constants.size())});
  constants_.push_back(graph_.constants.size());
  graph_.constants.push_back({std::move(result)});
  return value;
}

Status ConstantTransposes::Evaluate(ConstantEvaluator& evaluator) {
  if (constants_.empty()) return {};
  ASSIGN_OR_RETURN(const CompiledGraph compiled,
                   CompileGraph(std::move(drawn_), {.fusion = false, .constant_folding = false}));
  return EvaluateConstants(compiled, constants_, evaluator, graph_);
}

}  // namespace webnnd::service

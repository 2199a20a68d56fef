// GraphBuilder: MLGraphBuilder of the draft.
#ifndef WEBNND_CLIENT_GRAPH_BUILDER_H_
#define WEBNND_CLIENT_GRAPH_BUILDER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/future.h"
#include "client/generated/options.h"
#include "client/operand.h"

namespace webnn {

using NamedOperands = std::map<std::string, Operand>;

// Methods validate at once and return a Validation error where the draft throws a TypeError. After
// Build, or when the context is lost, every method fails with InvalidState.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::shared_ptr<Context> context);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // InvalidState once it has built, or when the context is lost: what every method checks first.
  Result<void> CheckCanBuild() const;
  // A named input; names are unique within the graph and not empty.
  Result<Operand> Input(const std::string& name, OperandDataType data_type, const Shape& shape);
  // The same with dimensions that may be dynamic (extension). A name has the same size, and bounds,
  // wherever it stands; a dimension may also be a linear expression over names of inputs before,
  // such as a result's ("past + seq"), with the bounds that follow from theirs.
  Result<Operand> Input(const std::string& name, OperandDataType data_type,
                        std::span<const webnnd::webidl::Dimension> dimensions);
  // Constant from bytes, copied at the call; sent to the service while the graph is being built.
  Result<Operand> Constant(OperandDataType data_type, const Shape& shape,
                           std::span<const std::byte> data);
  // Scalar constant: `value` is cast to the type as the draft's "cast" does.
  Result<Operand> Constant(OperandDataType data_type, Number value);
  // A constant tensor of the same context (Context::CreateConstantTensor). It must not be destroyed
  // before Build is called; from then on the graph keeps what it needs.
  Result<Operand> Constant(const Tensor& tensor);
  // Constant from a range of a file; the descriptor is duplicated at the call.
  Result<Operand> ConstantFromFile(OperandDataType data_type, const Shape& shape, int descriptor,
                                   uint64_t offset);

#include "client/generated/graph_builder_methods.inc"

  // Any operator by its kind: slots as in its signature (webidl/generated/signatures.h), nullptr
  // for an absent optional operand. What the generated methods call.
  Result<std::vector<Operand>> AddOperator(webnnd::webidl::OperatorKind kind,
                                           std::span<const Operand* const> slots,
                                           webnnd::webidl::OperatorAttributes attributes,
                                           std::string label);

  // Compiles the graph up to `outputs`. One call per builder.
  Future<std::shared_ptr<Graph>> Build(const NamedOperands& outputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_GRAPH_BUILDER_H_

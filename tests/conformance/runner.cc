#include "tests/conformance/runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/conformance/case_graph.h"

namespace webnnd::conformance {
namespace {

// Frees the tensors at once, not when the last reference happens to go.
class DestroyAtEnd {
 public:
  explicit DestroyAtEnd(const webnn::NamedTensors& tensors) : tensors_(tensors) {}
  ~DestroyAtEnd() {
    for (const auto& [name, tensor] : tensors_) tensor->Destroy();
  }
  DestroyAtEnd(const DestroyAtEnd&) = delete;
  DestroyAtEnd& operator=(const DestroyAtEnd&) = delete;

 private:
  const webnn::NamedTensors& tensors_;
};

}  // namespace

std::string OneLine(const Error& error) {
  std::string text = error.ToString();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Status Runner::Start() {
  if (context_ != nullptr && !context_->is_lost()) return {};
  ASSIGN_OR_RETURN(context_, ml_.Wait(ml_.CreateContext(options_.context)));
  return {};
}

CaseResult Runner::Run(const Case& test) {
  CaseResult result;
  if (Status started = Start(); !started.ok()) {
    result.message = OneLine(started.error());
    return result;
  }
  Status status = RunCase(test, result);
  if (status.ok()) {
    result.verdict = Verdict::kPassed;
    return result;
  }
  result.verdict =
      status.error().cause() == Cause::kNotSupported ? Verdict::kSkipped : Verdict::kFailed;
  result.message = OneLine(status.error());
  return result;
}

Result<webnn::NamedTensors> Runner::MakeInputs(const Case& test, const webnn::Graph& graph) {
  webnn::NamedTensors tensors;
  for (const webnn::Graph::Endpoint& endpoint : graph.inputs()) {
    auto input = std::find_if(test.inputs.begin(), test.inputs.end(),
                              [&](const CaseInput& given) { return given.name == endpoint.name; });
    CHECK(input != test.inputs.end());
    ASSIGN_OR_RETURN(auto tensor,
                     ml_.Wait(context_->CreateTensor({.data_type = endpoint.descriptor.data_type(),
                                                      .shape = endpoint.descriptor.shape(),
                                                      .writable = true})));
    TRY_DOING(context_->WriteTensor(*tensor, input->bytes), "writing {}", input->name);
    tensors.emplace(endpoint.name, std::move(tensor));
  }
  return tensors;
}

Result<webnn::NamedTensors> Runner::MakeOutputs(const webnn::Graph& graph) {
  webnn::NamedTensors tensors;
  for (const webnn::Graph::Endpoint& endpoint : graph.outputs()) {
    ASSIGN_OR_RETURN(auto tensor,
                     ml_.Wait(context_->CreateTensor({.data_type = endpoint.descriptor.data_type(),
                                                      .shape = endpoint.descriptor.shape(),
                                                      .readable = true})));
    tensors.emplace(endpoint.name, std::move(tensor));
  }
  return tensors;
}

Status Runner::RunCase(const Case& test, CaseResult& result) {
  webnn::GraphBuilder builder(context_);
  ASSIGN_OR_RETURN(CaseOperands operands, AddCaseOperators(builder, test));
  webnn::NamedOperands named;
  for (const CaseOutput& output : test.outputs) {
    auto operand = operands.find(output.name);
    INVALID_IF(operand == operands.end(), "no operator makes the output ({})", output.name);
    INVALID_IF(operand->second.descriptor() != output.descriptor,
               "the output ({}) is {} and not {}", output.name,
               operand->second.descriptor().ToString(), output.descriptor.ToString());
    named.emplace(output.name, operand->second);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<webnn::Graph> graph, ml_.Wait(builder.Build(named)));
  result.kernels = graph->kernel_count();

  ASSIGN_OR_RETURN(webnn::NamedTensors inputs, MakeInputs(test, *graph));
  DestroyAtEnd destroy_inputs(inputs);
  ASSIGN_OR_RETURN(webnn::NamedTensors outputs, MakeOutputs(*graph));
  DestroyAtEnd destroy_outputs(outputs);
  TRY(context_->Dispatch(*graph, inputs, outputs));
  for (const CaseOutput& output : test.outputs) {
    ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                     ml_.Wait(context_->ReadTensor(*outputs.at(output.name))));
    auto distance = Compare(output.descriptor, bytes, output.bytes, output.tolerance);
    if (!distance.ok()) {
      return std::move(distance).error().AddContext("comparing the output " + output.name);
    }
    const Closeness closeness{*distance, output.tolerance.value};
    if (!result.closest || result.closest->ShareUsed() < closeness.ShareUsed()) {
      result.closest = closeness;
    }
  }
  graph->Destroy();
  INVALID_IF(options_.kernels && test.kernels_at_most && *result.kernels > *test.kernels_at_most,
             "the graph takes {} kernels, at most {} are expected", *result.kernels,
             *test.kernels_at_most);
  return {};
}

}  // namespace webnnd::conformance

#include "fuzz/graph_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "service/passes/graph_at.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/compare.h"
#include "tests/reference/reference.h"
#include "tests/support/kernel_runner.h"
#include "webidl/operator_table.h"

namespace webnnd::fuzz {
namespace {

using reference::Array;
using service::Graph;
using service::HostTensor;
using service::kNoValue;
using service::Node;
using service::Value;
using service::ValueId;
using webidl::OperatorKind;

// Milliseconds on a slow device.
constexpr size_t kNodesMax = 16;
constexpr uint64_t kElementsMax = 2048;
constexpr double kWorkMax = 3e5;
// Runs of the reference with the rounding errors that operators may make: as many as explain most
// differences, and as many as are drawn before one is called unexplained.
constexpr size_t kSamples = 12;
constexpr size_t kSamplesMax = 256;

[[noreturn]] void Report(const Graph& graph, const std::string& difference) {
  for (const Node& node : graph.nodes) {
    std::string line(service::NodeName(node));
    for (ValueId value : node.operands) {
      line += value == kNoValue
                  ? " -"
                  : fmt::format(" {}:{}", value, graph.values[value].descriptor.ToString());
    }
    line += " ->";
    for (ValueId value : node.results) {
      line += fmt::format(" {}:{}", value, graph.values[value].descriptor.ToString());
    }
    fmt::print(stderr, "{}\n", line);
  }
  fmt::print(stderr, "{}\n", difference);
  UNREACHABLE();
}

bool IsSmall(const Graph& graph) {
  if (graph.nodes.size() > kNodesMax) return false;
  for (const Value& value : graph.values) {
    if (value.descriptor.element_count() > kElementsMax) return false;
  }
  double work = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind == OperatorKind::kScatterElements || node.kind == OperatorKind::kScatterND) {
      return false;
    }
    double elements = 1;
    for (ValueId value : node.results) {
      elements += static_cast<double>(graph.values[value].descriptor.element_count());
    }
    double reads = 1;
    for (ValueId value : node.operands) {
      if (value == kNoValue) continue;
      reads = std::max(reads, static_cast<double>(graph.values[value].descriptor.element_count()));
    }
    work += elements * reads;
  }
  return work <= kWorkMax;
}

// Values by ValueId; of those that the device has given, or that were made.
using Values = std::map<ValueId, Array>;

HostTensor ToHost(const Array& array) {
  return HostTensor::Create(array.type(), array.shape(), array.values);
}
Array ToArray(const HostTensor& tensor) { return {tensor.descriptor, tensor.Values(), {}}; }

// --- Through the client -------------------------------------------------------------------------

// One graph in one context, and the tensors of its endpoints.
class Execution {
 public:
  Execution(webnn::ML& ml, std::shared_ptr<webnn::Context> context, const Graph& graph)
      : ml_(ml), context_(std::move(context)), graph_(graph), builder_(context_) {}

  // Values of constants are needed; `outputs` by name.
  Status Build(const Values& values, const std::vector<Graph::Output>& outputs) {
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (value.kind != Value::Kind::kConstant) continue;
      const HostTensor host = ToHost(values.at(id));
      ASSIGN_OR_RETURN(auto operand, builder_.Constant(host.descriptor.data_type(),
                                                       host.descriptor.shape(), host.bytes));
      operands_.emplace(id, std::move(operand));
    }
    for (const Graph::Input& input : graph_.inputs) {
      const auto& descriptor = graph_.values[input.value].descriptor;
      const auto dimensions = descriptor.dimensions();
      ASSIGN_OR_RETURN(auto operand,
                       builder_.Input(input.name, descriptor.data_type(),
                                      std::span<const webidl::Dimension>(dimensions)));
      operands_.emplace(input.value, std::move(operand));
    }
    for (const Node& node : graph_.nodes) {
      std::vector<const webnn::Operand*> slots;
      for (ValueId id : node.operands) {
        slots.push_back(id == kNoValue ? nullptr : &operands_.at(id));
      }
      ASSIGN_OR_RETURN(auto results, builder_.AddOperator(node.kind, slots, node.attributes, ""));
      CHECK(results.size() == node.results.size());
      for (size_t i = 0; i < results.size(); ++i) operands_.emplace(node.results[i], results[i]);
    }
    webnn::NamedOperands named;
    for (const Graph::Output& output : outputs) {
      named.emplace(output.name, operands_.at(output.value));
    }
    ASSIGN_OR_RETURN(built_, ml_.Wait(builder_.Build(named)));
    outputs_ = outputs;
    return {};
  }

  // Tensors for all endpoints, with the inputs' values in them.
  Status MakeTensors(const Values& values) {
    for (const auto& endpoint : built_->inputs()) {
      ASSIGN_OR_RETURN(inputs_[endpoint.name], MakeTensor(endpoint.descriptor));
      TRY(Write(*inputs_[endpoint.name], values.at(InputNamed(endpoint.name))));
    }
    for (const auto& endpoint : built_->outputs()) {
      ASSIGN_OR_RETURN(tensors_[endpoint.name], MakeTensor(endpoint.descriptor));
    }
    return {};
  }

  // What the outputs are, by the values that `graph_` names them.
  Result<std::map<std::string, HostTensor>> Dispatch() {
    TRY(context_->Dispatch(*built_, inputs_, tensors_));
    return ReadAll(tensors_);
  }

  // The same by a binding in which one tensor is input and output; nullopt where none can be.
  Result<std::optional<std::map<std::string, HostTensor>>> DispatchAliased(const Values& values,
                                                                           uint64_t choice) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& input : built_->inputs()) {
      for (const auto& output : built_->outputs()) {
        if (input.descriptor == output.descriptor) pairs.emplace_back(input.name, output.name);
      }
    }
    if (pairs.empty()) return std::optional<std::map<std::string, HostTensor>>();
    const auto& [input, output] = pairs[choice % pairs.size()];
    webnn::NamedTensors outputs = tensors_;
    outputs[output] = inputs_.at(input);
    TRY(Write(*inputs_.at(input), values.at(InputNamed(input))));
    ASSIGN_OR_RETURN(auto binding, context_->Bind(*built_, inputs_, outputs));
    TRY(context_->Dispatch(*binding));
    ASSIGN_OR_RETURN(auto results, ReadAll(outputs));
    return std::optional(std::move(results));
  }

 private:
  ValueId InputNamed(const std::string& name) const {
    for (const Graph::Input& input : graph_.inputs) {
      if (input.name == name) return input.value;
    }
    UNREACHABLE();
  }

  Result<std::shared_ptr<webnn::Tensor>> MakeTensor(const webidl::OperandDescriptor& descriptor) {
    return ml_.Wait(context_->CreateTensor({.data_type = descriptor.data_type(),
                                            .shape = webidl::Sizes(descriptor.dimensions()),
                                            .readable = true,
                                            .writable = true}));
  }

  Status Write(webnn::Tensor& tensor, const Array& array) {
    if (tensor.descriptor().is_dynamic()) TRY(tensor.Resize(array.shape()));
    TRY(context_->WriteTensor(tensor, ToHost(array).bytes));
    return {};
  }

  Result<std::map<std::string, HostTensor>> ReadAll(const webnn::NamedTensors& tensors) {
    std::map<std::string, HostTensor> results;
    for (const auto& [name, tensor] : tensors) {
      ASSIGN_OR_RETURN(auto bytes, ml_.Wait(context_->ReadTensor(*tensor)));
      auto descriptor = webidl::OperandDescriptor::Create(
          tensor->data_type(), std::span<const uint32_t>(tensor->shape()));
      CHECK(descriptor.ok() && descriptor->byte_length() == bytes.size());
      results.emplace(name, HostTensor{*descriptor, std::move(bytes)});
    }
    return results;
  }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  const Graph& graph_;
  webnn::GraphBuilder builder_;
  std::map<ValueId, webnn::Operand> operands_;
  std::vector<Graph::Output> outputs_;
  std::shared_ptr<webnn::Graph> built_;
  webnn::NamedTensors inputs_;
  webnn::NamedTensors tensors_;
};

// False where it is refused, for a reason that is the graph's.
bool Succeeds(const Graph& graph, const Status& status) {
  if (status.ok()) return true;
  const Cause cause = status.error().cause();
  if (cause == Cause::kNotSupported || cause == Cause::kValidation || cause == Cause::kQuota) {
    return false;
  }
  Report(graph, status.error().ToString());
}

// --- The reference ------------------------------------------------------------------------------

// Whether the reference's errors hold for such operands: sums that overflow in one order and not in
// another, and the like, it does not follow.
bool IsTame(OperatorKind kind, const std::vector<std::optional<Array>>& operands) {
  const reference::Domain domain = reference::GetRow(kind).domain;
  if (domain == reference::Domain::kAny) return true;
  for (const auto& operand : operands) {
    if (!operand || !reference::IsFloat(operand->type())) continue;
    if (domain == reference::Domain::kFactors && operand->size() > 64) return false;
    for (long double value : operand->values) {
      const long double size = std::fabs(value);
      bool tame = size <= 1e4L;  // Not of NaN.
      if (domain == reference::Domain::kModerate) tame = size <= 16;
      if (domain == reference::Domain::kPositive) tame = tame && value >= 1e-3L;
      if (domain == reference::Domain::kFactors) tame = size >= 0.5L && size <= 2;
      if (!tame) return false;
    }
  }
  return true;
}

std::vector<std::optional<Array>> OperandsOf(const Node& node, const Values& values) {
  std::vector<std::optional<Array>> operands;
  for (ValueId id : node.operands) {
    operands.emplace_back();
    if (id != kNoValue) operands.back() = values.at(id);
  }
  return operands;
}

void CheckNode(const Graph& graph, const Node& node, const Values& values) {
  reference::RandomCase made{node.kind, OperandsOf(node, values), node.attributes};
  if (!IsTame(node.kind, made.operands)) return;
  auto expected = reference::Evaluate(made);
  CHECK(expected.ok());
  for (size_t i = 0; i < node.results.size(); ++i) {
    const std::string difference = reference::Compare(
        *expected, i, reference::GetRow(node.kind).match, ToHost(values.at(node.results[i])));
    if (difference.empty()) continue;
    Report(graph,
           fmt::format("{} differs from the reference: {}", service::NodeName(node), difference));
  }
}

void Round(Array& array) {
  // Integers are exact here: what a bound says of them is another integer.
  for (long double& value : array.values) {
    if (!std::isnan(value)) value = reference::RoundTo(array.type(), value);
  }
}

// By which halves below the least normal one are apart.
constexpr long double kLeastHalf = 0x1p-24L;

enum class Sampling : uint8_t { kExact, kKeepAll, kKeepSome };

// The graph in extended precision: exact but for the rounding of each result. Else each is off by
// what its operator may be off, and some, or all, of float16 are not rounded before the next
// operator has them: fused kernels keep what they calculate in float32.
Values Evaluate(const Graph& graph, Values values, Sampling sampling, std::mt19937_64& random) {
  const bool perturb = sampling != Sampling::kExact;
  std::vector<ValueId> kept;
  for (const Node& node : graph.nodes) {
    auto expected = reference::Evaluate({node.kind, OperandsOf(node, values), node.attributes});
    CHECK(expected.ok());
    for (size_t i = 0; i < node.results.size(); ++i) {
      Array& result = expected->results[i];
      for (uint64_t k = 0; k < result.size(); ++k) {
        const long double error = result.errors.empty() ? 0 : result.errors[k];
        long double& value = result.values[k];
        if (perturb && std::isfinite(error)) value += random() % 2 == 0 ? error : -error;
      }
      result.errors.clear();
      const bool is_half = result.type() == webidl::OperandDataType::kFloat16;
      const bool keep = sampling == Sampling::kKeepAll || random() % 2 == 0;
      if (perturb && is_half && keep) {
        kept.push_back(node.results[i]);
      } else {
        Round(result);
      }
      values[node.results[i]] = std::move(result);
    }
  }
  for (ValueId value : kept) Round(values.at(value));
  return values;
}

// The first element of which rounding alone does not explain that one way gives that of `a` and
// another that of `b`.
std::optional<uint64_t> FirstUnexplained(const Array& a, const Array& b,
                                         const std::vector<const Array*>& samples) {
  for (uint64_t i = 0; i < a.size(); ++i) {
    const long double x = a.values[i];
    const long double y = b.values[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    long double least = std::min(x, y);
    long double most = std::max(x, y);
    long double low = std::numeric_limits<long double>::infinity();
    long double high = -low;
    bool open = false;
    for (const Array* sample : samples) {
      const long double value = sample->values[i];
      open = open || !std::isfinite(value);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    // Few samples do not reach the ends of what is possible.
    const long double spread = 4 * (high - low);
    const bool is_half = a.type() == webidl::OperandDataType::kFloat16;
    const long double unit = is_half ? 0x1p-10L : 0x1p-22L;
    const long double least_unit = is_half ? kLeastHalf : reference::kLeastNormal;
    const long double room = spread + unit * std::max(std::fabs(low), std::fabs(high)) + least_unit;
    if (!open && !(least >= low - room && most <= high + room)) return i;
  }
  return std::nullopt;
}

class Comparison {
 public:
  // `apart`: what every value was when each operator ran by itself.
  Comparison(const Graph& graph, const Values& given, const Values& apart, uint64_t seed)
      : graph_(graph), given_(given), apart_(apart), random_(seed) {}

  void Check(ValueId value, const HostTensor& got, const char* what) {
    const Array& wanted = apart_.at(value);
    if (got.descriptor.shape() != wanted.shape()) {
      Report(graph_,
             fmt::format("{}: the shape of {} is {}", what, value, got.descriptor.ToString()));
    }
    if (ToHost(wanted).bytes == got.bytes) return;
    const Array array = ToArray(got);
    DrawSamples(kSamples);
    auto at = FirstUnexplained(wanted, array, SamplesOf(value));
    if (at) {
      // Where a small error decides, as between two equal numbers that are compared, few samples
      // may all fall to one side.
      DrawSamples(kSamplesMax);
      at = FirstUnexplained(wanted, array, SamplesOf(value));
    }
    if (!at) return;
    Report(graph_, fmt::format("{}: element {} of {} is {:.9g} and not {:.9g}", what, *at, value,
                               array.values[*at], wanted.values[*at]));
  }

 private:
  void DrawSamples(size_t count) {
    while (samples_.size() < count) {
      // By chance alone none of them might keep the one that a fused kernel keeps.
      const Sampling sampling = samples_.empty()       ? Sampling::kExact
                                : samples_.size() == 1 ? Sampling::kKeepAll
                                                       : Sampling::kKeepSome;
      samples_.push_back(Evaluate(graph_, given_, sampling, random_));
    }
  }

  std::vector<const Array*> SamplesOf(ValueId value) const {
    std::vector<const Array*> samples;
    for (const Values& sample : samples_) samples.push_back(&sample.at(value));
    return samples;
  }

  const Graph& graph_;
  const Values& given_;
  const Values& apart_;
  std::mt19937_64 random_;
  std::vector<Values> samples_;
};

// Sizes for the names; 0 is not among them, since the static graph could not have it.
webidl::Assignment PickSizes(const Graph& graph, std::mt19937_64& random) {
  webidl::Assignment sizes;
  for (const auto& [name, bounds] : graph.names.symbols()) {
    const uint32_t least = std::max(bounds.min, 1u);
    sizes[name] = least + static_cast<uint32_t>(random() % (bounds.max - least + 1));
  }
  return sizes;
}

Values MakeData(const Graph& graph, std::mt19937_64& random) {
  Values values;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.kind == Value::Kind::kResult) continue;
    values.emplace(
        id, reference::MakeRandomArray(value.descriptor.data_type(), value.descriptor.shape(),
                                       reference::Domain::kModerate, random));
  }
  return values;
}

std::vector<Graph::Output> EveryResult(const Graph& graph) {
  std::vector<Graph::Output> outputs;
  for (const Node& node : graph.nodes) {
    for (ValueId value : node.results) outputs.push_back({"v" + std::to_string(value), value});
  }
  return outputs;
}

bool HasEmptyValue(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(),
                     [](const Value& value) { return value.descriptor.element_count() == 0; });
}

}  // namespace

GraphRunner::GraphRunner() {
  auto device = service::Device::Open(0, {});
  CHECK(device.ok());
  host_ = std::make_unique<service::InProcessHost>(
      service::SessionOptions{.devices = {*device}, .quota = {.device_bytes = 64 << 20}});
  ml_ = std::make_unique<webnn::ML>(webnn::Connect::InProcess(*host_));
  plain_ = ml_->Wait(ml_->CreateContext({.fusion = false, .constant_folding = false})).value();
  whole_ = ml_->Wait(ml_->CreateContext()).value();
}

GraphOutcome GraphRunner::Check(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  if (!IsSmall(graph)) return GraphOutcome::kTooLarge;
  const webidl::Assignment sizes = PickSizes(graph, random);
  auto at_sizes = service::GraphAt(graph, sizes);
  if (!at_sizes.ok()) return GraphOutcome::kRefused;
  const Graph& fixed = *at_sizes;
  if (HasEmptyValue(fixed)) return GraphOutcome::kTooLarge;
  const Values data = MakeData(fixed, random);

  Values apart = data;
  {
    Execution run(*ml_, plain_, fixed);
    if (!Succeeds(fixed, run.Build(data, EveryResult(fixed))) ||
        !Succeeds(fixed, run.MakeTensors(data))) {
      return GraphOutcome::kRefused;
    }
    auto results = run.Dispatch();
    if (!results.ok()) Report(fixed, results.error().ToString());
    for (const Graph::Output& output : EveryResult(fixed)) {
      apart.insert_or_assign(output.value, ToArray(results->at(output.name)));
    }
  }
  for (const Node& node : fixed.nodes) CheckNode(fixed, node, apart);

  Comparison comparison(fixed, data, apart, seed);
  Execution run(*ml_, whole_, graph);
  if (!Succeeds(graph, run.Build(data, graph.outputs)) || !Succeeds(graph, run.MakeTensors(data))) {
    return GraphOutcome::kRefused;
  }
  auto results = run.Dispatch();
  if (!results.ok()) {
    Succeeds(graph, results.error());
    return GraphOutcome::kRefused;
  }
  for (const Graph::Output& output : graph.outputs) {
    comparison.Check(output.value, results->at(output.name), "fused");
  }
  auto aliased = run.DispatchAliased(data, random());
  if (!aliased.ok()) Report(graph, aliased.error().ToString());
  if (*aliased) {
    for (const auto& [name, tensor] : **aliased) {
      if (tensor.bytes == results->at(name).bytes) continue;
      Report(graph, fmt::format("the output {} differs where a tensor is input and output", name));
    }
  }
  return GraphOutcome::kCompared;
}

}  // namespace webnnd::fuzz

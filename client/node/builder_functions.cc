// What MLGraphBuilder and MLOperand do.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/graph_builder.h"
#include "client/node/descriptor.h"
#include "client/node/functions.h"
#include "client/node/memory.h"
#include "client/node/values.h"
#include "webidl/generated/signatures.h"

namespace webnn::node {
namespace {

namespace webidl = webnnd::webidl;

// The builder of the first argument, for functions that make one operand with `make(builder)`.
template <class Make>
napi_value MakeOperand(napi_env env, Arguments& arguments, Make make) {
  std::shared_ptr<GraphBuilder> builder;
  if (!arguments.Read(builder)) return nullptr;
  Result<Operand> operand = make(*builder);
  Environment& environment = Environment::Of(env);
  if (!operand.ok()) {
    environment.Throw(Method::kBuilder, operand.error());
    return nullptr;
  }
  return environment.Hold(std::make_shared<Operand>(*std::move(operand)), 0);
}

// A builder holds its constants until it has built, and the graph afterwards.
void AddMemory(napi_env env, Arguments& arguments, int64_t bytes) {
  Held& builder = *arguments.reader().ReadHeld(arguments[0]);
  Environment::Of(env).Account(builder, builder.bytes() + bytes);
}

}  // namespace

napi_value CreateBuilder(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  if (!Arguments(env, info).Read(context)) return nullptr;
  Environment& environment = Environment::Of(env);
  if (auto live = context->CheckLive(); !live.ok()) {
    environment.Throw(Method::kBuilder, live.error());
    return nullptr;
  }
  return environment.Hold(std::make_shared<GraphBuilder>(context), kGraphMemory);
}

napi_value CheckBuilder(napi_env env, napi_callback_info info) {
  std::shared_ptr<GraphBuilder> builder;
  if (!Arguments(env, info).Read(builder)) return nullptr;
  if (auto can_build = builder->CheckCanBuild(); !can_build.ok()) {
    Environment::Of(env).Throw(Method::kBuilder, can_build.error());
  }
  return nullptr;
}

napi_value Input(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::string name;
  arguments.reader().Read(arguments[1], name);
  const Descriptor descriptor = Descriptor::From(arguments.reader(), arguments[2]);
  return MakeOperand(env, arguments, [&](GraphBuilder& builder) {
    return builder.Input(name, descriptor.data_type, descriptor.dimensions);
  });
}

napi_value ConstantBytes(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  const Descriptor descriptor = Descriptor::From(arguments.reader(), arguments[1]);
  std::span<std::byte> bytes;
  arguments.reader().Read(arguments[2], bytes);
  return MakeOperand(env, arguments, [&](GraphBuilder& builder) -> Result<Operand> {
    TRY(builder.CheckCanBuild());
    ASSIGN_OR_RETURN(const Shape shape, descriptor.FixedShape());
    ASSIGN_OR_RETURN(Operand operand, builder.Constant(descriptor.data_type, shape, bytes));
    AddMemory(env, arguments, static_cast<int64_t>(bytes.size()));
    return operand;
  });
}

napi_value ConstantScalar(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  OperandDataType data_type{};
  webidl::Number value;
  arguments.reader().Read(arguments[1], data_type);
  arguments.reader().Read(arguments[2], value);
  return MakeOperand(env, arguments,
                     [&](GraphBuilder& builder) { return builder.Constant(data_type, value); });
}

napi_value ConstantTensor(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Tensor> tensor;
  arguments.reader().Read(arguments[1], tensor);
  return MakeOperand(env, arguments,
                     [&](GraphBuilder& builder) { return builder.Constant(*tensor); });
}

napi_value Operator(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Reader& reader = arguments.reader();
  std::shared_ptr<GraphBuilder> builder;
  std::string name, label;
  std::vector<std::shared_ptr<Operand>> operands;
  if (!arguments.Read(builder, name, operands)) return nullptr;
  const auto kind = webidl::OperatorKindFromName(name);
  CHECK(kind.has_value());
  webidl::OperatorAttributes attributes = webidl::DefaultAttributes(*kind);
  const auto read = [&](std::string_view field, auto& out) {
    reader.Member(arguments[3], field, out);
  };
  std::visit([&](auto& alternative) { webidl::VisitFields(alternative, read); }, attributes);
  reader.Member(arguments[3], "label", label);
  if (reader.failed()) return nullptr;

  std::vector<const Operand*> slots;
  for (const auto& operand : operands) slots.push_back(operand.get());
  auto results = builder->AddOperator(*kind, slots, std::move(attributes), std::move(label));
  Environment& environment = Environment::Of(env);
  if (!results.ok()) {
    environment.Throw(Method::kBuilder, results.error());
    return nullptr;
  }
  std::vector<napi_value> values;
  for (Operand& operand : *results) {
    values.push_back(environment.Hold(std::make_shared<Operand>(std::move(operand)), 0));
  }
  return webidl::GetSignature(*kind).result_list ? MakeArray(env, values) : values.front();
}

napi_value Build(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<GraphBuilder> builder;
  std::vector<std::string> names;
  std::vector<std::shared_ptr<Operand>> operands;
  if (!arguments.Read(builder, names, operands)) return nullptr;
  CHECK(names.size() == operands.size());
  NamedOperands outputs;
  for (size_t i = 0; i < names.size(); ++i) outputs.emplace(std::move(names[i]), *operands[i]);
  Environment& environment = Environment::Of(env);
  auto future = builder->Build(outputs);
  // The graph has the constants now.
  Held& held = *arguments.reader().ReadHeld(arguments[0]);
  const int64_t memory = held.bytes();
  if (!builder->CheckCanBuild().ok()) environment.Account(held, 0);
  return environment.MakePromise(
      Method::kBuild, std::move(future),
      [&environment, memory](const auto& graph) { return environment.Hold(*graph, memory); });
}

napi_value OperandDataTypeOf(napi_env env, napi_callback_info info) {
  std::shared_ptr<Operand> operand;
  if (!Arguments(env, info).Read(operand)) return nullptr;
  return ToValue(env, ToString(operand->data_type()));
}

napi_value OperandShapeOf(napi_env env, napi_callback_info info) {
  std::shared_ptr<Operand> operand;
  if (!Arguments(env, info).Read(operand)) return nullptr;
  const std::vector<webidl::Dimension> dimensions = operand->descriptor().dimensions();
  std::vector<napi_value> shape;
  for (const webidl::Dimension& dimension : dimensions) {
    const auto* dynamic = std::get_if<webidl::DynamicDimension>(&dimension);
    if (dynamic == nullptr) {
      shape.push_back(ToValue(env, static_cast<double>(std::get<uint32_t>(dimension))));
      continue;
    }
    ObjectMaker object(env);
    object.Add("name", ToValue(env, std::string_view(dynamic->name)))
        .Add("maxSize", ToValue(env, static_cast<double>(dynamic->max_size)))
        .Add("minSize", ToValue(env, static_cast<double>(dynamic->min_size)));
    shape.push_back(object.object());
  }
  return MakeArray(env, shape);
}

}  // namespace webnn::node

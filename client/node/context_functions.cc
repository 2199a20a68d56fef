// What MLContext, and the tensors and graphs that come from it, do.

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/context.h"
#include "client/node/descriptor.h"
#include "client/node/functions.h"
#include "client/node/memory.h"
#include "client/node/values.h"

namespace webnn::node {
namespace {

using webnnd::webidl::DataTypeSet;
using webnnd::webidl::TensorConstraint;

napi_value TypesValue(napi_env env, const DataTypeSet& types) {
  std::vector<napi_value> names;
  for (uint32_t i = 0; i < webnnd::webidl::kOperandDataTypeCount; ++i) {
    const auto type = static_cast<OperandDataType>(i);
    if (types.Contains(type)) names.push_back(ToValue(env, ToString(type)));
  }
  return MakeArray(env, names);
}

napi_value LimitsValue(napi_env env, const TensorConstraint& constraint) {
  ObjectMaker ranks(env);
  ranks.Add("min", ToValue(env, static_cast<double>(constraint.rank_min)));
  ranks.Add("max", ToValue(env, static_cast<double>(constraint.rank_max)));
  ObjectMaker limits(env);
  limits.Add("dataTypes", TypesValue(env, constraint.types));
  limits.Add("rankRange", ranks.object());
  return limits.object();
}

napi_value PromiseTensor(Environment& environment, Method method,
                         Future<std::shared_ptr<Tensor>> future) {
  return environment.MakePromise(method, std::move(future), [&environment](const auto& tensor) {
    return environment.Hold(*tensor, TensorMemory((*tensor)->descriptor()));
  });
}

// A promise that rejects: for what fails before the client is asked.
napi_value PromiseError(Environment& environment, Method method, webnnd::Error error) {
  return environment.MakePromise(method, Future<void>::Ready(std::move(error)),
                                 [](const auto&) { return nullptr; });
}

// Names and tensors side by side, as the draft's records have them.
bool ReadTensors(Reader& reader, napi_value names, napi_value tensors, NamedTensors& out) {
  std::vector<std::string> keys;
  std::vector<std::shared_ptr<Tensor>> values;
  reader.Read(names, keys);
  reader.Read(tensors, values);
  if (reader.failed()) return false;
  CHECK(keys.size() == values.size());
  for (size_t i = 0; i < keys.size(); ++i) out.emplace(std::move(keys[i]), std::move(values[i]));
  return true;
}

}  // namespace

napi_value CreateContext(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  Reader& reader = arguments.reader();
  std::string socket, program;
  ContextOptions options;
  reader.Member(arguments[0], "socket", socket);
  reader.Member(arguments[0], "program", program);
  reader.Member(arguments[1], "powerPreference", options.power_preference);
  reader.Member(arguments[1], "accelerated", options.accelerated);
  if (reader.failed()) return nullptr;
  Environment& environment = Environment::Of(env);
  auto future = environment.Connected(socket, program).CreateContext(options);
  return environment.MakePromise(
      Method::kCreateContext, std::move(future),
      [&environment](const auto& context) { return environment.Hold(*context, kContextMemory); });
}

napi_value CheckContext(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  if (!Arguments(env, info).Read(context)) return nullptr;
  if (auto live = context->CheckLive(); !live.ok()) {
    Environment::Of(env).Throw(Method::kCreateTensor, live.error());
  }
  return nullptr;
}

napi_value IsAccelerated(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  if (!Arguments(env, info).Read(context)) return nullptr;
  return ToValue(env, context->accelerated());
}

napi_value OnLost(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Context> context;
  if (!arguments.Read(context)) return nullptr;
  auto callback = std::make_shared<Reference>(env, arguments[1]);
  context->lost().Then([environment = Environment::Of(env).shared_from_this(),
                        weak = std::weak_ptr<Context>(context),
                        callback](const Result<ContextLostInfo>& lost) {
    // Scripts must not see what is collected.
    if (environment->closed() || weak.expired()) return;
    const napi_env env = environment->env();
    napi_handle_scope scope = nullptr;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    const napi_value message = ToValue(env, std::string_view(lost->message));
    napi_call_function(env, Undefined(env), callback->value(), 1, &message, nullptr);
    napi_close_handle_scope(env, scope);
  });
  return nullptr;
}

napi_value OpSupportLimitsOf(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  if (!Arguments(env, info).Read(context)) return nullptr;
  const OpSupportLimits& limits = context->op_support_limits();
  ObjectMaker object(env);
  object.Add("preferredInputLayout", ToValue(env, ToString(limits.preferred_input_layout)));
  object.Add("maxTensorByteLength",
             ToValue(env, static_cast<double>(limits.max_tensor_byte_length)));
  object.Add("input", LimitsValue(env, limits.input));
  object.Add("constant", LimitsValue(env, limits.constant));
  object.Add("output", LimitsValue(env, limits.output));
  for (const auto& [kind, members] : limits.operators) {
    ObjectMaker row(env);
    for (const auto& [name, constraint] : members) row.Add(name, LimitsValue(env, constraint));
    object.Add(webnnd::webidl::OperatorName(kind), row.object());
  }
  return object.object();
}

napi_value CreateTensor(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Context> context;
  const Descriptor descriptor = Descriptor::From(arguments.reader(), arguments[1]);
  if (!arguments.Read(context)) return nullptr;
  return PromiseTensor(
      Environment::Of(env), Method::kCreateTensor,
      context->CreateTensor({descriptor.data_type, webnnd::webidl::Sizes(descriptor.dimensions),
                             descriptor.readable, descriptor.writable}));
}

napi_value CreateConstantTensor(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Context> context;
  std::span<std::byte> bytes;
  const Descriptor descriptor = Descriptor::From(arguments.reader(), arguments[1]);
  arguments.reader().Read(arguments[2], bytes);
  if (!arguments.Read(context)) return nullptr;
  Environment& environment = Environment::Of(env);
  auto shape = descriptor.FixedShape();
  if (!shape.ok()) return PromiseError(environment, Method::kCreateConstantTensor, shape.error());
  return PromiseTensor(environment, Method::kCreateConstantTensor,
                       context->CreateConstantTensor(descriptor.data_type, *shape, bytes));
}

napi_value WriteTensor(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Tensor> tensor;
  std::span<std::byte> bytes;
  if (!Arguments(env, info).Read(context, tensor, bytes)) return nullptr;
  if (auto written = context->WriteTensor(*tensor, bytes); !written.ok()) {
    Environment::Of(env).Throw(Method::kWriteTensor, written.error());
  }
  return nullptr;
}

napi_value ResizeTensor(napi_env env, napi_callback_info info) {
  std::shared_ptr<Tensor> tensor;
  webnnd::webidl::Shape shape;
  if (!Arguments(env, info).Read(tensor, shape)) return nullptr;
  if (auto resized = tensor->Resize(shape); !resized.ok()) {
    Environment::Of(env).Throw(Method::kWriteTensor, resized.error());
  }
  return nullptr;
}

napi_value TensorShapeOf(napi_env env, napi_callback_info info) {
  std::shared_ptr<Tensor> tensor;
  if (!Arguments(env, info).Read(tensor)) return nullptr;
  return ToValue(env, tensor->shape());
}

napi_value ReadTensor(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Tensor> tensor;
  if (!Arguments(env, info).Read(context, tensor)) return nullptr;
  // Read straight into what the script gets. The memory of an ArrayBuffer does not move.
  const size_t length = tensor->readable() ? tensor->byte_length() : 0;
  void* data = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(env, length, &data, &buffer) != napi_ok) return nullptr;
  auto kept = std::make_shared<Reference>(env, buffer);
  auto future = context->ReadTensor(*tensor, {static_cast<std::byte*>(data), length});
  return Environment::Of(env).MakePromise(Method::kReadTensor, std::move(future),
                                          [kept](const auto&) { return kept->value(); });
}

napi_value ReadTensorInto(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Context> context;
  std::shared_ptr<Tensor> tensor;
  std::span<std::byte> bytes;
  if (!arguments.Read(context, tensor, bytes)) return nullptr;
  Environment& environment = Environment::Of(env);
  if (auto fits = context->CheckReadTensor(*tensor, bytes.size()); !fits.ok()) {
    return PromiseError(environment, Method::kReadTensor, fits.error());
  }
  // Not straight into the script's buffer, which may be detached until then.
  auto kept = std::make_shared<Reference>(env, arguments[2]);
  return environment.MakePromise(Method::kReadTensor, context->ReadTensor(*tensor),
                                 [env, kept](const auto& result) -> napi_value {
                                   std::span<std::byte> destination;
                                   Reader(env).Read(kept->value(), destination);
                                   if (destination.size() != result->size()) {
                                     napi_throw_type_error(
                                         env, nullptr, "the buffer was detached during the read");
                                     return nullptr;
                                   }
                                   std::memcpy(destination.data(), result->data(), result->size());
                                   return Undefined(env);
                                 });
}

// What dispatch and bind are given; false when it must not be used.
struct GraphArguments {
  std::shared_ptr<Context> context;
  std::shared_ptr<Graph> graph;
  NamedTensors inputs, outputs;

  bool Read(Arguments& arguments) {
    return arguments.Read(context, graph) &&
           ReadTensors(arguments.reader(), arguments[2], arguments[3], inputs) &&
           ReadTensors(arguments.reader(), arguments[4], arguments[5], outputs);
  }
};

napi_value Dispatch(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  GraphArguments given;
  if (!given.Read(arguments)) return nullptr;
  auto sent = given.context->Dispatch(*given.graph, given.inputs, given.outputs);
  if (!sent.ok()) Environment::Of(env).Throw(Method::kDispatch, sent.error());
  return nullptr;
}

napi_value Bind(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  GraphArguments given;
  if (!given.Read(arguments)) return nullptr;
  Environment& environment = Environment::Of(env);
  auto binding = given.context->Bind(*given.graph, given.inputs, given.outputs);
  if (binding.ok()) return environment.Hold(std::move(*binding), kBindingMemory);
  environment.Throw(Method::kDispatch, binding.error());
  return nullptr;
}

napi_value DispatchBinding(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Binding> binding;
  if (!Arguments(env, info).Read(context, binding)) return nullptr;
  if (auto sent = context->Dispatch(*binding); !sent.ok()) {
    Environment::Of(env).Throw(Method::kDispatch, sent.error());
  }
  return nullptr;
}

napi_value DestroyContext(napi_env env, napi_callback_info info) {
  std::shared_ptr<Context> context;
  if (!Arguments(env, info).Read(context)) return nullptr;
  context->Destroy();
  return nullptr;
}

napi_value DestroyTensor(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Tensor> tensor;
  if (!arguments.Read(tensor)) return nullptr;
  tensor->Destroy();
  Environment::Of(env).Account(*arguments.reader().ReadHeld(arguments[0]), 0);
  return nullptr;
}

napi_value DestroyBinding(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Binding> binding;
  if (!arguments.Read(binding)) return nullptr;
  binding->Destroy();
  Environment::Of(env).Account(*arguments.reader().ReadHeld(arguments[0]), 0);
  return nullptr;
}

napi_value DestroyGraph(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  std::shared_ptr<Graph> graph;
  if (!arguments.Read(graph)) return nullptr;
  graph->Destroy();
  Environment::Of(env).Account(*arguments.reader().ReadHeld(arguments[0]), 0);
  return nullptr;
}

}  // namespace webnn::node

// The addon: loaded once by each thread of Node.js that uses the package.

#include <node_api.h>

#include "client/node/environment.h"
#include "client/node/functions.h"
#include "client/node/values.h"

namespace webnn::node {

napi_value SetUp(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Environment::Of(env).SetExceptionFactory(arguments[0]);
  return nullptr;
}

napi_value CollectGarbage(napi_env env, napi_callback_info) {
  Environment::Of(env).CollectGarbage();
  return nullptr;
}

namespace {

constexpr struct {
  const char* name;
  napi_callback function;
} kFunctions[] = {
    {"setUp", SetUp},
    {"collectGarbage", CollectGarbage},
    {"createContext", CreateContext},
    {"checkContext", CheckContext},
    {"isAccelerated", IsAccelerated},
    {"onLost", OnLost},
    {"opSupportLimits", OpSupportLimitsOf},
    {"createTensor", CreateTensor},
    {"createConstantTensor", CreateConstantTensor},
    {"writeTensor", WriteTensor},
    {"readTensor", ReadTensor},
    {"readTensorInto", ReadTensorInto},
    {"dispatch", Dispatch},
    {"bind", Bind},
    {"dispatchBinding", DispatchBinding},
    {"destroyBinding", DestroyBinding},
    {"destroyContext", DestroyContext},
    {"destroyTensor", DestroyTensor},
    {"destroyGraph", DestroyGraph},
    {"createBuilder", CreateBuilder},
    {"checkBuilder", CheckBuilder},
    {"input", Input},
    {"constant", ConstantBytes},
    {"scalarConstant", ConstantScalar},
    {"tensorConstant", ConstantTensor},
    {"operator", Operator},
    {"build", Build},
    {"operandDataType", OperandDataTypeOf},
    {"operandShape", OperandShapeOf},
    {"tensorShape", TensorShapeOf},
    {"resizeTensor", ResizeTensor},
};

napi_value Start(napi_env env, napi_value exports) {
  Environment::Start(env);
  ObjectMaker functions(env);
  for (const auto& [name, function] : kFunctions) {
    napi_value value = nullptr;
    if (napi_create_function(env, name, NAPI_AUTO_LENGTH, function, nullptr, &value) != napi_ok) {
      return exports;
    }
    functions.Add(name, value);
  }
  return functions.object();
}

}  // namespace
}  // namespace webnn::node

NAPI_MODULE_INIT() { return webnn::node::Start(env, exports); }

// The functions that the addon exports (module.cc), for client/node/implementation.mjs alone. Their
// arguments are what it passes; they throw, or reject, what the draft's method does.
#ifndef WEBNND_CLIENT_NODE_FUNCTIONS_H_
#define WEBNND_CLIENT_NODE_FUNCTIONS_H_

#include <node_api.h>

namespace webnn::node {

// setUp((name, message, cause) => exception): before all others.
napi_value SetUp(napi_env env, napi_callback_info info);
// collectGarbage()
napi_value CollectGarbage(napi_env env, napi_callback_info info);

// --- Contexts, tensors and graphs (context_functions.cc) -----------------------------------------
// createContext({socket, program}, options) => Promise<context>
napi_value CreateContext(napi_env env, napi_callback_info info);
// checkContext(context): throws when it is lost.
napi_value CheckContext(napi_env env, napi_callback_info info);
// isAccelerated(context) => boolean
napi_value IsAccelerated(napi_env env, napi_callback_info info);
// onLost(context, message => {}): never called for a context that was merely collected.
napi_value OnLost(napi_env env, napi_callback_info info);
// opSupportLimits(context) => MLOpSupportLimits
napi_value OpSupportLimitsOf(napi_env env, napi_callback_info info);
// createTensor(context, descriptor) => Promise<tensor>
napi_value CreateTensor(napi_env env, napi_callback_info info);
// createConstantTensor(context, descriptor, Uint8Array) => Promise<tensor>
napi_value CreateConstantTensor(napi_env env, napi_callback_info info);
// writeTensor(context, tensor, Uint8Array)
napi_value WriteTensor(napi_env env, napi_callback_info info);
// resizeTensor(tensor, array), tensorShape(tensor) => array
napi_value ResizeTensor(napi_env env, napi_callback_info info);
napi_value TensorShapeOf(napi_env env, napi_callback_info info);
// readTensor(context, tensor) => Promise<ArrayBuffer>
napi_value ReadTensor(napi_env env, napi_callback_info info);
// readTensorInto(context, tensor, Uint8Array) => Promise<undefined>
napi_value ReadTensorInto(napi_env env, napi_callback_info info);
// dispatch(context, graph, inputNames, inputs, outputNames, outputs)
napi_value Dispatch(napi_env env, napi_callback_info info);
// bind(context, graph, inputNames, inputs, outputNames, outputs) => binding
napi_value Bind(napi_env env, napi_callback_info info);
// dispatchBinding(context, binding), destroyBinding(binding)
napi_value DispatchBinding(napi_env env, napi_callback_info info);
napi_value DestroyBinding(napi_env env, napi_callback_info info);
// destroyContext(context), destroyTensor(tensor), destroyGraph(graph)
napi_value DestroyContext(napi_env env, napi_callback_info info);
napi_value DestroyTensor(napi_env env, napi_callback_info info);
napi_value DestroyGraph(napi_env env, napi_callback_info info);

// --- Builders and operands (builder_functions.cc) ------------------------------------------------
// createBuilder(context) => builder
napi_value CreateBuilder(napi_env env, napi_callback_info info);
// checkBuilder(builder): throws when it has built, or its context is lost.
napi_value CheckBuilder(napi_env env, napi_callback_info info);
// input(builder, name, descriptor) => operand
napi_value Input(napi_env env, napi_callback_info info);
// constant(builder, descriptor, Uint8Array) => operand
napi_value ConstantBytes(napi_env env, napi_callback_info info);
// scalarConstant(builder, dataType, number) => operand
napi_value ConstantScalar(napi_env env, napi_callback_info info);
// tensorConstant(builder, tensor) => operand
napi_value ConstantTensor(napi_env env, napi_callback_info info);
// operator(builder, name, operands, attributes) => operand, or an array of them
napi_value Operator(napi_env env, napi_callback_info info);
// build(builder, names, operands) => Promise<graph>
napi_value Build(napi_env env, napi_callback_info info);
// operandDataType(operand) => string, operandShape(operand) => array of numbers and
// MLDynamicDimension
napi_value OperandDataTypeOf(napi_env env, napi_callback_info info);
napi_value OperandShapeOf(napi_env env, napi_callback_info info);

}  // namespace webnn::node

#endif  // WEBNND_CLIENT_NODE_FUNCTIONS_H_

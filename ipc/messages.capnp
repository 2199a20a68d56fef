# Every message of the two sides, as ipc/messages.h has it in C++. Handles are UInt64:
# generation << 32 | index. Descriptors do not appear here: a message that needs some takes them
# from the socket, in the order of its fields.

@0xc6a3f0915b7d2e84;

using Cxx = import "/capnp/c++.capnp";
using Operators = import "/ipc/generated/operators.capnp";
$Cxx.namespace("webnnd::ipc::wire");

# Client to service. `hello` stays first and keeps its layout, so that another build's is understood
# far enough to be refused with words.
struct ClientMessage {
  union {
    hello @0 :Hello;
    createContext @1 :CreateContext;
    destroyContext @2 :DestroyContext;
    createTensor @3 :CreateTensor;
    createConstantTensor @4 :CreateConstantTensor;
    destroyTensor @5 :DestroyTensor;
    writeTensor @6 :WriteTensor;
    readTensor @7 :ReadTensor;
    createBuilder @8 :CreateBuilder;
    destroyBuilder @9 :DestroyBuilder;
    addInputs @10 :AddInputs;
    addConstant @11 :AddConstant;
    addConstantTensor @12 :AddConstantTensor;
    addOperators @13 :AddOperators;
    build @14 :Build;
    destroyGraph @15 :DestroyGraph;
    dispatch @16 :Dispatch;
    createBinding @17 :CreateBinding;
    destroyBinding @18 :DestroyBinding;
    dispatchBinding @19 :DispatchBinding;
    resizeTensor @20 :ResizeTensor;
  }
}

# Service to client. `goodbye` stays first and keeps its layout.
struct ServiceMessage {
  union {
    goodbye @0 :Goodbye;
    contextCreated @1 :ContextCreated;
    contextLost @2 :ContextLost;
    tensorCreated @3 :TensorCreated;
    graphBuilt @4 :GraphBuilt;
    tensorRead @5 :TensorRead;
    acknowledge @6 :Acknowledge;
  }
}

# --- Bulk data ------------------------------------------------------------------------------------

struct Payload {
  union {
    inline @0 :Data;
    arena :group {
      offset @1 :UInt64;
      length @2 :UInt64;
      sequence @3 :UInt64;  # From 1 up, in the order of the messages.
    }
    file :group {  # One descriptor.
      offset @4 :UInt64;
      length @5 :UInt64;
    }
  }
}

struct Destination {
  union {
    inline @0 :Void;
    arena :group {
      offset @1 :UInt64;
      length @2 :UInt64;
    }
    file :group {  # One descriptor.
      length @3 :UInt64;
    }
  }
}

# --- Client to service ----------------------------------------------------------------------------

struct Hello {  # Two descriptors: the up arena, the down arena.
  schemaHash @0 :Data;  # 32 bytes.
  upBytes @1 :UInt64;
  downBytes @2 :UInt64;
}

struct CreateContext {
  context @0 :UInt64;
  powerPreference @1 :Operators.PowerPreference;
  accelerated @2 :Bool;
  fusion @3 :Bool;
  constantFolding @4 :Bool;
  fusions @5 :Text;  # Names of macro operators, separated by commas; empty: all.
}

struct DestroyContext {
  context @0 :UInt64;
}

struct CreateTensor {
  context @0 :UInt64;
  tensor @1 :UInt64;
  descriptor @2 :Operators.OperandDescriptor;
  readable @3 :Bool;
  writable @4 :Bool;
}

struct CreateConstantTensor {
  context @0 :UInt64;
  tensor @1 :UInt64;
  descriptor @2 :Operators.OperandDescriptor;
  data @3 :Payload;
}

struct DestroyTensor {
  tensor @0 :UInt64;
}

struct WriteTensor {
  tensor @0 :UInt64;
  data @1 :Payload;
}

struct ReadTensor {
  tensor @0 :UInt64;
  request @1 :UInt64;
  destination @2 :Destination;
}

struct CreateBuilder {
  context @0 :UInt64;
  builder @1 :UInt64;
}

struct DestroyBuilder {
  builder @0 :UInt64;
}

struct GraphInput {
  operand @0 :UInt32;
  name @1 :Text;
  descriptor @2 :Operators.OperandDescriptor;
}

struct AddInputs {
  builder @0 :UInt64;
  inputs @1 :List(GraphInput);
}

struct AddConstant {
  builder @0 :UInt64;
  operand @1 :UInt32;
  descriptor @2 :Operators.OperandDescriptor;
  data @3 :Payload;
}

struct AddConstantTensor {
  builder @0 :UInt64;
  operand @1 :UInt32;
  tensor @2 :UInt64;
}

struct AddOperators {
  builder @0 :UInt64;
  operators @1 :List(Operators.Operator);
}

struct GraphOutput {
  name @0 :Text;
  operand @1 :UInt32;
}

struct Build {
  builder @0 :UInt64;
  graph @1 :UInt64;
  inputs @2 :List(UInt32);
  outputs @3 :List(GraphOutput);
}

struct DestroyGraph {
  graph @0 :UInt64;
}

struct Dispatch {
  graph @0 :UInt64;
  inputs @1 :List(UInt64);
  outputs @2 :List(UInt64);
}

struct CreateBinding {
  binding @0 :UInt64;
  graph @1 :UInt64;
  inputs @2 :List(UInt64);
  outputs @3 :List(UInt64);
}

struct DestroyBinding {
  binding @0 :UInt64;
}

struct DispatchBinding {
  binding @0 :UInt64;
}

struct ResizeTensor {
  tensor @0 :UInt64;
  shape @1 :List(UInt32);
}

# --- Service to client ----------------------------------------------------------------------------

enum Cause {
  validation @0;
  notSupported @1;
  invalidState @2;
  quota @3;
  outOfMemory @4;
  deviceLost @5;
  internal @6;
}

struct Error {
  cause @0 :Cause;
  message @1 :Text;
  context @2 :List(Text);  # What was being done, innermost first.
}

# How a request ended.
struct Outcome {
  union {
    success @0 :Void;
    error @1 :Error;
  }
}

struct Goodbye {
  message @0 :Text;
}

struct ContextCreated {
  context @0 :UInt64;
  outcome @1 :Outcome;
  accelerated @2 :Bool;
  deviceName @3 :Text;
  maxTensorByteLength @4 :UInt64;
}

struct ContextLost {
  context @0 :UInt64;
  message @1 :Text;
}

struct TensorCreated {
  tensor @0 :UInt64;
  outcome @1 :Outcome;
}

struct GraphBuilt {
  graph @0 :UInt64;
  outcome @1 :Outcome;
  kernelCount @2 :UInt32;
}

struct TensorRead {
  request @0 :UInt64;
  outcome @1 :Outcome;
  length @2 :UInt64;
  bytes @3 :Data;
}

struct Acknowledge {
  sequence @0 :UInt64;
}

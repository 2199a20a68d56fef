// Every message of the two sides as plain structs. ipc/messages.capnp is their form on the wire,
// ipc/codec.h goes between the two. The client speaks ClientMessage, the service ServiceMessage.
#ifndef WEBNND_IPC_MESSAGES_H_
#define WEBNND_IPC_MESSAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "ipc/handle.h"
#include "webidl/dimension.h"
#include "webidl/generated/types.h"

namespace webnnd::ipc {

// A descriptor as it comes: nothing in it is checked beyond its form.
struct WireDescriptor {
  webidl::OperandDataType data_type = webidl::OperandDataType::kFloat32;
  std::vector<webidl::Dimension> dimensions;
  friend bool operator==(const WireDescriptor&, const WireDescriptor&) = default;
};

// --- Bulk data ----------------------------------------------------------------------------------
// Bytes in the message itself, up to limits::kInlinePayloadBytesMax.
struct InlinePayload {
  std::vector<std::byte> bytes;
};
// A range of the up arena (client to service). The service acknowledges `sequence` when it has
// copied the range; sequences count up from 1 in the order of the messages.
struct ArenaPayload {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t sequence = 0;
};
// A range of a descriptor that comes with the message: a regular file or a sealed memfd.
struct FilePayload {
  UniqueFd file;
  uint64_t offset = 0;
  uint64_t length = 0;
};
using Payload = std::variant<InlinePayload, ArenaPayload, FilePayload>;

// Where the bytes of a read go.
struct InlineDestination {};  // Into the reply; for up to limits::kInlinePayloadBytesMax bytes.
struct ArenaDestination {     // A range of the down arena, which the client allocates and frees.
  uint64_t offset = 0;
  uint64_t length = 0;
};
struct FileDestination {  // A sealed memfd that comes with the message, written from offset 0.
  UniqueFd file;
  uint64_t length = 0;
};
using Destination = std::variant<InlineDestination, ArenaDestination, FileDestination>;

// --- Client to service --------------------------------------------------------------------------
using SchemaHash = std::array<std::byte, 32>;

// The first message, once. Carries two sealed memfds: the arenas.
struct Hello {
  SchemaHash schema_hash{};
  UniqueFd up_arena;
  uint64_t up_bytes = 0;
  UniqueFd down_arena;
  uint64_t down_bytes = 0;
};
struct CreateContext {
  Handle context;
  webidl::PowerPreference power_preference = webidl::PowerPreference::kDefault;
  bool accelerated = true;
  bool fusion = true;
  bool constant_folding = true;
  // Names of macro operators, separated by commas: fusion looks for these alone. Empty: for all.
  // Those behind a minus sign it leaves out.
  std::string fusions;
};
struct DestroyContext {
  Handle context;
};
struct CreateTensor {
  Handle context;
  Handle tensor;
  WireDescriptor descriptor;
  bool readable = false;
  bool writable = false;
};
struct CreateConstantTensor {
  Handle context;
  Handle tensor;
  WireDescriptor descriptor;
  Payload data;
};
struct DestroyTensor {
  Handle tensor;
};
// Of a tensor with dynamic dimensions, within its capacity.
struct ResizeTensor {
  Handle tensor;
  std::vector<uint32_t> shape;
};
struct WriteTensor {
  Handle tensor;
  Payload data;
};
struct ReadTensor {
  Handle tensor;
  uint64_t request = 0;  // Echoed in TensorRead.
  Destination destination;
};
struct CreateBuilder {
  Handle context;
  Handle builder;
};
struct DestroyBuilder {
  Handle builder;
};
// Operand ids are chosen by the client, from 1 up, unique in a builder; references go backwards.
struct GraphInput {
  uint32_t operand = 0;
  std::string name;
  WireDescriptor descriptor;
  friend bool operator==(const GraphInput&, const GraphInput&) = default;
};
struct AddInputs {
  Handle builder;
  std::vector<GraphInput> inputs;
};
struct AddConstant {
  Handle builder;
  uint32_t operand = 0;
  WireDescriptor descriptor;
  Payload data;
};
struct AddConstantTensor {
  Handle builder;
  uint32_t operand = 0;
  Handle tensor;
};
struct AddOperators {
  Handle builder;
  std::vector<webidl::Operator> operators;
};
struct GraphOutput {
  std::string name;
  uint32_t operand = 0;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};
// Consumes the builder. `inputs` are the operands of exactly those inputs that the outputs reach:
// their order, and that of `outputs`, is the order of tensors in Dispatch.
struct Build {
  Handle builder;
  Handle graph;
  std::vector<uint32_t> inputs;
  std::vector<GraphOutput> outputs;
};
struct DestroyGraph {
  Handle graph;
};
// No tensor twice.
struct Dispatch {
  Handle graph;
  std::vector<Handle> inputs;
  std::vector<Handle> outputs;
};
// Tensors in the order of Dispatch; one may be an input and an output.
struct CreateBinding {
  Handle binding;
  Handle graph;
  std::vector<Handle> inputs;
  std::vector<Handle> outputs;
};
struct DestroyBinding {
  Handle binding;
};
struct DispatchBinding {
  Handle binding;
};

// What it takes to move and destroy each of them is compiled in messages.cc alone, and not again in
// each source that sends or receives one.
class ClientMessage
    : public std::variant<Hello, CreateContext, DestroyContext, CreateTensor, CreateConstantTensor,
                          DestroyTensor, WriteTensor, ReadTensor, CreateBuilder, DestroyBuilder,
                          AddInputs, AddConstant, AddConstantTensor, AddOperators, Build,
                          DestroyGraph, Dispatch, CreateBinding, DestroyBinding, DispatchBinding,
                          ResizeTensor> {
 public:
  ClientMessage();
  ClientMessage(Hello message);                 // NOLINT
  ClientMessage(CreateContext message);         // NOLINT
  ClientMessage(DestroyContext message);        // NOLINT
  ClientMessage(CreateTensor message);          // NOLINT
  ClientMessage(CreateConstantTensor message);  // NOLINT
  ClientMessage(DestroyTensor message);         // NOLINT
  ClientMessage(WriteTensor message);           // NOLINT
  ClientMessage(ReadTensor message);            // NOLINT
  ClientMessage(CreateBuilder message);         // NOLINT
  ClientMessage(DestroyBuilder message);        // NOLINT
  ClientMessage(AddInputs message);             // NOLINT
  ClientMessage(AddConstant message);           // NOLINT
  ClientMessage(AddConstantTensor message);     // NOLINT
  ClientMessage(AddOperators message);          // NOLINT
  ClientMessage(Build message);                 // NOLINT
  ClientMessage(DestroyGraph message);          // NOLINT
  ClientMessage(Dispatch message);              // NOLINT
  ClientMessage(CreateBinding message);         // NOLINT
  ClientMessage(DestroyBinding message);        // NOLINT
  ClientMessage(DispatchBinding message);       // NOLINT
  ClientMessage(ResizeTensor message);          // NOLINT
  ClientMessage(ClientMessage&& other) noexcept;
  ClientMessage& operator=(ClientMessage&& other) noexcept;
  ~ClientMessage();
};

// --- Service to client --------------------------------------------------------------------------
// The session ends after this; the reason in words (a BadMessage, a schema mismatch, a quota).
struct Goodbye {
  std::string message;
};
struct ContextCreated {
  Handle context;
  std::optional<Error> error;
  bool accelerated = false;
  std::string device_name;
  uint64_t max_tensor_byte_length = 0;
};
struct ContextLost {
  Handle context;
  std::string message;
};
struct TensorCreated {
  Handle tensor;
  std::optional<Error> error;
};
struct GraphBuilt {
  Handle graph;
  std::optional<Error> error;
  uint32_t kernel_count = 0;
};
struct TensorRead {
  uint64_t request = 0;
  std::optional<Error> error;
  uint64_t length = 0;           // Bytes written to the destination.
  std::vector<std::byte> bytes;  // Inline destinations only.
};
// The service has copied all up-arena payloads up to this sequence.
struct Acknowledge {
  uint64_t sequence = 0;
};

class ServiceMessage : public std::variant<Goodbye, ContextCreated, ContextLost, TensorCreated,
                                           GraphBuilt, TensorRead, Acknowledge> {
 public:
  ServiceMessage();
  ServiceMessage(Goodbye message);         // NOLINT
  ServiceMessage(ContextCreated message);  // NOLINT
  ServiceMessage(ContextLost message);     // NOLINT
  ServiceMessage(TensorCreated message);   // NOLINT
  ServiceMessage(GraphBuilt message);      // NOLINT
  ServiceMessage(TensorRead message);      // NOLINT
  ServiceMessage(Acknowledge message);     // NOLINT
  ServiceMessage(const ServiceMessage& other);
  ServiceMessage(ServiceMessage&& other) noexcept;
  ServiceMessage& operator=(const ServiceMessage& other);
  ServiceMessage& operator=(ServiceMessage&& other) noexcept;
  ~ServiceMessage();
};

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_MESSAGES_H_

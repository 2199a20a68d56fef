#include "ipc/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>

#include "base/check.h"
#include "base/utf8.h"
#include "ipc/generated/operator_codec.h"
#include "ipc/messages.capnp.h"

namespace webnnd::ipc {
namespace {

constexpr size_t kWordBytes = sizeof(capnp::word);
static_assert(kWordBytes == 8);

template <class T>
using Decoded = Result<T, BadMessage>;

Decoded<Handle> DecodeHandle(uint64_t packed) {
  Handle handle = Handle::Unpack(packed);
  if (handle.index == 0) {
    return MakeBadMessage("a handle is none (generation {})", handle.generation);
  }
  return handle;
}

Decoded<uint32_t> DecodeOperandId(uint32_t operand) {
  if (operand == 0) return MakeBadMessage("an operand's id is none ({})", operand);
  return operand;
}

Decoded<std::string> DecodeText(capnp::Text::Reader reader, uint32_t bytes_max) {
  if (reader.size() > bytes_max) {
    return MakeBadMessage("a text ({} bytes) is longer than the limit ({})", reader.size(),
                          bytes_max);
  }
  std::string text(reader.begin(), reader.size());
  if (!IsUtf8(text)) return MakeBadMessage("a text ({} bytes) is not UTF-8", text.size());
  return text;
}

Decoded<std::vector<std::byte>> DecodeBytes(capnp::Data::Reader reader) {
  if (reader.size() > limits::kInlinePayloadBytesMax) {
    return MakeBadMessage("an inline payload ({} bytes) is longer than the limit ({})",
                          reader.size(), limits::kInlinePayloadBytesMax);
  }
  auto bytes = std::as_bytes(std::span(reader.begin(), reader.size()));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

template <class Enum, class Wire>
Decoded<Enum> DecodeEnum(Wire value, uint32_t count) {
  auto number = static_cast<uint32_t>(value);
  if (number >= count) return MakeBadMessage("an enum's value ({}) is unknown", number);
  return static_cast<Enum>(number);
}

template <class Tag>
BadMessage UnknownTag(Tag tag) {
  return MakeBadMessage("a union's tag ({}) is unknown", static_cast<uint32_t>(tag));
}

// Decodes each entry of a list of at most `count_max`.
template <class T, class List, class Function>
Decoded<std::vector<T>> DecodeList(List list, uint32_t count_max, Function decode) {
  if (list.size() > count_max) {
    return MakeBadMessage("a list ({} entries) is longer than the limit ({})", list.size(),
                          count_max);
  }
  std::vector<T> out;
  out.reserve(list.size());
  for (auto entry : list) {
    ASSIGN_OR_RETURN(T value, decode(entry));
    out.push_back(std::move(value));
  }
  return out;
}

Decoded<WireDescriptor> DecodeDescriptorOf(wire::OperandDescriptor::Reader reader) {
  ASSIGN_OR_RETURN(auto decoded, DecodeDescriptor(reader));
  return WireDescriptor{decoded.first, std::move(decoded.second)};
}

Decoded<uint64_t> DecodeArenaBytes(uint64_t bytes) {
  if (bytes < limits::kArenaBytesMin || bytes > limits::kArenaBytesMax) {
    return MakeBadMessage("an arena ({} bytes) is outside the limits ({} to {})", bytes,
                          limits::kArenaBytesMin, limits::kArenaBytesMax);
  }
  return bytes;
}

// One overload per message. Each pointer is read once: the traversal limit is the frame itself.
class Decoder {
 public:
  explicit Decoder(std::deque<UniqueFd>& descriptors) : descriptors_(descriptors) {}

  Decoded<Hello> Decode(wire::Hello::Reader r) {
    Hello m;
    auto hash = r.getSchemaHash();
    if (hash.size() != m.schema_hash.size()) {
      return MakeBadMessage("a schema hash ({} bytes) is not {} bytes long", hash.size(),
                            m.schema_hash.size());
    }
    std::memcpy(m.schema_hash.data(), hash.begin(), hash.size());
    ASSIGN_OR_RETURN(m.up_arena, Take());
    ASSIGN_OR_RETURN(m.up_bytes, DecodeArenaBytes(r.getUpBytes()));
    ASSIGN_OR_RETURN(m.down_arena, Take());
    ASSIGN_OR_RETURN(m.down_bytes, DecodeArenaBytes(r.getDownBytes()));
    return m;
  }
  Decoded<CreateContext> Decode(wire::CreateContext::Reader r) {
    CreateContext m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(
        m.power_preference,
        DecodeEnum<webidl::PowerPreference>(r.getPowerPreference(), webidl::kPowerPreferenceCount));
    m.accelerated = r.getAccelerated();
    m.fusion = r.getFusion();
    m.constant_folding = r.getConstantFolding();
    ASSIGN_OR_RETURN(m.fusions, DecodeText(r.getFusions(), limits::kNameBytesMax));
    return m;
  }
  Decoded<DestroyContext> Decode(wire::DestroyContext::Reader r) {
    DestroyContext m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    return m;
  }
  Decoded<CreateTensor> Decode(wire::CreateTensor::Reader r) {
    CreateTensor m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    ASSIGN_OR_RETURN(m.descriptor, DecodeDescriptorOf(r.getDescriptor()));
    m.readable = r.getReadable();
    m.writable = r.getWritable();
    return m;
  }
  Decoded<CreateConstantTensor> Decode(wire::CreateConstantTensor::Reader r) {
    CreateConstantTensor m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    ASSIGN_OR_RETURN(m.descriptor, DecodeDescriptorOf(r.getDescriptor()));
    ASSIGN_OR_RETURN(m.data, Decode(r.getData()));
    return m;
  }
  Decoded<DestroyTensor> Decode(wire::DestroyTensor::Reader r) {
    DestroyTensor m;
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    return m;
  }
  Decoded<WriteTensor> Decode(wire::WriteTensor::Reader r) {
    WriteTensor m;
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    ASSIGN_OR_RETURN(m.data, Decode(r.getData()));
    return m;
  }
  Decoded<ReadTensor> Decode(wire::ReadTensor::Reader r) {
    ReadTensor m;
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    m.request = r.getRequest();
    ASSIGN_OR_RETURN(m.destination, Decode(r.getDestination()));
    return m;
  }
  Decoded<CreateBuilder> Decode(wire::CreateBuilder::Reader r) {
    CreateBuilder m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    return m;
  }
  Decoded<DestroyBuilder> Decode(wire::DestroyBuilder::Reader r) {
    DestroyBuilder m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    return m;
  }
  Decoded<AddInputs> Decode(wire::AddInputs::Reader r) {
    AddInputs m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    ASSIGN_OR_RETURN(
        m.inputs,
        DecodeList<GraphInput>(
            r.getInputs(), limits::kGraphEndpointsMax,
            [](wire::GraphInput::Reader entry) -> Decoded<GraphInput> {
              GraphInput input;
              ASSIGN_OR_RETURN(input.operand, DecodeOperandId(entry.getOperand()));
              ASSIGN_OR_RETURN(input.name, DecodeText(entry.getName(), limits::kNameBytesMax));
              ASSIGN_OR_RETURN(input.descriptor, DecodeDescriptorOf(entry.getDescriptor()));
              return input;
            }));
    return m;
  }
  Decoded<AddConstant> Decode(wire::AddConstant::Reader r) {
    AddConstant m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    ASSIGN_OR_RETURN(m.operand, DecodeOperandId(r.getOperand()));
    ASSIGN_OR_RETURN(m.descriptor, DecodeDescriptorOf(r.getDescriptor()));
    ASSIGN_OR_RETURN(m.data, Decode(r.getData()));
    return m;
  }
  Decoded<AddConstantTensor> Decode(wire::AddConstantTensor::Reader r) {
    AddConstantTensor m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    ASSIGN_OR_RETURN(m.operand, DecodeOperandId(r.getOperand()));
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    return m;
  }
  Decoded<AddOperators> Decode(wire::AddOperators::Reader r) {
    AddOperators m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    ASSIGN_OR_RETURN(
        m.operators,
        DecodeList<webidl::Operator>(r.getOperators(), limits::kOperatorsPerChunk, DecodeOperator));
    return m;
  }
  Decoded<Build> Decode(wire::Build::Reader r) {
    Build m;
    ASSIGN_OR_RETURN(m.builder, DecodeHandle(r.getBuilder()));
    ASSIGN_OR_RETURN(m.graph, DecodeHandle(r.getGraph()));
    ASSIGN_OR_RETURN(
        m.inputs, DecodeList<uint32_t>(r.getInputs(), limits::kGraphEndpointsMax, DecodeOperandId));
    ASSIGN_OR_RETURN(m.outputs,
                     DecodeList<GraphOutput>(
                         r.getOutputs(), limits::kGraphEndpointsMax,
                         [](wire::GraphOutput::Reader entry) -> Decoded<GraphOutput> {
                           GraphOutput output;
                           ASSIGN_OR_RETURN(output.name,
                                            DecodeText(entry.getName(), limits::kNameBytesMax));
                           ASSIGN_OR_RETURN(output.operand, DecodeOperandId(entry.getOperand()));
                           return output;
                         }));
    return m;
  }
  Decoded<DestroyGraph> Decode(wire::DestroyGraph::Reader r) {
    DestroyGraph m;
    ASSIGN_OR_RETURN(m.graph, DecodeHandle(r.getGraph()));
    return m;
  }
  Decoded<Dispatch> Decode(wire::Dispatch::Reader r) {
    Dispatch m;
    ASSIGN_OR_RETURN(m.graph, DecodeHandle(r.getGraph()));
    ASSIGN_OR_RETURN(m.inputs,
                     DecodeList<Handle>(r.getInputs(), limits::kGraphEndpointsMax, DecodeHandle));
    ASSIGN_OR_RETURN(m.outputs,
                     DecodeList<Handle>(r.getOutputs(), limits::kGraphEndpointsMax, DecodeHandle));
    return m;
  }
  Decoded<CreateBinding> Decode(wire::CreateBinding::Reader r) {
    CreateBinding m;
    ASSIGN_OR_RETURN(m.binding, DecodeHandle(r.getBinding()));
    ASSIGN_OR_RETURN(m.graph, DecodeHandle(r.getGraph()));
    ASSIGN_OR_RETURN(m.inputs,
                     DecodeList<Handle>(r.getInputs(), limits::kGraphEndpointsMax, DecodeHandle));
    ASSIGN_OR_RETURN(m.outputs,
                     DecodeList<Handle>(r.getOutputs(), limits::kGraphEndpointsMax, DecodeHandle));
    return m;
  }
  Decoded<DestroyBinding> Decode(wire::DestroyBinding::Reader r) {
    DestroyBinding m;
    ASSIGN_OR_RETURN(m.binding, DecodeHandle(r.getBinding()));
    return m;
  }
  Decoded<DispatchBinding> Decode(wire::DispatchBinding::Reader r) {
    DispatchBinding m;
    ASSIGN_OR_RETURN(m.binding, DecodeHandle(r.getBinding()));
    return m;
  }
  Decoded<ResizeTensor> Decode(wire::ResizeTensor::Reader r) {
    ResizeTensor m;
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    ASSIGN_OR_RETURN(m.shape,
                     DecodeList<uint32_t>(r.getShape(), limits::kRankMax,
                                          [](uint32_t size) -> Decoded<uint32_t> { return size; }));
    return m;
  }

  Decoded<Goodbye> Decode(wire::Goodbye::Reader r) {
    Goodbye m;
    ASSIGN_OR_RETURN(m.message, DecodeText(r.getMessage(), limits::kErrorTextBytesMax));
    return m;
  }
  Decoded<ContextCreated> Decode(wire::ContextCreated::Reader r) {
    ContextCreated m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(m.error, Decode(r.getOutcome()));
    m.accelerated = r.getAccelerated();
    ASSIGN_OR_RETURN(m.device_name, DecodeText(r.getDeviceName(), limits::kErrorTextBytesMax));
    m.max_tensor_byte_length = r.getMaxTensorByteLength();
    return m;
  }
  Decoded<ContextLost> Decode(wire::ContextLost::Reader r) {
    ContextLost m;
    ASSIGN_OR_RETURN(m.context, DecodeHandle(r.getContext()));
    ASSIGN_OR_RETURN(m.message, DecodeText(r.getMessage(), limits::kErrorTextBytesMax));
    return m;
  }
  Decoded<TensorCreated> Decode(wire::TensorCreated::Reader r) {
    TensorCreated m;
    ASSIGN_OR_RETURN(m.tensor, DecodeHandle(r.getTensor()));
    ASSIGN_OR_RETURN(m.error, Decode(r.getOutcome()));
    return m;
  }
  Decoded<GraphBuilt> Decode(wire::GraphBuilt::Reader r) {
    GraphBuilt m;
    ASSIGN_OR_RETURN(m.graph, DecodeHandle(r.getGraph()));
    ASSIGN_OR_RETURN(m.error, Decode(r.getOutcome()));
    m.kernel_count = r.getKernelCount();
    return m;
  }
  Decoded<TensorRead> Decode(wire::TensorRead::Reader r) {
    TensorRead m;
    m.request = r.getRequest();
    ASSIGN_OR_RETURN(m.error, Decode(r.getOutcome()));
    m.length = r.getLength();
    ASSIGN_OR_RETURN(m.bytes, DecodeBytes(r.getBytes()));
    return m;
  }
  Decoded<Acknowledge> Decode(wire::Acknowledge::Reader r) { return Acknowledge{r.getSequence()}; }

 private:
  Decoded<UniqueFd> Take() {
    if (descriptors_.empty()) {
      return MakeBadMessage("a message comes without its descriptor ({} pending)",
                            descriptors_.size());
    }
    UniqueFd fd = std::move(descriptors_.front());
    descriptors_.pop_front();
    return fd;
  }

  Decoded<Payload> Decode(wire::Payload::Reader r) {
    switch (r.which()) {
      case wire::Payload::INLINE: {
        InlinePayload payload;
        ASSIGN_OR_RETURN(payload.bytes, DecodeBytes(r.getInline()));
        return Payload(std::move(payload));
      }
      case wire::Payload::ARENA: {
        auto group = r.getArena();
        if (group.getSequence() == 0) {
          return MakeBadMessage("an arena payload has no sequence ({})", group.getSequence());
        }
        return Payload(ArenaPayload{group.getOffset(), group.getLength(), group.getSequence()});
      }
      case wire::Payload::FILE: {
        auto group = r.getFile();
        ASSIGN_OR_RETURN(UniqueFd file, Take());
        return Payload(FilePayload{std::move(file), group.getOffset(), group.getLength()});
      }
    }
    return UnknownTag(r.which());
  }
  Decoded<Destination> Decode(wire::Destination::Reader r) {
    switch (r.which()) {
      case wire::Destination::INLINE:
        return Destination(InlineDestination{});
      case wire::Destination::ARENA: {
        auto group = r.getArena();
        return Destination(ArenaDestination{group.getOffset(), group.getLength()});
      }
      case wire::Destination::FILE: {
        ASSIGN_OR_RETURN(UniqueFd file, Take());
        return Destination(FileDestination{std::move(file), r.getFile().getLength()});
      }
    }
    return UnknownTag(r.which());
  }
  Decoded<std::optional<Error>> Decode(wire::Outcome::Reader r) {
    switch (r.which()) {
      case wire::Outcome::SUCCESS:
        return std::optional<Error>();
      case wire::Outcome::ERROR:
        break;
      default:
        return UnknownTag(r.which());
    }
    auto wire_error = r.getError();
    constexpr auto kCauseCount = static_cast<uint32_t>(Cause::kInternal) + 1;
    ASSIGN_OR_RETURN(Cause cause, DecodeEnum<Cause>(wire_error.getCause(), kCauseCount));
    ASSIGN_OR_RETURN(std::string message,
                     DecodeText(wire_error.getMessage(), limits::kErrorTextBytesMax));
    ASSIGN_OR_RETURN(
        auto context,
        DecodeList<std::string>(wire_error.getContext(), limits::kErrorContextMax, [](auto text) {
          return DecodeText(text, limits::kErrorTextBytesMax);
        }));
    Error error(cause, std::move(message));
    for (std::string& doing : context) error.AddContext(std::move(doing));
    return std::optional<Error>(std::move(error));
  }

  std::deque<UniqueFd>& descriptors_;
};

// A message of the union's type from the result for one of its alternatives.
template <class Message, class T>
Decoded<Message> As(Decoded<T> decoded) {
  if (!decoded.ok()) return std::move(decoded).error();
  return Message(std::move(decoded).value());
}

Decoded<ClientMessage> DecodeRoot(Decoder& decoder, wire::ClientMessage::Reader r) {
  using Root = wire::ClientMessage;
  switch (r.which()) {
    case Root::HELLO:
      return As<ClientMessage>(decoder.Decode(r.getHello()));
    case Root::CREATE_CONTEXT:
      return As<ClientMessage>(decoder.Decode(r.getCreateContext()));
    case Root::DESTROY_CONTEXT:
      return As<ClientMessage>(decoder.Decode(r.getDestroyContext()));
    case Root::CREATE_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getCreateTensor()));
    case Root::CREATE_CONSTANT_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getCreateConstantTensor()));
    case Root::DESTROY_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getDestroyTensor()));
    case Root::WRITE_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getWriteTensor()));
    case Root::READ_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getReadTensor()));
    case Root::CREATE_BUILDER:
      return As<ClientMessage>(decoder.Decode(r.getCreateBuilder()));
    case Root::DESTROY_BUILDER:
      return As<ClientMessage>(decoder.Decode(r.getDestroyBuilder()));
    case Root::ADD_INPUTS:
      return As<ClientMessage>(decoder.Decode(r.getAddInputs()));
    case Root::ADD_CONSTANT:
      return As<ClientMessage>(decoder.Decode(r.getAddConstant()));
    case Root::ADD_CONSTANT_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getAddConstantTensor()));
    case Root::ADD_OPERATORS:
      return As<ClientMessage>(decoder.Decode(r.getAddOperators()));
    case Root::BUILD:
      return As<ClientMessage>(decoder.Decode(r.getBuild()));
    case Root::DESTROY_GRAPH:
      return As<ClientMessage>(decoder.Decode(r.getDestroyGraph()));
    case Root::DISPATCH:
      return As<ClientMessage>(decoder.Decode(r.getDispatch()));
    case Root::CREATE_BINDING:
      return As<ClientMessage>(decoder.Decode(r.getCreateBinding()));
    case Root::DESTROY_BINDING:
      return As<ClientMessage>(decoder.Decode(r.getDestroyBinding()));
    case Root::DISPATCH_BINDING:
      return As<ClientMessage>(decoder.Decode(r.getDispatchBinding()));
    case Root::RESIZE_TENSOR:
      return As<ClientMessage>(decoder.Decode(r.getResizeTensor()));
  }
  return UnknownTag(r.which());
}

Decoded<ServiceMessage> DecodeRoot(Decoder& decoder, wire::ServiceMessage::Reader r) {
  using Root = wire::ServiceMessage;
  switch (r.which()) {
    case Root::GOODBYE:
      return As<ServiceMessage>(decoder.Decode(r.getGoodbye()));
    case Root::CONTEXT_CREATED:
      return As<ServiceMessage>(decoder.Decode(r.getContextCreated()));
    case Root::CONTEXT_LOST:
      return As<ServiceMessage>(decoder.Decode(r.getContextLost()));
    case Root::TENSOR_CREATED:
      return As<ServiceMessage>(decoder.Decode(r.getTensorCreated()));
    case Root::GRAPH_BUILT:
      return As<ServiceMessage>(decoder.Decode(r.getGraphBuilt()));
    case Root::TENSOR_READ:
      return As<ServiceMessage>(decoder.Decode(r.getTensorRead()));
    case Root::ACKNOWLEDGE:
      return As<ServiceMessage>(decoder.Decode(r.getAcknowledge()));
  }
  return UnknownTag(r.which());
}

// The one place that catches Cap'n Proto's exceptions: a message that its reader cannot follow.
template <class T, class Function>
Decoded<T> DecodeGuard(Function decode) {
  try {
    return decode();
  } catch (const kj::Exception& exception) {
    return MakeBadMessage("a frame is malformed ({})", exception.getDescription().cStr());
  }
}

template <class Root, class Message>
Decoded<Message> DecodeFrame(std::span<const std::byte> frame, std::deque<UniqueFd>& descriptors) {
  if (frame.size() < kFrameHeaderBytes) {
    return MakeBadMessage("a frame ({} bytes) is shorter than its header", frame.size());
  }
  ASSIGN_OR_RETURN(size_t length, FrameLength(frame.first<kFrameHeaderBytes>()));
  if (length != frame.size()) {
    return MakeBadMessage("a frame ({} bytes) is not as long as its header says ({})", frame.size(),
                          length);
  }
  CHECK(reinterpret_cast<uintptr_t>(frame.data()) % alignof(capnp::word) == 0);
  return DecodeGuard<Message>([&]() -> Decoded<Message> {
    auto body = frame.subspan(kFrameHeaderBytes);
    kj::ArrayPtr<const capnp::word> segment(reinterpret_cast<const capnp::word*>(body.data()),
                                            body.size() / kWordBytes);
    capnp::ReaderOptions options;
    // An honest message is read once from end to end, and only its root pointer counts twice.
    options.traversalLimitInWords = segment.size() + 1;
    options.nestingLimit = limits::kDecodeNestingMax;
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&segment, 1), options);
    Decoder decoder(descriptors);
    return DecodeRoot(decoder, reader.getRoot<Root>());
  });
}

}  // namespace

Result<ClientMessage, BadMessage> DecodeClientMessage(std::span<const std::byte> frame,
                                                      std::deque<UniqueFd>& descriptors) {
  return DecodeFrame<wire::ClientMessage, ClientMessage>(frame, descriptors);
}

Result<ServiceMessage, BadMessage> DecodeServiceMessage(std::span<const std::byte> frame,
                                                        std::deque<UniqueFd>& descriptors) {
  return DecodeFrame<wire::ServiceMessage, ServiceMessage>(frame, descriptors);
}

}  // namespace webnnd::ipc

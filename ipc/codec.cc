#include "ipc/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/utf8.h"
#include "ipc/generated/operator_codec.h"
#include "ipc/messages.capnp.h"

namespace webnnd::ipc {
namespace {

constexpr size_t kWordBytes = sizeof(capnp::word);
static_assert(kWordBytes == 8);

// --- Sizes --------------------------------------------------------------------------------------
// Upper bounds in words, so that every message is built in one segment. The structs are those of
// the schemas; rounding up a little is fine.

constexpr size_t kRootWords = 24;  // The root pointer, the union, and the largest message's struct.
constexpr size_t kPayloadWords = 8;
constexpr size_t kDescriptorWords = 4;
constexpr size_t kDimensionWords = 4;
constexpr size_t kOperatorWords = 8;
constexpr size_t kAttributesWords = 24;
constexpr size_t kInputWords = 8;
constexpr size_t kOutputWords = 4;
constexpr size_t kErrorWords = 8;

size_t ListWords(size_t count, size_t element_bytes) {
  return (count * element_bytes + kWordBytes - 1) / kWordBytes;
}
size_t TextWords(std::string_view text) { return text.size() / kWordBytes + 1; }

size_t DescriptorWords(const WireDescriptor& descriptor) {
  size_t words = kDescriptorWords;
  for (const webidl::Dimension& dimension : descriptor.dimensions) {
    words += kDimensionWords;
    if (const auto* dynamic = std::get_if<webidl::DynamicDimension>(&dimension)) {
      words += TextWords(dynamic->name);
    }
  }
  return words;
}

size_t PayloadWords(const Payload& payload) {
  const auto* bytes = std::get_if<InlinePayload>(&payload);
  return kPayloadWords + (bytes != nullptr ? ListWords(bytes->bytes.size(), 1) : 0);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

// Words of what a field of an attributes struct keeps outside of the struct.
template <class T>
size_t FieldWords(const T& field) {
  if constexpr (IsVector<T>::value) {
    return ListWords(field.size(), sizeof(typename T::value_type));
  } else {
    return 2;  // At most a Number.
  }
}
template <class T>
size_t FieldWords(const std::optional<T>& field) {
  return field ? FieldWords(*field) : 0;
}
size_t FieldWords(const std::variant<uint32_t, std::vector<uint32_t>>& field) {
  const auto* list = std::get_if<1>(&field);
  return list != nullptr ? FieldWords(*list) : 0;
}

size_t OperatorWords(const webidl::Operator& op) {
  size_t words = kOperatorWords + kAttributesWords + ListWords(op.operands.size(), 4) +
                 ListWords(op.results.size(), 4) + TextWords(op.label);
  std::visit(
      [&](const auto& attributes) {
        VisitFields(attributes,
                    [&](const char*, const auto& field) { words += FieldWords(field); });
      },
      op.attributes);
  return words;
}

size_t InputWords(const GraphInput& input) {
  return kInputWords + TextWords(input.name) + DescriptorWords(input.descriptor);
}

// What a message adds to kRootWords.
template <class Message>
size_t ExtraWords(const Message&) {
  return 0;
}
size_t ExtraWords(const Hello& m) { return ListWords(m.schema_hash.size(), 1); }
size_t ExtraWords(const CreateTensor& m) { return DescriptorWords(m.descriptor); }
size_t ExtraWords(const CreateConstantTensor& m) {
  return DescriptorWords(m.descriptor) + PayloadWords(m.data);
}
size_t ExtraWords(const WriteTensor& m) { return PayloadWords(m.data); }
size_t ExtraWords(const ReadTensor&) { return kPayloadWords; }
size_t ExtraWords(const AddInputs& m) {
  size_t words = 1;
  for (const GraphInput& input : m.inputs) words += InputWords(input);
  return words;
}
size_t ExtraWords(const AddConstant& m) {
  return DescriptorWords(m.descriptor) + PayloadWords(m.data);
}
size_t ExtraWords(const AddOperators& m) {
  size_t words = 1;
  for (const webidl::Operator& op : m.operators) words += OperatorWords(op);
  return words;
}
size_t ExtraWords(const Build& m) {
  size_t words = 1 + ListWords(m.inputs.size(), 4);
  for (const GraphOutput& output : m.outputs) words += kOutputWords + TextWords(output.name);
  return words;
}
size_t ExtraWords(const Dispatch& m) { return m.inputs.size() + m.outputs.size(); }

// Texts of errors come with whatever a library or a label put into them.
std::string PresentableText(std::string_view text) {
  std::string out(text.substr(0, limits::kErrorTextBytesMax));
  // A character that was cut in two: at most three bytes of it are left.
  for (int i = 0; i < 3 && text.size() > out.size() && !IsUtf8(out); ++i) out.pop_back();
  if (!IsUtf8(out)) {
    for (char& c : out) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return out;
}

size_t ErrorWords(const std::optional<Error>& error) {
  if (!error) return kErrorWords;
  size_t words = 2 * kErrorWords + TextWords(error->message());
  for (const std::string& doing : error->context()) words += 1 + TextWords(doing);
  return words;
}
size_t ExtraWords(const Goodbye& m) { return TextWords(m.message); }
size_t ExtraWords(const ContextCreated& m) {
  return ErrorWords(m.error) + TextWords(m.device_name);
}
size_t ExtraWords(const ContextLost& m) { return TextWords(m.message); }
size_t ExtraWords(const TensorCreated& m) { return ErrorWords(m.error); }
size_t ExtraWords(const GraphBuilt& m) { return ErrorWords(m.error); }
size_t ExtraWords(const TensorRead& m) {
  return ErrorWords(m.error) + ListWords(m.bytes.size(), 1);
}

// --- Encoding -----------------------------------------------------------------------------------

// Fields of a message into its builder; descriptors move to the frame.
class Encoder {
 public:
  explicit Encoder(std::vector<UniqueFd>& descriptors) : descriptors_(descriptors) {}

  void Fill(Hello& m, wire::Hello::Builder b) {
    b.setSchemaHash(DataOf(m.schema_hash));
    Give(std::move(m.up_arena));
    b.setUpBytes(m.up_bytes);
    Give(std::move(m.down_arena));
    b.setDownBytes(m.down_bytes);
  }
  void Fill(CreateContext& m, wire::CreateContext::Builder b) {
    b.setContext(m.context.Pack());
    b.setPowerPreference(static_cast<wire::PowerPreference>(m.power_preference));
    b.setAccelerated(m.accelerated);
    b.setFusion(m.fusion);
    b.setConstantFolding(m.constant_folding);
    b.setBindingCache(m.binding_cache);
  }
  void Fill(DestroyContext& m, wire::DestroyContext::Builder b) { b.setContext(m.context.Pack()); }
  void Fill(CreateTensor& m, wire::CreateTensor::Builder b) {
    b.setContext(m.context.Pack());
    b.setTensor(m.tensor.Pack());
    Fill(m.descriptor, b.initDescriptor());
    b.setReadable(m.readable);
    b.setWritable(m.writable);
  }
  void Fill(CreateConstantTensor& m, wire::CreateConstantTensor::Builder b) {
    b.setContext(m.context.Pack());
    b.setTensor(m.tensor.Pack());
    Fill(m.descriptor, b.initDescriptor());
    Fill(m.data, b.initData());
  }
  void Fill(DestroyTensor& m, wire::DestroyTensor::Builder b) { b.setTensor(m.tensor.Pack()); }
  void Fill(WriteTensor& m, wire::WriteTensor::Builder b) {
    b.setTensor(m.tensor.Pack());
    Fill(m.data, b.initData());
  }
  void Fill(ReadTensor& m, wire::ReadTensor::Builder b) {
    b.setTensor(m.tensor.Pack());
    b.setRequest(m.request);
    auto destination = b.initDestination();
    if (std::holds_alternative<InlineDestination>(m.destination)) {
      destination.setInline();
    } else if (auto* arena = std::get_if<ArenaDestination>(&m.destination)) {
      auto group = destination.initArena();
      group.setOffset(arena->offset);
      group.setLength(arena->length);
    } else {
      auto& file = std::get<FileDestination>(m.destination);
      Give(std::move(file.file));
      destination.initFile().setLength(file.length);
    }
  }
  void Fill(CreateBuilder& m, wire::CreateBuilder::Builder b) {
    b.setContext(m.context.Pack());
    b.setBuilder(m.builder.Pack());
  }
  void Fill(DestroyBuilder& m, wire::DestroyBuilder::Builder b) { b.setBuilder(m.builder.Pack()); }
  void Fill(AddInputs& m, wire::AddInputs::Builder b) {
    b.setBuilder(m.builder.Pack());
    auto inputs = b.initInputs(Count(m.inputs));
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      inputs[i].setOperand(m.inputs[i].operand);
      inputs[i].setName(TextOf(m.inputs[i].name));
      Fill(m.inputs[i].descriptor, inputs[i].initDescriptor());
    }
  }
  void Fill(AddConstant& m, wire::AddConstant::Builder b) {
    b.setBuilder(m.builder.Pack());
    b.setOperand(m.operand);
    Fill(m.descriptor, b.initDescriptor());
    Fill(m.data, b.initData());
  }
  void Fill(AddConstantTensor& m, wire::AddConstantTensor::Builder b) {
    b.setBuilder(m.builder.Pack());
    b.setOperand(m.operand);
    b.setTensor(m.tensor.Pack());
  }
  void Fill(AddOperators& m, wire::AddOperators::Builder b) {
    CHECK(m.operators.size() <= limits::kOperatorsPerChunk);
    b.setBuilder(m.builder.Pack());
    auto operators = b.initOperators(Count(m.operators));
    for (uint32_t i = 0; i < operators.size(); ++i) EncodeOperator(m.operators[i], operators[i]);
  }
  void Fill(Build& m, wire::Build::Builder b) {
    b.setBuilder(m.builder.Pack());
    b.setGraph(m.graph.Pack());
    auto inputs = b.initInputs(Count(m.inputs));
    for (uint32_t i = 0; i < inputs.size(); ++i) inputs.set(i, m.inputs[i]);
    auto outputs = b.initOutputs(Count(m.outputs));
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      outputs[i].setName(TextOf(m.outputs[i].name));
      outputs[i].setOperand(m.outputs[i].operand);
    }
  }
  void Fill(DestroyGraph& m, wire::DestroyGraph::Builder b) { b.setGraph(m.graph.Pack()); }
  void Fill(Dispatch& m, wire::Dispatch::Builder b) {
    b.setGraph(m.graph.Pack());
    auto inputs = b.initInputs(Count(m.inputs));
    for (uint32_t i = 0; i < inputs.size(); ++i) inputs.set(i, m.inputs[i].Pack());
    auto outputs = b.initOutputs(Count(m.outputs));
    for (uint32_t i = 0; i < outputs.size(); ++i) outputs.set(i, m.outputs[i].Pack());
  }

  void Fill(Goodbye& m, wire::Goodbye::Builder b) {
    b.setMessage(TextOf(PresentableText(m.message)));
  }
  void Fill(ContextCreated& m, wire::ContextCreated::Builder b) {
    b.setContext(m.context.Pack());
    Fill(m.error, b.initOutcome());
    b.setAccelerated(m.accelerated);
    b.setDeviceName(TextOf(PresentableText(m.device_name)));
    b.setMaxTensorByteLength(m.max_tensor_byte_length);
  }
  void Fill(ContextLost& m, wire::ContextLost::Builder b) {
    b.setContext(m.context.Pack());
    b.setMessage(TextOf(PresentableText(m.message)));
  }
  void Fill(TensorCreated& m, wire::TensorCreated::Builder b) {
    b.setTensor(m.tensor.Pack());
    Fill(m.error, b.initOutcome());
  }
  void Fill(GraphBuilt& m, wire::GraphBuilt::Builder b) {
    b.setGraph(m.graph.Pack());
    Fill(m.error, b.initOutcome());
    b.setKernelCount(m.kernel_count);
  }
  void Fill(TensorRead& m, wire::TensorRead::Builder b) {
    CHECK(m.bytes.size() <= limits::kInlinePayloadBytesMax);
    b.setRequest(m.request);
    Fill(m.error, b.initOutcome());
    b.setLength(m.length);
    b.setBytes(DataOf(m.bytes));
  }
  void Fill(Acknowledge& m, wire::Acknowledge::Builder b) { b.setSequence(m.sequence); }

 private:
  template <class T>
  static uint32_t Count(const std::vector<T>& list) {
    CHECK(list.size() <= limits::kGraphEndpointsMax);
    return static_cast<uint32_t>(list.size());
  }
  static capnp::Data::Reader DataOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
  }
  // Not the conversion from std::string: it would stop at a NUL, which a USVString may hold.
  static capnp::Text::Reader TextOf(const std::string& text) { return {text.c_str(), text.size()}; }
  void Give(UniqueFd fd) {
    CHECK(fd.valid());
    descriptors_.push_back(std::move(fd));
  }

  void Fill(const WireDescriptor& descriptor, wire::OperandDescriptor::Builder b) {
    EncodeDescriptor(descriptor.data_type, descriptor.dimensions, b);
  }
  void Fill(Payload& payload, wire::Payload::Builder b) {
    if (auto* bytes = std::get_if<InlinePayload>(&payload)) {
      CHECK(bytes->bytes.size() <= limits::kInlinePayloadBytesMax);
      b.setInline(DataOf(bytes->bytes));
    } else if (auto* arena = std::get_if<ArenaPayload>(&payload)) {
      auto group = b.initArena();
      group.setOffset(arena->offset);
      group.setLength(arena->length);
      group.setSequence(arena->sequence);
    } else {
      auto& file = std::get<FilePayload>(payload);
      Give(std::move(file.file));
      auto group = b.initFile();
      group.setOffset(file.offset);
      group.setLength(file.length);
    }
  }
  void Fill(const std::optional<Error>& error, wire::Outcome::Builder b) {
    if (!error) {
      b.setSuccess();
      return;
    }
    auto wire_error = b.initError();
    wire_error.setCause(static_cast<wire::Cause>(error->cause()));
    wire_error.setMessage(TextOf(PresentableText(error->message())));
    auto count = std::min<size_t>(error->context().size(), limits::kErrorContextMax);
    auto context = wire_error.initContext(static_cast<uint32_t>(count));
    for (uint32_t i = 0; i < count; ++i)
      context.set(i, TextOf(PresentableText(error->context()[i])));
  }

  std::vector<UniqueFd>& descriptors_;
};

void Fill(Encoder& encoder, ClientMessage& message, wire::ClientMessage::Builder b) {
  struct Visitor {
    Encoder& encoder;
    wire::ClientMessage::Builder b;
    void operator()(Hello& m) { encoder.Fill(m, b.initHello()); }
    void operator()(CreateContext& m) { encoder.Fill(m, b.initCreateContext()); }
    void operator()(DestroyContext& m) { encoder.Fill(m, b.initDestroyContext()); }
    void operator()(CreateTensor& m) { encoder.Fill(m, b.initCreateTensor()); }
    void operator()(CreateConstantTensor& m) { encoder.Fill(m, b.initCreateConstantTensor()); }
    void operator()(DestroyTensor& m) { encoder.Fill(m, b.initDestroyTensor()); }
    void operator()(WriteTensor& m) { encoder.Fill(m, b.initWriteTensor()); }
    void operator()(ReadTensor& m) { encoder.Fill(m, b.initReadTensor()); }
    void operator()(CreateBuilder& m) { encoder.Fill(m, b.initCreateBuilder()); }
    void operator()(DestroyBuilder& m) { encoder.Fill(m, b.initDestroyBuilder()); }
    void operator()(AddInputs& m) { encoder.Fill(m, b.initAddInputs()); }
    void operator()(AddConstant& m) { encoder.Fill(m, b.initAddConstant()); }
    void operator()(AddConstantTensor& m) { encoder.Fill(m, b.initAddConstantTensor()); }
    void operator()(AddOperators& m) { encoder.Fill(m, b.initAddOperators()); }
    void operator()(Build& m) { encoder.Fill(m, b.initBuild()); }
    void operator()(DestroyGraph& m) { encoder.Fill(m, b.initDestroyGraph()); }
    void operator()(Dispatch& m) { encoder.Fill(m, b.initDispatch()); }
  };
  std::visit(Visitor{encoder, b}, message);
}

void Fill(Encoder& encoder, ServiceMessage& message, wire::ServiceMessage::Builder b) {
  struct Visitor {
    Encoder& encoder;
    wire::ServiceMessage::Builder b;
    void operator()(Goodbye& m) { encoder.Fill(m, b.initGoodbye()); }
    void operator()(ContextCreated& m) { encoder.Fill(m, b.initContextCreated()); }
    void operator()(ContextLost& m) { encoder.Fill(m, b.initContextLost()); }
    void operator()(TensorCreated& m) { encoder.Fill(m, b.initTensorCreated()); }
    void operator()(GraphBuilt& m) { encoder.Fill(m, b.initGraphBuilt()); }
    void operator()(TensorRead& m) { encoder.Fill(m, b.initTensorRead()); }
    void operator()(Acknowledge& m) { encoder.Fill(m, b.initAcknowledge()); }
  };
  std::visit(Visitor{encoder, b}, message);
}

template <class Root, class Message>
Frame EncodeMessage(Message& message) {
  size_t words_max = kRootWords + std::visit([](const auto& m) { return ExtraWords(m); }, message);
  // Dispatches and most others are built on the stack.
  std::array<uint64_t, 256> stack{};
  std::vector<uint64_t> heap;
  std::span<uint64_t> segment(stack);
  if (words_max > segment.size()) {
    heap.resize(words_max);
    segment = heap;
  }
  capnp::MallocMessageBuilder builder(
      kj::arrayPtr(reinterpret_cast<capnp::word*>(segment.data()), segment.size()));

  Frame frame;
  Encoder encoder(frame.descriptors);
  Fill(encoder, message, builder.initRoot<Root>());
  auto segments = builder.getSegmentsForOutput();
  CHECK(segments.size() == 1);
  auto bytes = segments[0].asBytes();
  CHECK(kFrameHeaderBytes + bytes.size() <= limits::kFrameBytesMax);
  CHECK(frame.descriptors.size() <= limits::kDescriptorsPerFrameMax);
  frame.bytes.resize(kFrameHeaderBytes + bytes.size());
  auto words = static_cast<uint32_t>(bytes.size() / kWordBytes);
  std::memcpy(frame.bytes.data() + sizeof(uint32_t), &words, sizeof(words));
  std::memcpy(frame.bytes.data() + kFrameHeaderBytes, bytes.begin(), bytes.size());
  return frame;
}

// --- Decoding -----------------------------------------------------------------------------------

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
    m.binding_cache = r.getBindingCache();
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
  return Message(std::in_place_type<T>, std::move(decoded).value());
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

const SchemaHash& CurrentSchemaHash() {
  static const SchemaHash hash = [] {
    constexpr std::string_view kHex = WEBNND_SCHEMA_HASH;
    static_assert(kHex.size() == 2 * std::tuple_size_v<SchemaHash>);
    auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    SchemaHash bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(digit(kHex[2 * i]) << 4 | digit(kHex[2 * i + 1]));
    }
    return bytes;
  }();
  return hash;
}

size_t EncodedBytesMax(const webidl::Operator& op) { return OperatorWords(op) * kWordBytes; }
size_t EncodedBytesMax(const GraphInput& input) { return InputWords(input) * kWordBytes; }

Frame Encode(ClientMessage&& message) { return EncodeMessage<wire::ClientMessage>(message); }
Frame Encode(ServiceMessage&& message) { return EncodeMessage<wire::ServiceMessage>(message); }

Result<ClientMessage, BadMessage> DecodeClientMessage(std::span<const std::byte> frame,
                                                      std::deque<UniqueFd>& descriptors) {
  return DecodeFrame<wire::ClientMessage, ClientMessage>(frame, descriptors);
}

Result<ServiceMessage, BadMessage> DecodeServiceMessage(std::span<const std::byte> frame,
                                                        std::deque<UniqueFd>& descriptors) {
  return DecodeFrame<wire::ServiceMessage, ServiceMessage>(frame, descriptors);
}

}  // namespace webnnd::ipc

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
constexpr size_t kEnumBytes = 2;  // Ours are of one byte.

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
    using Element = typename T::value_type;
    return ListWords(field.size(), std::is_enum_v<Element> ? kEnumBytes : sizeof(Element));
  } else {
    return 2;  // At most a Number.
  }
}
template <class T>
size_t FieldWords(const std::optional<T>& field) {
  return field ? FieldWords(*field) : 0;
}
size_t FieldWords(const webidl::Sizes& field) {
  size_t words = ListWords(field.size(), 8 * kDimensionWords);
  for (const webidl::Sizes::Item& item : field.dynamic) words += TextWords(item.dimension.name);
  return words;
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
size_t ExtraWords(const ResizeTensor& m) { return ListWords(m.shape.size(), 4); }
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
size_t ExtraWords(const CreateBinding& m) { return m.inputs.size() + m.outputs.size(); }

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
    b.setFusions(m.fusions);
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
  void Fill(const std::vector<Handle>& handles, capnp::List<uint64_t>::Builder b) {
    for (uint32_t i = 0; i < b.size(); ++i) b.set(i, handles[i].Pack());
  }
  void Fill(Dispatch& m, wire::Dispatch::Builder b) {
    b.setGraph(m.graph.Pack());
    Fill(m.inputs, b.initInputs(Count(m.inputs)));
    Fill(m.outputs, b.initOutputs(Count(m.outputs)));
  }
  void Fill(CreateBinding& m, wire::CreateBinding::Builder b) {
    b.setBinding(m.binding.Pack());
    b.setGraph(m.graph.Pack());
    Fill(m.inputs, b.initInputs(Count(m.inputs)));
    Fill(m.outputs, b.initOutputs(Count(m.outputs)));
  }
  void Fill(DestroyBinding& m, wire::DestroyBinding::Builder b) { b.setBinding(m.binding.Pack()); }
  void Fill(DispatchBinding& m, wire::DispatchBinding::Builder b) {
    b.setBinding(m.binding.Pack());
  }
  void Fill(ResizeTensor& m, wire::ResizeTensor::Builder b) {
    b.setTensor(m.tensor.Pack());
    auto shape = b.initShape(Count(m.shape));
    for (uint32_t i = 0; i < shape.size(); ++i) shape.set(i, m.shape[i]);
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
    void operator()(CreateBinding& m) { encoder.Fill(m, b.initCreateBinding()); }
    void operator()(DestroyBinding& m) { encoder.Fill(m, b.initDestroyBinding()); }
    void operator()(DispatchBinding& m) { encoder.Fill(m, b.initDispatchBinding()); }
    void operator()(ResizeTensor& m) { encoder.Fill(m, b.initResizeTensor()); }
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

}  // namespace webnnd::ipc

#include "tests/ipc/sample_messages.h"

#include <string>

#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/shared_memory.h"

namespace webnnd::ipc {
namespace {

// Puts something that is not the default into each kind of field.
class Filler {
 public:
  explicit Filler(Filling filling) : filling_(filling) {}

  void operator()(const char*, auto& field) { Fill(field); }

 private:
  void Fill(bool& field) { field = !field; }
  void Fill(uint32_t& field) { field = ++counter_ * 1000003; }
  void Fill(int32_t& field) { field = -7; }
  void Fill(double& field) { field = ++counter_ + 0.25; }
  void Fill(float& field) { field = static_cast<float>(++counter_) + 0.5f; }
  void Fill(webidl::Number& field) {
    switch (++counter_ % 3) {
      case 0:
        field = -1.5e300;
        break;
      case 1:
        field = int64_t{-9007199254740993};
        break;
      default:
        field = uint64_t{18446744073709551615u};
    }
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void Fill(Enum& field) { field = static_cast<Enum>(static_cast<int>(field) == 0 ? 1 : 0); }
  template <class T>
  void Fill(std::vector<T>& field) {
    field.resize(filling_ == Filling::kEmpty ? 0 : 2);
    for (T& value : field) Fill(value);
  }
  void Fill(webidl::Sizes& field) {
    if (filling_ == Filling::kEmpty) return;
    field = webidl::Sizes(std::vector<webidl::Dimension>{
        ++counter_, webidl::DynamicDimension{"past + séq", ++counter_, 1}, 0xffffffffu});
  }
  template <class T>
  void Fill(std::optional<T>& field) {
    Fill(field.emplace());
  }
  void Fill(std::variant<uint32_t, std::vector<uint32_t>>& field) {
    if (filling_ == Filling::kEmpty) {
      Fill(field.emplace<uint32_t>());
    } else {
      Fill(field.emplace<std::vector<uint32_t>>());
    }
  }

  Filling filling_;
  uint32_t counter_ = 0;
};

Handle MakeHandle(uint32_t index) { return {index, kSampleGeneration}; }

WireDescriptor MakeDescriptor() {
  return {webidl::OperandDataType::kUint4,
          {7u, webidl::DynamicDimension{"séquence", 4096, 0}, 0xffffffffu, 0u}};
}

// The same two files in every call, so that samples can be compared.
UniqueFd SampleFile(int index) {
  static const UniqueFd kFiles[] = {MakeSampleFile(), MakeSampleFile()};
  return kFiles[index].Duplicate();
}

InlinePayload MakeInlinePayload() {
  return {{std::byte{1}, std::byte{0}, std::byte{255}, std::byte{4}, std::byte{5}}};
}

}  // namespace

UniqueFd MakeSampleFile() { return std::move(CreateSealedMemfd("sample", 64 << 10)).value(); }

webidl::Operator MakeOperator(webidl::OperatorKind kind, Filling filling) {
  webidl::Operator op;
  op.kind = kind;
  op.attributes = webidl::DefaultAttributes(kind);
  if (filling == Filling::kDefault) return op;
  op.operands = {1, 0, 3};
  op.results = {4, 5};
  // A NUL inside must come through.
  op.label = std::string("läbel of\0 ", 11) + std::string(webidl::OperatorName(kind));
  std::visit([&](auto& attributes) { VisitFields(attributes, Filler(filling)); }, op.attributes);
  return op;
}

std::vector<ClientMessage> SampleClientMessages() {
  std::vector<ClientMessage> messages;
  messages.push_back(Hello{CurrentSchemaHash(), SampleFile(0), limits::kArenaBytesMin,
                           SampleFile(1), limits::kArenaBytesMax});
  messages.push_back(CreateContext{MakeHandle(1), webidl::PowerPreference::kLowPower, false, false,
                                   false, "blockMatmul"});
  messages.push_back(DestroyContext{MakeHandle(1)});
  messages.push_back(CreateTensor{MakeHandle(1), MakeHandle(2), MakeDescriptor(), true, true});
  messages.push_back(CreateConstantTensor{MakeHandle(1), MakeHandle(3), MakeDescriptor(),
                                          Payload(MakeInlinePayload())});
  messages.push_back(CreateConstantTensor{MakeHandle(1), MakeHandle(3), MakeDescriptor(),
                                          Payload(ArenaPayload{64, 128, 5})});
  messages.push_back(DestroyTensor{MakeHandle(2)});
  messages.push_back(WriteTensor{MakeHandle(2), Payload(MakeInlinePayload())});
  messages.push_back(WriteTensor{MakeHandle(2), Payload(ArenaPayload{64, 128, 1ull << 40})});
  messages.push_back(WriteTensor{MakeHandle(2), Payload(FilePayload{SampleFile(0), 8, 99})});
  // One with a destination that is not the default first: the tests look at the first of a type.
  messages.push_back(
      ReadTensor{MakeHandle(2), 77, Destination(FileDestination{SampleFile(0), 4096})});
  messages.push_back(ReadTensor{MakeHandle(2), 78, Destination(InlineDestination{})});
  messages.push_back(ReadTensor{MakeHandle(2), 79, Destination(ArenaDestination{64, 128})});
  messages.push_back(CreateBuilder{MakeHandle(1), MakeHandle(4)});
  messages.push_back(DestroyBuilder{MakeHandle(4)});
  messages.push_back(AddInputs{
      MakeHandle(4),
      {{1, "tokens", {webidl::OperandDataType::kInt64, {1u}}}, {2, "文", MakeDescriptor()}}});
  messages.push_back(
      AddConstant{MakeHandle(4), 3, MakeDescriptor(), Payload(FilePayload{SampleFile(0), 1, 2})});
  messages.push_back(AddConstantTensor{MakeHandle(4), 5, MakeHandle(3)});
  for (Filling filling : {Filling::kFull, Filling::kEmpty, Filling::kDefault}) {
    AddOperators message{MakeHandle(4), {}};
    for (uint32_t kind = 0; kind < webidl::kOperatorKindCount; ++kind) {
      message.operators.push_back(MakeOperator(static_cast<webidl::OperatorKind>(kind), filling));
    }
    messages.push_back(std::move(message));
  }
  messages.push_back(
      Build{MakeHandle(4), MakeHandle(6), {1, 2}, {{"logits", 8}, {std::string("a\0b", 3), 9}}});
  messages.push_back(DestroyGraph{MakeHandle(6)});
  messages.push_back(
      Dispatch{MakeHandle(6), {MakeHandle(2), MakeHandle(7)}, {MakeHandle(8), MakeHandle(2)}});
  messages.push_back(CreateBinding{MakeHandle(9),
                                   MakeHandle(6),
                                   {MakeHandle(2), MakeHandle(7)},
                                   {MakeHandle(8), MakeHandle(2)}});
  messages.push_back(DestroyBinding{MakeHandle(9)});
  messages.push_back(DispatchBinding{MakeHandle(9)});
  messages.push_back(ResizeTensor{MakeHandle(2), {3, 0, 0xffffffffu}});
  return messages;
}

std::vector<ServiceMessage> SampleServiceMessages() {
  Error error(Cause::kInternal, "the värld (1) is wrong");
  error.AddContext("building graph (6)").AddContext("testing");
  std::vector<ServiceMessage> messages;
  messages.push_back(Goodbye{"the schema differs"});
  messages.push_back(ContextCreated{MakeHandle(1), error, true, "llvmpipe", 128ull << 20});
  messages.push_back(ContextCreated{MakeHandle(1), std::nullopt, true, "llvmpipe", 1});
  messages.push_back(ContextLost{MakeHandle(1), "the device is lost"});
  messages.push_back(TensorCreated{MakeHandle(2), error});
  messages.push_back(TensorCreated{MakeHandle(2), std::nullopt});
  messages.push_back(GraphBuilt{MakeHandle(6), error, 12});
  messages.push_back(GraphBuilt{MakeHandle(6), std::nullopt, 12});
  messages.push_back(TensorRead{77, error, 5, MakeInlinePayload().bytes});
  messages.push_back(TensorRead{78, std::nullopt, 5, MakeInlinePayload().bytes});
  messages.push_back(Acknowledge{1ull << 40});
  return messages;
}

}  // namespace webnnd::ipc

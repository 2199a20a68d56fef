#include "fuzz/session_mutator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "fuzz/session_model.h"
#include "ipc/shared_memory.h"
#include "webidl/generated/types.h"

namespace webnnd::fuzz {
namespace {

using ipc::Handle;
using ipc::ObjectType;
using webidl::OperandDataType;
using webidl::OperatorKind;
using Random = std::minstd_rand;
using Frames = std::vector<std::vector<std::byte>>;

uint32_t Below(Random& random, size_t bound) { return static_cast<uint32_t>(random() % bound); }
bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

constexpr uint32_t kElements = 4;

uint32_t Number(Random& random) {
  constexpr uint32_t kNumbers[] = {
      0, 1, 2, 3, 4, 5, 8, 16, 4095, 4096, 65535, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
  };
  return kNumbers[Below(random, std::size(kNumbers))];
}

uint64_t LongNumber(Random& random) {
  constexpr uint64_t kNumbers[] = {0,       4,          8,          15,   16,
                                   17,      64,         4080,       4096, kSessionArenaBytes,
                                   1 << 20, 1ull << 32, 1ull << 63, ~0ull};
  return kNumbers[Below(random, std::size(kNumbers))];
}

webidl::Dimension MakeDimension(Random& random) {
  if (OneIn(random, 4)) return webidl::DynamicDimension{OneIn(random, 2) ? "n" : "m", kElements, 1};
  return OneIn(random, 8) ? Number(random) : 1 + Below(random, kElements);
}

ipc::WireDescriptor MakeDescriptor(Random& random) {
  if (!OneIn(random, 3)) return {OperandDataType::kFloat32, {kElements}};
  ipc::WireDescriptor descriptor{
      static_cast<OperandDataType>(Below(random, webidl::kOperandDataTypeCount)), {}};
  for (uint32_t rank = Below(random, 4); rank > 0; --rank) {
    descriptor.dimensions.push_back(MakeDimension(random));
  }
  return descriptor;
}

std::vector<std::byte> MakeBytes(Random& random, size_t count) {
  std::vector<std::byte> bytes(count);
  // Small floats, mostly.
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 4 == 3 ? 0x3f : i);
  if (OneIn(random, 4) && count > 0) bytes[Below(random, count)] = std::byte{0xff};
  return bytes;
}

ipc::Payload MakePayload(Random& random) {
  const uint64_t length = OneIn(random, 4) ? LongNumber(random) : kElements * sizeof(float);
  const uint64_t offset = OneIn(random, 4) ? LongNumber(random) : 0;
  switch (Below(random, 4)) {
    case 0:
      return ipc::ArenaPayload{offset, length, 1 + Below(random, 8)};
    case 1:
      return ipc::FilePayload{{}, offset, length};
    default:
      return ipc::InlinePayload{
          MakeBytes(random, std::min<uint64_t>(length, limits::kInlinePayloadBytesMax))};
  }
}

ipc::Destination MakeDestination(Random& random) {
  const uint64_t length = OneIn(random, 4) ? LongNumber(random) : kElements * sizeof(float);
  switch (Below(random, 4)) {
    case 0:
      return ipc::ArenaDestination{OneIn(random, 4) ? LongNumber(random) : 64, length};
    case 1:
      return ipc::FileDestination{{}, length};
    default:
      return ipc::InlineDestination{};
  }
}

// A descriptor has to be there for a message to be encoded.
void FillDescriptors(ipc::ClientMessage& message) {
  static const UniqueFd kFile = std::move(ipc::CreateSealedMemfd("fuzz", kFileBytes)).value();
  const auto fill = [](auto& place) {
    using Place = std::decay_t<decltype(place)>;
    if constexpr (std::is_same_v<Place, ipc::Payload>) {
      if (auto* file = std::get_if<ipc::FilePayload>(&place)) file->file = kFile.Duplicate();
    } else {
      if (auto* file = std::get_if<ipc::FileDestination>(&place)) file->file = kFile.Duplicate();
    }
  };
  if (auto* m = std::get_if<ipc::WriteTensor>(&message)) fill(m->data);
  if (auto* m = std::get_if<ipc::CreateConstantTensor>(&message)) fill(m->data);
  if (auto* m = std::get_if<ipc::AddConstant>(&message)) fill(m->data);
  if (auto* m = std::get_if<ipc::ReadTensor>(&message)) fill(m->destination);
}

std::vector<std::byte> ToFrame(ipc::ClientMessage message) {
  FillDescriptors(message);
  return EncodeMessage(std::move(message));
}

// Writes messages for the objects that live at one place of a sequence.
class Writer {
 public:
  Writer(const SessionModel& model, Random& random) : random_(random) {
    for (const auto& [index, named] : model.objects()) {
      objects_.push_back(named);
      next_index_ = std::max(next_index_, index + 1);
    }
  }

  // One that lives, mostly.
  Handle Pick(ObjectType type) {
    if (OneIn(random_, 40)) return {Number(random_), 1};
    std::vector<const SessionModel::Named*> fitting;
    const bool any_type = OneIn(random_, 40);
    const bool dead = OneIn(random_, 12);
    for (const auto& named : objects_) {
      if ((named.type == type || any_type) && (named.alive || dead)) fitting.push_back(&named);
    }
    if (fitting.empty()) return Make(type);
    return fitting[Below(random_, fitting.size())]->handle;
  }

  // One that does not live yet: of a new index, or of one that was used before.
  Handle New() {
    if (OneIn(random_, 4)) {
      for (auto& named : objects_) {
        if (named.alive || !OneIn(random_, 2)) continue;
        named.alive = true;
        return ++named.handle.generation, named.handle;
      }
    }
    return {next_index_++, 1};
  }

  void Put(ipc::ClientMessage message) { frames.push_back(ToFrame(std::move(message))); }

  // What makes an object of the type, with what it needs; its handle.
  Handle Make(ObjectType type) {
    switch (type) {
      case ObjectType::kContext: {
        const Handle context = Add(type);
        Put(ipc::CreateContext{.context = context});
        return context;
      }
      case ObjectType::kTensor: {
        const Handle context = Pick(ObjectType::kContext);
        const Handle tensor = Add(type);
        Put(ipc::CreateTensor{context, tensor, MakeDescriptor(random_), !OneIn(random_, 8),
                              !OneIn(random_, 8)});
        return tensor;
      }
      case ObjectType::kBuilder: {
        const Handle context = Pick(ObjectType::kContext);
        const Handle builder = Add(type);
        Put(ipc::CreateBuilder{context, builder});
        return builder;
      }
      case ObjectType::kGraph:
        return MakeGraph();
      case ObjectType::kBinding: {
        const Handle graph = Pick(ObjectType::kGraph);
        const std::vector<Handle> inputs = Tensors(2), outputs = Tensors(1);
        const Handle binding = Add(type);
        Put(ipc::CreateBinding{binding, graph, inputs, outputs});
        return binding;
      }
    }
    return {};
  }

  Handle MakeGraph() {
    const Handle builder = Make(ObjectType::kBuilder);
    const ipc::WireDescriptor shape = MakeDescriptor(random_);
    Put(ipc::AddInputs{builder, {{1, "a", shape}, {2, "b", shape}}});
    uint32_t last = 2;
    if (OneIn(random_, 3)) {
      Put(ipc::AddConstant{builder, ++last, shape, MakePayload(random_)});
    }
    std::vector<webidl::Operator> operators;
    for (uint32_t count = 1 + Below(random_, 3); count > 0; --count) {
      // The first takes both inputs, so that all are reached.
      const bool is_first = operators.empty();
      const uint32_t b = is_first ? 2 : 1 + Below(random_, last);
      operators.push_back(MakeOperator(is_first ? 1 : last, b, last + 1, is_first));
      ++last;
    }
    Put(ipc::AddOperators{builder, operators});
    const Handle graph = Add(ObjectType::kGraph);
    Put(ipc::Build{builder, graph, {1, 2}, {{"y", last}}});
    Kill(builder);
    return graph;
  }

  void PutEpisode(uint32_t kind) {
    switch (kind) {
      case 0: {
        const Handle tensor = Make(ObjectType::kTensor);
        Put(ipc::WriteTensor{tensor, MakePayload(random_)});
        PutRead(tensor);
        return;
      }
      case 1: {
        const Handle graph = Make(ObjectType::kGraph);
        const std::vector<Handle> inputs = Tensors(2), outputs = Tensors(1);
        Put(ipc::WriteTensor{inputs[0], MakePayload(random_)});
        Put(ipc::Dispatch{graph, inputs, outputs});
        PutRead(outputs[0]);
        return;
      }
      case 2: {
        const Handle graph = Make(ObjectType::kGraph);
        const std::vector<Handle> tensors = Tensors(2);
        const Handle binding = Add(ObjectType::kBinding);
        Put(ipc::CreateBinding{binding, graph, tensors, {tensors[1]}});
        Put(ipc::WriteTensor{tensors[0], MakePayload(random_)});
        for (uint32_t times = 1 + Below(random_, 3); times > 0; --times) {
          Put(ipc::DispatchBinding{binding});
        }
        PutRead(tensors[1]);
        return;
      }
      case 3: {
        const Handle context = Pick(ObjectType::kContext);
        const Handle constant = Add(ObjectType::kTensor);
        Put(ipc::CreateConstantTensor{
            context, constant, {OperandDataType::kFloat32, {kElements}}, MakePayload(random_)});
        const Handle builder = Make(ObjectType::kBuilder);
        Put(ipc::AddInputs{builder, {{1, "a", {OperandDataType::kFloat32, {kElements}}}}});
        Put(ipc::AddConstantTensor{builder, 2, constant});
        Put(ipc::AddOperators{builder, {MakeOperator(1, 2, 3, true)}});
        const Handle graph = Add(ObjectType::kGraph);
        Put(ipc::Build{builder, graph, {1}, {{"y", 3}}});
        Kill(builder);
        const std::vector<Handle> tensors = Tensors(2);
        Put(ipc::Dispatch{graph, {tensors[0]}, {tensors[1]}});
        PutRead(tensors[1]);
        return;
      }
      default: {
        const Handle context = Pick(ObjectType::kContext);
        const Handle tensor = Add(ObjectType::kTensor);
        ipc::WireDescriptor shape{OperandDataType::kFloat32,
                                  {2u, webidl::DynamicDimension{"n", kElements, 0}}};
        Put(ipc::CreateTensor{context, tensor, std::move(shape), true, true});
        Put(ipc::ResizeTensor{tensor, {2, Below(random_, kElements + 2)}});
        Put(ipc::WriteTensor{tensor, MakePayload(random_)});
        PutRead(tensor);
      }
    }
  }

  // One message, on what is there.
  void PutAny() {
    switch (Below(random_, 16)) {
      case 0:
        return Put(ipc::WriteTensor{Pick(ObjectType::kTensor), MakePayload(random_)});
      case 1:
        return PutRead(Pick(ObjectType::kTensor));
      case 2:
        return Put(ipc::ResizeTensor{Pick(ObjectType::kTensor),
                                     {1 + Below(random_, 2), Below(random_, kElements + 2)}});
      case 3:
        return Put(ipc::DestroyTensor{Pick(ObjectType::kTensor)});
      case 4:
        return Put(ipc::DestroyGraph{Pick(ObjectType::kGraph)});
      case 5:
        return Put(ipc::DestroyBinding{Pick(ObjectType::kBinding)});
      case 6:
        return Put(ipc::DestroyBuilder{Pick(ObjectType::kBuilder)});
      case 7:
        return Put(ipc::DestroyContext{Pick(ObjectType::kContext)});
      case 8: {
        const Handle graph = Pick(ObjectType::kGraph);
        const std::vector<Handle> inputs = Tensors(2), outputs = Tensors(1);
        return Put(ipc::Dispatch{graph, inputs, outputs});
      }
      case 9:
        return Put(ipc::DispatchBinding{Pick(ObjectType::kBinding)});
      case 10: {
        const Handle builder = Pick(ObjectType::kBuilder);
        return Put(ipc::AddConstantTensor{builder, 3, Pick(ObjectType::kTensor)});
      }
      default:
        Make(static_cast<ObjectType>(Below(random_, ipc::kObjectTypeCount)));
    }
  }

  Frames frames;

 private:
  Handle Add(ObjectType type) {
    const Handle handle = New();
    auto reused = std::find_if(objects_.begin(), objects_.end(),
                               [&](const auto& named) { return named.handle == handle; });
    if (reused != objects_.end()) {
      reused->type = type;
    } else {
      objects_.push_back({handle, type, {}, true});
    }
    return handle;
  }

  void Kill(Handle handle) {
    for (auto& named : objects_) {
      if (named.handle == handle) named.alive = false;
    }
  }

  std::vector<Handle> Tensors(uint32_t count) {
    std::vector<Handle> tensors;
    while (tensors.size() < count) {
      // Mostly different ones, that are there or made for it.
      tensors.push_back(OneIn(random_, 2) ? Make(ObjectType::kTensor) : Pick(ObjectType::kTensor));
    }
    return tensors;
  }

  void PutRead(Handle tensor) {
    Put(ipc::ReadTensor{tensor, Below(random_, 1000), MakeDestination(random_)});
  }

  webidl::Operator MakeOperator(uint32_t a, uint32_t b, uint32_t result, bool binary) {
    constexpr OperatorKind kBinary[] = {OperatorKind::kAdd, OperatorKind::kMul, OperatorKind::kSub};
    constexpr OperatorKind kUnary[] = {OperatorKind::kRelu, OperatorKind::kIdentity,
                                       OperatorKind::kNeg};
    if (binary || OneIn(random_, 2)) {
      return {kBinary[Below(random_, 3)], {a, b}, {result}, "", webidl::NoAttributes{}};
    }
    return {kUnary[Below(random_, 3)], {a}, {result}, "", webidl::NoAttributes{}};
  }

  Random& random_;
  std::vector<SessionModel::Named> objects_;
  uint32_t next_index_ = 1;
};

// The objects that live before frame `at`, as far as messages are to the protocol.
SessionModel ModelBefore(const SessionSequence& sequence, size_t at) {
  SessionModel model;
  for (size_t i = 0; i < at; ++i) {
    auto decoded = DecodeMessage(sequence.frames[i]);
    if (decoded) model.Take(decoded->message);
  }
  return model;
}

void Insert(SessionSequence& sequence, size_t at, Frames frames) {
  if (sequence.frames.size() + frames.size() > kMessagesMax) return;
  sequence.frames.insert(sequence.frames.begin() + static_cast<ptrdiff_t>(at),
                         std::make_move_iterator(frames.begin()),
                         std::make_move_iterator(frames.end()));
}

// Changes one thing that a message says beside its handles.
class FieldMutator {
 public:
  explicit FieldMutator(Random& random) : random_(random) {}

  void operator()(ipc::CreateContext& m) {
    constexpr const char* kFusions[] = {"", "elementwiseChain", "-elementwiseChain", "none"};
    m.fusion = !OneIn(random_, 2);
    m.constant_folding = !OneIn(random_, 2);
    m.fusions = kFusions[Below(random_, std::size(kFusions))];
  }
  void operator()(ipc::CreateTensor& m) {
    if (OneIn(random_, 2)) m.readable = !m.readable;
    if (OneIn(random_, 2)) m.writable = !m.writable;
    Mutate(m.descriptor);
  }
  void operator()(ipc::CreateConstantTensor& m) { Mutate(m.descriptor, m.data); }
  void operator()(ipc::ResizeTensor& m) { Mutate(m.shape); }
  void operator()(ipc::WriteTensor& m) { m.data = MakePayload(random_); }
  void operator()(ipc::ReadTensor& m) { m.destination = MakeDestination(random_); }
  void operator()(ipc::AddInputs& m) {
    if (m.inputs.empty()) return;
    ipc::GraphInput& input = m.inputs[Below(random_, m.inputs.size())];
    switch (Below(random_, 3)) {
      case 0:
        input.operand = Operand();
        return;
      case 1:
        input.name = OneIn(random_, 2) ? "a" : "";
        return;
      default:
        Mutate(input.descriptor);
    }
  }
  void operator()(ipc::AddConstant& m) {
    if (OneIn(random_, 3)) m.operand = Operand();
    Mutate(m.descriptor, m.data);
  }
  void operator()(ipc::AddConstantTensor& m) { m.operand = Operand(); }
  void operator()(ipc::AddOperators& m) {
    if (m.operators.empty()) return;
    webidl::Operator& op = m.operators[Below(random_, m.operators.size())];
    std::vector<uint32_t>& list = OneIn(random_, 4) ? op.results : op.operands;
    if (!list.empty()) list[Below(random_, list.size())] = Operand();
  }
  void operator()(ipc::Build& m) {
    if (OneIn(random_, 2) || m.outputs.empty()) return Mutate(m.inputs);
    if (OneIn(random_, 2)) {
      m.outputs.push_back({"z", Operand()});
    } else {
      m.outputs[Below(random_, m.outputs.size())].operand = Operand();
    }
  }
  void operator()(ipc::Dispatch& m) { Mutate(OneIn(random_, 2) ? m.inputs : m.outputs); }
  void operator()(ipc::CreateBinding& m) { Mutate(OneIn(random_, 2) ? m.inputs : m.outputs); }
  template <class Other>
  void operator()(Other&) {}

 private:
  uint32_t Operand() { return OneIn(random_, 8) ? Number(random_) : 1 + Below(random_, 6); }

  void Mutate(std::vector<uint32_t>& list) {
    switch (Below(random_, 4)) {
      case 0:
        if (!list.empty()) list.pop_back();
        return;
      case 1:
        if (list.size() < limits::kRankMax) list.push_back(1 + Below(random_, 3));
        return;
      default:
        if (!list.empty()) list[Below(random_, list.size())] = Operand();
    }
  }
  void Mutate(std::vector<Handle>& list) {
    switch (Below(random_, 4)) {
      case 0:
        if (!list.empty()) list.pop_back();
        return;
      case 1:
        if (!list.empty() && list.size() < 8) list.push_back(list[Below(random_, list.size())]);
        return;
      default:
        std::reverse(list.begin(), list.end());
    }
  }
  void Mutate(ipc::WireDescriptor& descriptor) {
    auto& dimensions = descriptor.dimensions;
    switch (Below(random_, 4)) {
      case 0:
        descriptor.data_type =
            static_cast<OperandDataType>(Below(random_, webidl::kOperandDataTypeCount));
        return;
      case 1:
        if (!dimensions.empty()) dimensions.pop_back();
        return;
      case 2:
        if (dimensions.size() <= limits::kRankMax) dimensions.push_back(MakeDimension(random_));
        return;
      default:
        if (dimensions.empty()) return;
        dimensions[Below(random_, dimensions.size())] = MakeDimension(random_);
    }
  }
  void Mutate(ipc::WireDescriptor& descriptor, ipc::Payload& data) {
    if (OneIn(random_, 2)) {
      Mutate(descriptor);
    } else {
      data = MakePayload(random_);
    }
  }

  Random& random_;
};

void MutateFields(std::vector<std::byte>& frame, Random& random) {
  auto decoded = DecodeMessage(frame);
  if (!decoded || std::holds_alternative<ipc::Hello>(decoded->message)) return;
  std::visit(FieldMutator(random), decoded->message);
  frame = ToFrame(std::move(decoded->message));
}

// One handle becomes another one that is there, or none.
void MutateHandle(SessionSequence& sequence, size_t at, Random& random) {
  auto decoded = DecodeMessage(sequence.frames[at]);
  if (!decoded || std::holds_alternative<ipc::Hello>(decoded->message)) return;
  const SessionModel model = ModelBefore(sequence, at);
  std::vector<std::pair<Handle*, ObjectType>> handles;
  VisitHandles(decoded->message, [&](Handle& handle, ObjectType type, HandleRole) {
    handles.emplace_back(&handle, type);
  });
  auto [handle, type] = handles[Below(random, handles.size())];
  std::vector<Handle> others;
  for (const auto& [index, named] : model.objects()) {
    if (named.type == type || OneIn(random, 12)) others.push_back(named.handle);
  }
  if (!others.empty() && !OneIn(random, 8)) {
    *handle = others[Below(random, others.size())];
  } else {
    *handle = {OneIn(random, 2) ? handle->index : Number(random), handle->generation + 1};
  }
  sequence.frames[at] = ToFrame(std::move(decoded->message));
}

void MutateBytes(std::vector<std::byte>& frame, Random& random) {
  if (frame.empty()) return;
  if (OneIn(random, 4)) {
    frame.resize(Below(random, frame.size()));
  } else {
    frame[Below(random, frame.size())] = static_cast<std::byte>(Below(random, 256));
  }
}

void MutateCircumstances(Circumstances& it, Random& random) {
  switch (Below(random, 8)) {
    case 0:
      it.failing_call = 0;
      return;
    case 1:
      it.fails_forever = !it.fails_forever;
      return;
    case 2:
      // Costs a device.
      it.device_lost = OneIn(random, 32);
      return;
    case 3:
      it.reads_last = !it.reads_last;
      return;
    case 4:
      it.single_bytes = !it.single_bytes;
      return;
    case 5:
      it.leaves_early = !it.leaves_early;
      return;
    default:
      it.failing_call = static_cast<uint16_t>(Below(random, 200));
  }
}

Handle Shifted(Handle handle, uint32_t offset) {
  return {handle.index + offset, handle.generation};
}

// The message on objects of its own.
std::vector<std::byte> Shift(const std::vector<std::byte>& frame, uint32_t offset) {
  auto decoded = DecodeMessage(frame);
  if (!decoded || std::holds_alternative<ipc::Hello>(decoded->message)) return frame;
  VisitHandles(decoded->message,
               [&](Handle& handle, ObjectType, HandleRole) { handle = Shifted(handle, offset); });
  return ToFrame(std::move(decoded->message));
}

}  // namespace

void SessionMutator::MutateOnce(SessionSequence& sequence) {
  auto& frames = sequence.frames;
  const size_t end = Below(random_, frames.size() + 1);
  const auto writer = [&] { return Writer(ModelBefore(sequence, end), random_); };
  if (frames.empty() || OneIn(random_, 6)) {
    Writer episode = writer();
    episode.PutEpisode(Below(random_, kEpisodeKinds));
    return Insert(sequence, end, std::move(episode.frames));
  }
  const size_t at = Below(random_, frames.size());
  const auto begin = frames.begin() + static_cast<ptrdiff_t>(at);
  switch (Below(random_, 12)) {
    case 0:
    case 1:
    case 2: {
      Writer some = writer();
      some.PutAny();
      return Insert(sequence, end, std::move(some.frames));
    }
    case 3:
      frames.erase(begin);
      return;
    case 4:
      return Insert(sequence, end, {Frames{frames[at]}});
    case 5:
      std::swap(frames[at], frames[Below(random_, frames.size())]);
      return;
    case 6:
    case 7:
      return MutateFields(frames[at], random_);
    case 8:
      return MutateHandle(sequence, at, random_);
    case 9:
      if (OneIn(random_, 4)) MutateBytes(frames[at], random_);
      return;
    default:
      return MutateCircumstances(sequence.circumstances, random_);
  }
}

SessionSequence SessionMutator::Mutate(SessionSequence sequence) {
  for (uint32_t changes = 1 + Below(random_, 4); changes > 0; --changes) MutateOnce(sequence);
  return sequence;
}

SessionSequence SessionMutator::Cross(SessionSequence sequence, const SessionSequence& other) {
  sequence.frames.resize(Below(random_, sequence.frames.size() + 1));
  uint32_t offset = 0;
  if (!OneIn(random_, 3)) {
    const SessionModel model = ModelBefore(sequence, sequence.frames.size());
    for (const auto& [index, named] : model.objects()) {
      offset = std::max(offset, index);
    }
  }
  // Objects of its own need all that made them.
  const size_t from = offset == 0 ? Below(random_, other.frames.size() + 1) : 0;
  for (size_t i = from; i < other.frames.size() && sequence.frames.size() < kMessagesMax; ++i) {
    sequence.frames.push_back(Shift(other.frames[i], offset));
  }
  return sequence;
}

SessionSequence SessionMutator::MakeSession(uint32_t kind) {
  SessionSequence sequence;
  Writer writer(SessionModel(), random_);
  writer.PutEpisode(kind);
  sequence.frames = std::move(writer.frames);
  sequence.frames.resize(std::min(sequence.frames.size(), kMessagesMax));
  return sequence;
}

}  // namespace webnnd::fuzz

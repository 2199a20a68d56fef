#include "tests/simulation/peer.h"

#include <utility>
#include <variant>

#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/shared_memory.h"

namespace webnnd::service {
namespace {

using ipc::Handle;

constexpr Handle kContext{1, 1}, kA{2, 1}, kB{3, 1}, kSum{4, 1}, kBuilder{5, 1}, kGraph{6, 1},
    kBinding{7, 1};
// Requests that travel together; now and then more than the service takes in at once.
constexpr uint32_t kRoundsAtOnceMax = 4;
constexpr uint32_t kRoundsInFloodMax = 400;

ipc::WireDescriptor Floats(uint32_t count) { return {webidl::OperandDataType::kFloat32, {count}}; }

}  // namespace

Peer::Peer(std::unique_ptr<ipc::Channel> channel, uint64_t seed, int rounds)
    : channel_(std::move(channel)),
      reader_(*channel_),
      writer_(*channel_),
      state_(seed),
      rounds_(rounds) {}

// splitmix64: the same on every machine.
uint32_t Peer::Draw(uint32_t bound) {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((z ^ z >> 31) >> 32) % bound;
}

void Peer::Send(ipc::ClientMessage message) { writer_.Queue(ipc::Encode(std::move(message))); }

void Peer::Turn(bool reads) {
  if (reads) Receive();
  if (ended_) return;
  if (!begun_) Begin();
  if (awaited_.empty()) {
    const uint32_t at_once = Draw(Draw(8) == 0 ? kRoundsInFloodMax : kRoundsAtOnceMax) + 1;
    for (uint32_t i = 0; i < at_once && rounds_ > 0; ++i) Round();
  }
  writer_.Flush();
}

// More times than it takes to empty a pipe in memory.
void Peer::Drain() {
  for (int i = 0; i < 32 && !ended_ && !wrong_; ++i) Receive();
}

void Peer::DrainToEnd() {
  deaf_ = true;
  Drain();
}

void Peer::Begin() {
  begun_ = true;
  auto arena = [] {
    return std::move(ipc::CreateSealedMemfd("simulated", limits::kArenaBytesMin)).value();
  };
  Send(ipc::Hello{ipc::CurrentSchemaHash(), arena(), limits::kArenaBytesMin, arena(),
                  limits::kArenaBytesMin});
  Send(ipc::CreateContext{.context = kContext});
  for (Handle tensor : {kA, kB, kSum}) {
    Send(ipc::CreateTensor{kContext, tensor, Floats(kElements), /*readable=*/true,
                           /*writable=*/true});
  }
  for (Bytes* mirror : {&a_, &b_, &sum_}) mirror->assign(kElements * sizeof(float), std::byte{0});
  Send(ipc::CreateBuilder{kContext, kBuilder});
  Send(ipc::AddInputs{kBuilder, {{1, "a", Floats(kElements)}, {2, "b", Floats(kElements)}}});
  Send(ipc::AddOperators{kBuilder,
                         {{webidl::OperatorKind::kAdd, {1, 2}, {3}, "", webidl::NoAttributes{}}}});
  Send(ipc::Build{kBuilder, kGraph, {1, 2}, {{"sum", 3}}});
  Send(ipc::CreateBinding{kBinding, kGraph, {kA, kB}, {kSum}});
  for (Handle handle : {kContext, kA, kB, kSum, kGraph}) awaited_[handle.index] = false;
}

void Peer::Write(Handle tensor, Bytes& mirror) {
  for (std::byte& byte : mirror) byte = static_cast<std::byte>(Draw(256));
  Send(ipc::WriteTensor{tensor, ipc::InlinePayload{mirror}});
}

void Peer::Round() {
  --rounds_;
  if (Draw(2) == 0) Write(kA, a_);
  if (Draw(2) == 0) Write(kB, b_);
  if (Draw(2) == 0) {
    Send(ipc::Dispatch{kGraph, {kA, kB}, {kSum}});
  } else {
    Send(ipc::DispatchBinding{kBinding});
  }
  for (size_t i = 0; i < sum_.size(); ++i) {
    sum_[i] =
        static_cast<std::byte>(static_cast<unsigned>(a_[i]) + static_cast<unsigned>(b_[i]) + 1);
  }
  const uint64_t request = ++last_request_;
  const bool reads_input = Draw(4) == 0;
  reads_[request] = reads_input ? a_ : sum_;
  Send(ipc::ReadTensor{reads_input ? kA : kSum, request, ipc::InlineDestination{}});
}

void Peer::AskTooMuch() {
  if (!begun_ || ended_) return;
  const Handle tensor{next_index_++, 1};
  Send(ipc::CreateTensor{kContext, tensor, Floats(1 << 20), /*readable=*/true, /*writable=*/true});
  awaited_[tensor.index] = true;
  writer_.Flush();
}

void Peer::Misbehave() {
  if (!begun_) Begin();
  // A handle that was never made.
  Send(ipc::DestroyTensor{{999, 1}});
  writer_.Flush();
}

void Peer::StopInTheMiddle() {
  ipc::Frame frame = ipc::Encode(ipc::CreateContext{.context = kContext});
  (void)channel_->Send(std::span(frame.bytes).first(frame.bytes.size() / 2), {});
  ended_ = true;
}

void Peer::Receive() {
  auto filled = reader_.Fill();
  if (!filled.ok()) return Fail("what it gets is no frame: " + filled.error().message);
  while (true) {
    auto frame = reader_.Next();
    if (!frame.ok()) return Fail("what it gets is no frame: " + frame.error().message);
    if (!frame->has_value()) break;
    auto message = ipc::DecodeServiceMessage(**frame, reader_.descriptors());
    if (!message.ok()) return Fail("what it gets is no message: " + message.error().message);
    OnMessage(std::move(*message));
  }
  if (*filled == ipc::ChannelState::kClosed) ended_ = true;
}

void Peer::OnMessage(ipc::ServiceMessage message) {
  if (deaf_) return;
  if (auto* goodbye = std::get_if<ipc::Goodbye>(&message)) {
    goodbye_ = std::move(goodbye->message);
  } else if (auto* context = std::get_if<ipc::ContextCreated>(&message)) {
    Answered(context->context, context->error.has_value(), "context");
  } else if (auto* tensor = std::get_if<ipc::TensorCreated>(&message)) {
    const bool is_quota = tensor->error && tensor->error->cause() == Cause::kQuota;
    if (tensor->error && !is_quota) Fail("a tensor is refused: " + tensor->error->ToString());
    Answered(tensor->tensor, tensor->error.has_value(), "tensor");
  } else if (auto* graph = std::get_if<ipc::GraphBuilt>(&message)) {
    Answered(graph->graph, graph->error.has_value(), "graph");
  } else if (auto* read = std::get_if<ipc::TensorRead>(&message)) {
    auto found = reads_.find(read->request);
    if (found == reads_.end()) return Fail(fmt::format("read {} is not asked", read->request));
    if (found != reads_.begin()) Fail(fmt::format("read {} overtakes another", read->request));
    if (read->error) {
      Fail(fmt::format("read {} fails: {}", read->request, read->error->ToString()));
    } else if (read->bytes != found->second) {
      Fail(fmt::format("read {} answers wrong bytes", read->request));
    }
    reads_.erase(found);
    ++answers_;
  }
}

void Peer::Answered(ipc::Handle handle, bool has_error, const std::string& text) {
  auto found = awaited_.find(handle.index);
  if (found == awaited_.end()) return Fail(fmt::format("{} {} is not asked", text, handle.index));
  if (found->second != has_error) {
    Fail(fmt::format("{} {} {}", text, handle.index, has_error ? "fails" : "should be too much"));
  }
  awaited_.erase(found);
  ++answers_;
}

}  // namespace webnnd::service

// What a client sends in one session, to a real session on the device, with one injected fault. The
// session must end where the protocol is broken and nowhere else, answer each request once and
// sensibly, and leave nothing on the device.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/quota.h"
#include "fuzz/session_model.h"
#include "fuzz/session_mutator.h"
#include "fuzz/session_sequence.h"
#include "ipc/channel.h"
#include "ipc/codec.h"
#include "ipc/frame_stream.h"
#include "ipc/shared_memory.h"
#include "service/session/in_process.h"
#include "service/vulkan/device.h"
#include "service/vulkan/fault.h"

namespace webnnd::fuzz {
namespace {

// Enough for all that is worth making, and so little that sessions of few messages are over it.
constexpr Quota kQuota = {
    .device_bytes = 1 << 20, .contexts = 4, .tensors = 12, .graphs = 4, .bindings = 4};
// Nothing here takes as long, a kernel's compilation on a busy machine included.
constexpr int kAnswerMsMax = 60000;
constexpr size_t kSmallPieceBytes = 5;

// One for all inputs, so that kernels are compiled once.
std::shared_ptr<service::Device>& SharedDevice() {
  static std::shared_ptr<service::Device> device;
  if (device == nullptr || device->lost()) {
    auto opened = service::Device::Open(0, {});
    CHECK(opened.ok());
    device = std::move(*opened);
  }
  return device;
}

UniqueFd MakeFile(uint64_t bytes) {
  return std::move(ipc::CreateSealedMemfd("fuzz", bytes)).value();
}

// The client's end. Knows what it has sent, and holds every answer against that.
class Client {
 public:
  Client(std::unique_ptr<ipc::Channel> channel, const Circumstances& circumstances)
      : channel_(std::move(channel)), reader_(*channel_), circumstances_(circumstances) {}

  void Greet() {
    ipc::Hello hello{ipc::CurrentSchemaHash(), MakeFile(kSessionArenaBytes), kSessionArenaBytes,
                     MakeFile(kSessionArenaBytes), kSessionArenaBytes};
    ipc::Frame frame = ipc::Encode(std::move(hello));
    SendBytes(frame.bytes, frame.descriptors);
  }

  void Send(std::span<const std::byte> frame) {
    std::vector<UniqueFd> descriptors;
    auto decoded = DecodeMessage(frame);
    if (decoded) {
      for (size_t i = 0; i < decoded->descriptors; ++i) descriptors.push_back(MakeFile(kFileBytes));
      if (!bad_ && !model_.Take(decoded->message)) bad_ = true;
    } else if (!IsCutOff(frame)) {
      bad_ = true;
    }
    // Before the bytes: an answer may be there at once.
    SendBytes(frame, descriptors);
  }

  // Until every answer is there, or the session has ended as it must.
  void AwaitAnswers() {
    while (!ended_ && (bad_ || !model_.OwesNothing())) {
      CHECK(Poll(POLLIN));
      Receive();
    }
    if (bad_) CHECK(goodbye_);
  }

  void Close() { channel_->Close(); }

 private:
  static bool IsCutOff(std::span<const std::byte> frame) {
    if (frame.size() < ipc::kFrameHeaderBytes) return true;
    auto length = ipc::FrameLength(frame.first<ipc::kFrameHeaderBytes>());
    return length.ok() && *length > frame.size();
  }

  void SendBytes(std::span<const std::byte> bytes, std::span<const UniqueFd> descriptors) {
    std::vector<int> numbers;
    for (const UniqueFd& fd : descriptors) numbers.push_back(fd.get());
    while (!bytes.empty()) {
      const auto piece = bytes.first(
          circumstances_.single_bytes ? std::min(kSmallPieceBytes, bytes.size()) : bytes.size());
      const ipc::Channel::Sent sent = channel_->Send(piece, numbers);
      if (sent.state == ipc::ChannelState::kClosed) return;
      if (sent.bytes > 0) numbers.clear();
      bytes = bytes.subspan(sent.bytes);
      if (sent.bytes == 0) CHECK(Poll(POLLOUT | POLLIN));
      if (!circumstances_.reads_last) Receive();
    }
  }

  bool Poll(int events) {
    pollfd polled[] = {{(events & POLLIN) != 0 ? channel_->read_descriptor() : -1, POLLIN, 0},
                       {(events & POLLOUT) != 0 ? channel_->write_descriptor() : -1, POLLOUT, 0}};
    for (;;) {
      const int ready = poll(polled, std::size(polled), kAnswerMsMax);
      // libFuzzer looks at its clock by a signal, about every minute.
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

  // What is there.
  void Receive() {
    if (ended_) return;
    auto state = reader_.Fill();
    CHECK(state.ok());
    for (;;) {
      auto frame = reader_.Next();
      CHECK(frame.ok());
      if (!frame->has_value()) break;
      auto message = ipc::DecodeServiceMessage(**frame, reader_.descriptors());
      CHECK(message.ok());
      CHECK(!goodbye_);
      std::visit([this](const auto& alternative) { Take(alternative); }, *message);
    }
    if (*state == ipc::ChannelState::kOpen) return;
    ended_ = true;
    CHECK(!reader_.HasPartialFrame());
    CHECK(goodbye_);
  }

  bool MayLoseDevice() const {
    return circumstances_.failing_call != 0 && circumstances_.device_lost;
  }

  // Nothing of ours is wrong, unless a fault made it so.
  void CheckError(const std::optional<Error>& error) const {
    if (!error) return;
    CHECK(!error->message().empty());
    if (circumstances_.failing_call != 0) return;
    CHECK(error->cause() != Cause::kInternal && error->cause() != Cause::kDeviceLost &&
          error->cause() != Cause::kOutOfMemory);
  }

  void Settle(SessionModel::Owed& owed, ipc::Handle handle,
              const std::optional<Error>& error) const {
    auto found = owed.find(handle.Pack());
    CHECK(found != owed.end());
    const bool refused = found->second;
    CHECK(!refused || error.has_value());
    owed.erase(found);
    CheckError(error);
  }

  void Take(const ipc::Goodbye&) {
    CHECK(bad_ || MayLoseDevice());
    goodbye_ = true;
  }
  void Take(const ipc::ContextCreated& m) { Settle(model_.contexts, m.context, m.error); }
  void Take(const ipc::ContextLost&) { CHECK(circumstances_.failing_call != 0); }
  void Take(const ipc::TensorCreated& m) { Settle(model_.tensors, m.tensor, m.error); }
  void Take(const ipc::GraphBuilt& m) { Settle(model_.graphs, m.graph, m.error); }
  void Take(const ipc::TensorRead& m) {
    CheckError(m.error);
    auto found = model_.reads.find(m.request);
    CHECK(found != model_.reads.end());
    SessionModel::Reads& reads = found->second;
    CHECK(++reads.answered <= reads.sent.size());
    CHECK(std::any_of(reads.sent.begin(), reads.sent.end(), [&m](const auto& read) {
      if (m.error.has_value()) return m.bytes.empty() && m.length == 0;
      return m.length <= read.bytes_max && m.bytes.size() == (read.in_message ? m.length : 0);
    }));
  }
  void Take(const ipc::Acknowledge& m) {
    CHECK(m.sequence > acknowledged_ && m.sequence <= model_.sequence_max);
    acknowledged_ = m.sequence;
  }

  std::unique_ptr<ipc::Channel> channel_;
  ipc::FrameReader reader_;
  const Circumstances circumstances_;
  SessionModel model_{kQuota};
  bool bad_ = false;      // The protocol is broken.
  bool goodbye_ = false;  // The service has said so.
  bool ended_ = false;
  uint64_t acknowledged_ = 0;
};

// Of what the service alone calls: this client has descriptors and a channel of its own.
void Arm(const Circumstances& circumstances) {
  if (circumstances.failing_call == 0) return;
  if (circumstances.device_lost) {
    return service::InjectFaultAt(circumstances.failing_call, circumstances.fails_forever,
                                  service::Fault::kDeviceLost);
  }
  fault::Inject({.nth = circumstances.failing_call,
                 .forever = circumstances.fails_forever,
                 .kinds = fault::Only(fault::Kind::kVulkan) | fault::Only(fault::Kind::kPool) |
                          fault::Only(fault::Kind::kFile)});
}

void Run(const SessionSequence& sequence) {
  std::shared_ptr<service::Device> device = SharedDevice();
  const uint64_t bytes_before = device->bytes_in_use();
  const Circumstances& circumstances = sequence.circumstances;
  {
    service::InProcessHost host({.devices = {device}, .quota = kQuota});
    auto channel = host.Connect();
    CHECK(channel.ok());
    Client client(std::move(*channel), circumstances);
    Arm(circumstances);
    client.Greet();
    for (const auto& frame : sequence.frames) client.Send(frame);
    if (!circumstances.leaves_early) client.AwaitAnswers();
    client.Close();
  }
  fault::Clear();
  CHECK(device->bytes_in_use() == bytes_before);
}

SessionSequence Read(const uint8_t* data, size_t size) {
  return ReadSequence(std::as_bytes(std::span(data, size)));
}

// Writes the sequence, as much of it as fits.
size_t Write(SessionSequence sequence, std::span<uint8_t> room) {
  std::vector<std::byte> bytes = WriteSequence(sequence);
  while (bytes.size() > room.size() && !sequence.frames.empty()) {
    sequence.frames.pop_back();
    bytes = WriteSequence(sequence);
  }
  if (bytes.size() > room.size()) return 0;
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace
}  // namespace webnnd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet = [] {
    webnnd::InitLog("fuzz", webnnd::LogLevel::kOff);
    return true;
  }();
  static_cast<void>(quiet);
  webnnd::fuzz::Run(webnnd::fuzz::Read(data, size));
  return 0;
}

// libFuzzer finds these by name.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  using namespace webnnd::fuzz;  // NOLINT(build/namespaces)
  return Write(SessionMutator(seed).Mutate(Read(data, size)), {data, size_max});
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t size_max,
                                            unsigned seed) {
  using namespace webnnd::fuzz;  // NOLINT(build/namespaces)
  return Write(SessionMutator(seed).Cross(Read(a, a_size), Read(b, b_size)), {out, size_max});
}

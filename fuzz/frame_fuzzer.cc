// A stream of bytes, sent through a channel in chunks with and without descriptors, read as frames
// and decoded. The input: a count of control bytes, these, then the stream. A control byte says how
// much is sent next (bits 0 to 5), whether a descriptor goes along (bit 6), and whether the reader
// gets its turn then (bit 7); they are used in turn.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>

#include "base/check.h"
#include "ipc/channel.h"
#include "ipc/codec.h"
#include "ipc/frame_stream.h"
#include "ipc/shared_memory.h"

namespace webnnd::ipc {
namespace {

constexpr size_t kControlBytesMax = 16;

size_t ChunkBytes(uint8_t control) {
  size_t value = control & 0x3f;
  return value < 32 ? value + 1 : (value - 31) * 64;
}

// Reads what is there; false when the stream has ended or is refused.
class Receiver {
 public:
  Receiver(Channel& channel, std::span<const std::byte> stream)
      : reader_(channel), stream_(stream) {}

  bool Turn() {
    auto state = reader_.Fill();
    if (!state.ok()) return false;
    for (;;) {
      auto frame = reader_.Next();
      if (!frame.ok()) return false;
      if (!frame->has_value()) break;
      Take(**frame);
    }
    if (*state == ChannelState::kOpen) return true;
    // Nothing was lost on the way.
    CHECK(reader_.HasPartialFrame() == (taken_ < stream_.size()));
    return false;
  }

 private:
  void Take(std::span<const std::byte> frame) {
    CHECK(frame.size() <= stream_.size() - taken_);
    CHECK(std::memcmp(frame.data(), stream_.data() + taken_, frame.size()) == 0);
    taken_ += frame.size();
    static_cast<void>(DecodeClientMessage(frame, reader_.descriptors()).ok());
    std::deque<UniqueFd> none;
    static_cast<void>(DecodeServiceMessage(frame, none).ok());
  }

  FrameReader reader_;
  std::span<const std::byte> stream_;
  size_t taken_ = 0;
};

void Run(std::span<const std::byte> controls, std::span<const std::byte> stream) {
  static const UniqueFd kFile = std::move(CreateSealedMemfd("fuzz", 4096)).value();
  auto [sender, receiver_end] = std::move(MakeMemoryChannelPair()).value();
  Receiver receiver(*receiver_end, stream);
  size_t sent = 0;
  for (size_t turn = 0; sent < stream.size(); ++turn) {
    auto control = static_cast<uint8_t>(controls[turn % controls.size()]);
    std::array<int, 1> fd{kFile.get()};
    size_t bytes = std::min(ChunkBytes(control), stream.size() - sent);
    Channel::Sent result = sender->Send(stream.subspan(sent, bytes),
                                        std::span(fd).first((control & 0x40) != 0 ? 1 : 0));
    CHECK(result.state == ChannelState::kOpen);
    sent += result.bytes;
    // A full channel must be read from, or nothing would go on.
    if (((control & 0x80) != 0 || result.bytes == 0) && !receiver.Turn()) return;
  }
  sender->Close();
  while (receiver.Turn()) {
  }
}

}  // namespace
}  // namespace webnnd::ipc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  size_t count = 1 + static_cast<uint8_t>(input[0]) % webnnd::ipc::kControlBytesMax;
  if (input.size() < 1 + count) return 0;
  webnnd::ipc::Run(input.subspan(1, count), input.subspan(1 + count));
  return 0;
}

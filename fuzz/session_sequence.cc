#include "fuzz/session_sequence.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/frame.h"
#include "ipc/shared_memory.h"

namespace webnnd::fuzz {
namespace {

constexpr size_t kCircumstanceBytes = 3;

enum Flag : uint8_t {
  kForever = 1,
  kLost = 2,
  kReadsLast = 4,
  kSingleBytes = 8,
  kLeavesEarly = 16,
};

}  // namespace

SessionSequence ReadSequence(std::span<const std::byte> bytes) {
  SessionSequence sequence;
  if (bytes.size() < kCircumstanceBytes) return sequence;
  Circumstances& it = sequence.circumstances;
  it.failing_call =
      static_cast<uint16_t>(static_cast<uint16_t>(bytes[0]) | static_cast<uint16_t>(bytes[1]) << 8);
  const auto flags = static_cast<uint8_t>(bytes[2]);
  it.fails_forever = (flags & kForever) != 0;
  it.device_lost = (flags & kLost) != 0;
  it.reads_last = (flags & kReadsLast) != 0;
  it.single_bytes = (flags & kSingleBytes) != 0;
  it.leaves_early = (flags & kLeavesEarly) != 0;
  bytes = bytes.subspan(kCircumstanceBytes);
  while (!bytes.empty() && sequence.frames.size() < kMessagesMax) {
    size_t length = bytes.size();
    if (bytes.size() >= ipc::kFrameHeaderBytes) {
      auto announced = ipc::FrameLength(bytes.first<ipc::kFrameHeaderBytes>());
      if (announced.ok()) length = std::min(length, *announced);
    }
    sequence.frames.emplace_back(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    bytes = bytes.subspan(length);
  }
  return sequence;
}

std::vector<std::byte> WriteSequence(const SessionSequence& sequence) {
  const Circumstances& it = sequence.circumstances;
  const int flags = (it.fails_forever ? kForever : 0) | (it.device_lost ? kLost : 0) |
                    (it.reads_last ? kReadsLast : 0) | (it.single_bytes ? kSingleBytes : 0) |
                    (it.leaves_early ? kLeavesEarly : 0);
  std::vector<std::byte> bytes = {static_cast<std::byte>(it.failing_call & 0xff),
                                  static_cast<std::byte>(it.failing_call >> 8),
                                  static_cast<std::byte>(flags)};
  for (const auto& frame : sequence.frames) bytes.insert(bytes.end(), frame.begin(), frame.end());
  return bytes;
}

std::optional<DecodedMessage> DecodeMessage(std::span<const std::byte> frame) {
  if (frame.size() < ipc::kFrameHeaderBytes) return std::nullopt;
  auto length = ipc::FrameLength(frame.first<ipc::kFrameHeaderBytes>());
  if (!length.ok() || *length != frame.size()) return std::nullopt;
  static const UniqueFd kFile = std::move(ipc::CreateSealedMemfd("fuzz", kFileBytes)).value();
  constexpr size_t kDescriptors = 2;  // Hello needs the most.
  std::deque<UniqueFd> descriptors;
  for (size_t i = 0; i < kDescriptors; ++i) descriptors.push_back(kFile.Duplicate());
  // Aligned, as the decoder wants it.
  std::vector<uint64_t> words(frame.size() / 8);
  std::memcpy(words.data(), frame.data(), frame.size());
  auto message = ipc::DecodeClientMessage(std::as_bytes(std::span(words)), descriptors);
  if (!message.ok()) return std::nullopt;
  return DecodedMessage{std::move(*message), kDescriptors - descriptors.size()};
}

std::vector<std::byte> EncodeMessage(ipc::ClientMessage message) {
  return ipc::Encode(std::move(message)).bytes;
}

}  // namespace webnnd::fuzz

// SessionSequence: what a client sends in one session, and its form as a fuzzer's input.
#ifndef WEBNND_FUZZ_SESSION_SEQUENCE_H_
#define WEBNND_FUZZ_SESSION_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "ipc/messages.h"

namespace webnnd::fuzz {

// Longer ones find nothing that shorter ones do not.
inline constexpr size_t kMessagesMax = 64;
// Of every descriptor that goes with a message: a sealed memfd.
inline constexpr uint64_t kFileBytes = 4096;
// Of both arenas: the least that a session takes.
inline constexpr uint64_t kSessionArenaBytes = 64 << 10;

// What goes wrong in the service, and how the client behaves beside it.
struct Circumstances {
  uint16_t failing_call = 0;  // The n-th call that can fail, from the first message on; 0: none.
  bool fails_forever = false;
  bool device_lost = false;   // Rather than out of memory.
  bool reads_last = false;    // The client reads no answer before it has sent everything.
  bool single_bytes = false;  // Frames come in small pieces.
  bool leaves_early = false;  // The client is gone once everything is sent.
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

struct SessionSequence {
  Circumstances circumstances;
  // Behind Hello, which every session begins with. Bytes, since some are no messages.
  std::vector<std::vector<std::byte>> frames;
};

// Cuts the bytes into frames by their headers; what is left at the end is a frame that is cut off.
SessionSequence ReadSequence(std::span<const std::byte> bytes);
std::vector<std::byte> WriteSequence(const SessionSequence& sequence);

// A message, and how many descriptors go with it; nullopt where the frame is no message.
struct DecodedMessage {
  ipc::ClientMessage message;
  size_t descriptors = 0;
};
std::optional<DecodedMessage> DecodeMessage(std::span<const std::byte> frame);
// The descriptors stay behind: every execution sends new ones.
std::vector<std::byte> EncodeMessage(ipc::ClientMessage message);

// Calls `visit(handle, type, role)` for each handle of a message, in the order in which the service
// looks at them.
enum class HandleRole : uint8_t { kMakes, kUses, kRemoves };

template <class Visit>
void VisitHandles(ipc::ClientMessage& any, const Visit& visit) {
  using ipc::ObjectType;
  std::visit(
      [&](auto& m) {
        using M = std::decay_t<decltype(m)>;
        const auto makes = HandleRole::kMakes;
        const auto uses = HandleRole::kUses;
        const auto removes = HandleRole::kRemoves;
        if constexpr (std::is_same_v<M, ipc::CreateContext>) {
          visit(m.context, ObjectType::kContext, makes);
        } else if constexpr (std::is_same_v<M, ipc::DestroyContext>) {
          visit(m.context, ObjectType::kContext, removes);
        } else if constexpr (std::is_same_v<M, ipc::CreateTensor> ||
                             std::is_same_v<M, ipc::CreateConstantTensor>) {
          visit(m.context, ObjectType::kContext, uses);
          visit(m.tensor, ObjectType::kTensor, makes);
        } else if constexpr (std::is_same_v<M, ipc::DestroyTensor>) {
          visit(m.tensor, ObjectType::kTensor, removes);
        } else if constexpr (std::is_same_v<M, ipc::ResizeTensor> ||
                             std::is_same_v<M, ipc::WriteTensor> ||
                             std::is_same_v<M, ipc::ReadTensor>) {
          visit(m.tensor, ObjectType::kTensor, uses);
        } else if constexpr (std::is_same_v<M, ipc::CreateBuilder>) {
          visit(m.context, ObjectType::kContext, uses);
          visit(m.builder, ObjectType::kBuilder, makes);
        } else if constexpr (std::is_same_v<M, ipc::DestroyBuilder>) {
          visit(m.builder, ObjectType::kBuilder, removes);
        } else if constexpr (std::is_same_v<M, ipc::AddInputs> ||
                             std::is_same_v<M, ipc::AddConstant> ||
                             std::is_same_v<M, ipc::AddOperators>) {
          visit(m.builder, ObjectType::kBuilder, uses);
        } else if constexpr (std::is_same_v<M, ipc::AddConstantTensor>) {
          visit(m.builder, ObjectType::kBuilder, uses);
          visit(m.tensor, ObjectType::kTensor, uses);
        } else if constexpr (std::is_same_v<M, ipc::Build>) {
          visit(m.builder, ObjectType::kBuilder, removes);
          visit(m.graph, ObjectType::kGraph, makes);
        } else if constexpr (std::is_same_v<M, ipc::DestroyGraph>) {
          visit(m.graph, ObjectType::kGraph, removes);
        } else if constexpr (std::is_same_v<M, ipc::Dispatch> ||
                             std::is_same_v<M, ipc::CreateBinding>) {
          visit(m.graph, ObjectType::kGraph, uses);
          for (ipc::Handle& tensor : m.inputs) visit(tensor, ObjectType::kTensor, uses);
          for (ipc::Handle& tensor : m.outputs) visit(tensor, ObjectType::kTensor, uses);
          if constexpr (std::is_same_v<M, ipc::CreateBinding>) {
            visit(m.binding, ObjectType::kBinding, makes);
          }
        } else if constexpr (std::is_same_v<M, ipc::DestroyBinding>) {
          visit(m.binding, ObjectType::kBinding, removes);
        } else if constexpr (std::is_same_v<M, ipc::DispatchBinding>) {
          visit(m.binding, ObjectType::kBinding, uses);
        } else {
          static_assert(std::is_same_v<M, ipc::Hello>, "a new message: what handles has it?");
        }
      },
      any);
}

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_SESSION_SEQUENCE_H_

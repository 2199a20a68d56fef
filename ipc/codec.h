// Encoding and decoding of messages: the only room that knows Cap'n Proto.
//
// A frame is one standard Cap'n Proto stream message of one segment: u32 0 (segments minus one),
// u32 words, then the segment. `capnp decode` reads a recorded stream.
#ifndef WEBNND_IPC_CODEC_H_
#define WEBNND_IPC_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "ipc/messages.h"

namespace webnnd::ipc {

inline constexpr size_t kFrameHeaderBytes = 8;

// A frame to send, and the descriptors that travel with its first byte.
struct Frame {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> descriptors;
};

// SHA-256 of the schema files: what both sides compare in Hello.
const SchemaHash& CurrentSchemaHash();

// Takes the descriptors out of the message.
Frame Encode(ClientMessage&& message);
Frame Encode(ServiceMessage&& message);

// Bytes of the whole frame (header included) that starts with these 8 bytes; BadMessage when it has
// more than one segment, no word at all, or more than limits::kFrameBytesMax.
Result<size_t, BadMessage> FrameLength(std::span<const std::byte, kFrameHeaderBytes> header);

// Decodes one whole frame, which must be private memory, aligned to 8 bytes. Descriptors that the
// message needs are taken from the front of `descriptors`; none there is BadMessage.
Result<ClientMessage, BadMessage> DecodeClientMessage(std::span<const std::byte> frame,
                                                      std::deque<UniqueFd>& descriptors);
Result<ServiceMessage, BadMessage> DecodeServiceMessage(std::span<const std::byte> frame,
                                                        std::deque<UniqueFd>& descriptors);

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_CODEC_H_

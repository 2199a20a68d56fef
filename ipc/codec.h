// Encoding and decoding of messages: the only room that knows Cap'n Proto.
#ifndef WEBNND_IPC_CODEC_H_
#define WEBNND_IPC_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "base/limits.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ipc/frame.h"
#include "ipc/messages.h"

namespace webnnd::ipc {

// SHA-256 of the schema files: what both sides compare in Hello.
const SchemaHash& CurrentSchemaHash();

// An upper bound of what one entry of AddOperators, or of AddInputs, adds to its frame. A sender
// starts a new message where the sum would exceed kChunkBytesMax.
size_t EncodedBytesMax(const webidl::Operator& op);
size_t EncodedBytesMax(const GraphInput& input);
// What remains of a frame for such entries.
inline constexpr size_t kChunkBytesMax = limits::kFrameBytesMax - 1024;

// Takes the descriptors out of the message. Lists, names and payloads must be within
// base/limits.h, and the frame within limits::kFrameBytesMax: a defect of the sender otherwise.
// Texts of errors are cut to the limits.
Frame Encode(ClientMessage&& message);
Frame Encode(ServiceMessage&& message);

// Decodes one whole frame, which must be private memory, aligned to 8 bytes. Descriptors that the
// message needs are taken from the front of `descriptors`; none there is BadMessage.
Result<ClientMessage, BadMessage> DecodeClientMessage(std::span<const std::byte> frame,
                                                      std::deque<UniqueFd>& descriptors);
Result<ServiceMessage, BadMessage> DecodeServiceMessage(std::span<const std::byte> frame,
                                                        std::deque<UniqueFd>& descriptors);

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_CODEC_H_

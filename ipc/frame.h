// A frame: the unit of the wire. One standard Cap'n Proto stream message of one segment: u32 0
// (segments minus one), u32 words, then the segment, all little-endian. `capnp decode` reads a
// recorded stream.
#ifndef WEBNND_IPC_FRAME_H_
#define WEBNND_IPC_FRAME_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::ipc {

inline constexpr size_t kFrameHeaderBytes = 8;

// A frame to send, and the descriptors that travel with its first byte.
struct Frame {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> descriptors;
};

// Bytes of the whole frame (header included, a multiple of 8) that starts with these 8 bytes;
// BadMessage when it has more than one segment, no word at all, or more than
// limits::kFrameBytesMax.
Result<size_t, BadMessage> FrameLength(std::span<const std::byte, kFrameHeaderBytes> header);

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_FRAME_H_

#include "ipc/frame.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/limits.h"

namespace webnnd::ipc {

// Both sides run on one machine; the wire is little-endian because Cap'n Proto is.
static_assert(std::endian::native == std::endian::little);

Result<size_t, BadMessage> FrameLength(std::span<const std::byte, kFrameHeaderBytes> header) {
  uint32_t segments_minus_one = 0;
  uint32_t words = 0;
  std::memcpy(&segments_minus_one, header.data(), sizeof(segments_minus_one));
  std::memcpy(&words, header.data() + sizeof(segments_minus_one), sizeof(words));
  if (segments_minus_one != 0) {
    return MakeBadMessage("a frame has more than one segment ({})",
                          static_cast<uint64_t>(segments_minus_one) + 1);
  }
  if (words == 0) return MakeBadMessage("a frame has no words ({})", words);
  uint64_t bytes = kFrameHeaderBytes + static_cast<uint64_t>(words) * 8;
  if (bytes > limits::kFrameBytesMax) {
    return MakeBadMessage("a frame ({} bytes) is larger than the limit ({})", bytes,
                          limits::kFrameBytesMax);
  }
  return static_cast<size_t>(bytes);
}

}  // namespace webnnd::ipc

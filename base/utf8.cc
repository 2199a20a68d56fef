#include "base/utf8.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

namespace webnnd {

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    // Continuation bytes that follow, and the smallest code point that needs so many.
    size_t following = 0;
    uint32_t smallest = 0;
    uint32_t code_point = lead;
    if (lead >= 0x80) {
      if ((lead & 0xe0) == 0xc0) {
        following = 1, smallest = 0x80, code_point = lead & 0x1f;
      } else if ((lead & 0xf0) == 0xe0) {
        following = 2, smallest = 0x800, code_point = lead & 0x0f;
      } else if ((lead & 0xf8) == 0xf0) {
        following = 3, smallest = 0x10000, code_point = lead & 0x07;
      } else {
        return false;
      }
    }
    if (text.size() - i <= following) return false;
    for (size_t k = 1; k <= following; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      code_point = (code_point << 6) | (byte & 0x3f);
    }
    const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
    if (code_point < smallest || code_point > 0x10ffff || surrogate) return false;
    i += following + 1;
  }
  return true;
}

namespace {

bool IsContinuation(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

// C0, DEL, C1, and the bidirectional embeddings, overrides and isolates.
bool MayDisguise(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f) ||
         (code_point >= 0x202a && code_point <= 0x202e) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

}  // namespace

std::string_view TruncateUtf8(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && IsContinuation(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string DisplayText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = 1;
    while (length < 4 && length < text.size() && IsContinuation(text[length])) ++length;
    // The lead byte says with its low bits what its continuations leave open.
    uint32_t code_point =
        static_cast<uint8_t>(text[0]) & (length == 1 ? 0x7f : 0xff >> (length + 1));
    for (size_t i = 1; i < length; ++i) code_point = code_point << 6 | (text[i] & 0x3f);
    if (MayDisguise(code_point)) {
      out += fmt::format("\\u{:04X}", code_point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace webnnd

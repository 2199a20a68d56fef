#include "base/utf8.h"

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

}  // namespace webnnd

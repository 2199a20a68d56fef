// UTF-8: code points of hostile bytes, and a stream that gives out only whole characters.
#ifndef WEBNND_EXAMPLES_GENERATE_UTF8_H_
#define WEBNND_EXAMPLES_GENERATE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace webnnd::generate {

// Not a code point: what DecodeUtf8 gives for bytes that are not UTF-8.
inline constexpr uint32_t kInvalidCodePoint = 0xffffffff;

struct CodePoint {
  uint32_t value = kInvalidCodePoint;
  // Bytes it takes. For invalid bytes: the longest part of a character that they begin with, at
  // least 1 (Unicode: "maximal subpart").
  size_t length = 1;
  // The text ends before the character does.
  bool truncated = false;
};

// The code point that `text`, which is not empty, begins with. Overlong forms, surrogates and
// values above U+10FFFF are invalid.
CodePoint DecodeUtf8(std::string_view text);

std::string EncodeUtf8(uint32_t code_point);

// Collects bytes and gives out whole characters: tokens may split a character. Invalid bytes become
// U+FFFD.
class Utf8Stream {
 public:
  std::string Push(std::string_view bytes);
  // What is held back, as U+FFFD: at the end of the text.
  std::string Flush();

 private:
  std::string held_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_UTF8_H_

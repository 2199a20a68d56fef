// UTF-8 of untrusted text.
#ifndef WEBNND_BASE_UTF8_H_
#define WEBNND_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace webnnd {

// Whether `text` is well-formed UTF-8 as RFC 3629 has it: no overlong form, no surrogate, nothing
// beyond U+10FFFF. WebIDL's USVString is exactly what can be written so.
bool IsUtf8(std::string_view text);

// The longest start of well-formed `text` within `bytes_max` bytes that splits no character.
std::string_view TruncateUtf8(std::string_view text, size_t bytes_max);

// Well-formed `text` with control characters and changes of writing direction written out
// ("\u202E"), so that it cannot disguise the message it stands in.
std::string DisplayText(std::string_view text);

}  // namespace webnnd

#endif  // WEBNND_BASE_UTF8_H_

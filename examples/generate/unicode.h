// The classes of characters that splitting text into words needs.
#ifndef WEBNND_EXAMPLES_GENERATE_UNICODE_H_
#define WEBNND_EXAMPLES_GENERATE_UNICODE_H_

#include <cstdint>

namespace webnnd::generate {

enum class CharacterClass : uint8_t {
  kSpace,   // The property White_Space: \s of a Unicode regular expression.
  kLetter,  // General categories L*: \p{L}.
  kNumber,  // General categories N*: \p{N}.
  kOther,   // All else, and what is no code point.
};

CharacterClass ClassOf(uint32_t code_point);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_UNICODE_H_

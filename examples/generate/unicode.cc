#include "examples/generate/unicode.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace webnnd::generate {
namespace {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

#include "examples/generate/unicode_tables.inc"

constexpr CodePointRange kSpaces[] = {
    {0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

bool Contains(std::span<const CodePointRange> ranges, uint32_t code_point) {
  auto after = std::ranges::upper_bound(ranges, code_point, {}, &CodePointRange::first);
  return after != ranges.begin() && code_point <= std::prev(after)->last;
}

}  // namespace

CharacterClass ClassOf(uint32_t code_point) {
  if (Contains(kSpaces, code_point)) return CharacterClass::kSpace;
  if (Contains(kLetters, code_point)) return CharacterClass::kLetter;
  if (Contains(kNumbers, code_point)) return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

}  // namespace webnnd::generate

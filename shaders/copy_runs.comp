// copy_words.comp on llvmpipe for regions of rows that are one piece of the source, or one element of it, and
// lie anywhere: a workgroup, which is one subgroup, takes some rows. Elements have 8, 16 or 32 bits. Of those of
// less than a word, words of the result are put together from two of the source, and a row that begins within a
// word keeps what the row before it has there: workgroups begin with a whole one.
//
// Parameters: 0 rows; 1 rank of the dimensions around them; 2 first element of the source; 3 first word of the
// result; 4 elements of a row; 5 rows of a group, which begins with a word and ends with one, and 6 groups; from
// uvec4 2 on dimensions (strided.glsl, stride .x of the source). Specialisation constants: 1 log2 of the bits of
// an element, 2 rank, 3 whether a row is one element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroup.glsl"

layout(constant_id = 1) const uint kLog2Bits = 5u;
layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kIsOne = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kLog2PerWord = 5u - kLog2Bits;
const uint kPerWord = 1u << kLog2PerWord;

// First elements in the source and in the result.
uvec2 PlacesOfRow(uint row) {
  return uvec2(P(2) + StridedOffsets(row, 2u, P(1)).x, (P(3) << kLog2PerWord) + row * P(4));
}

// A word `word` of the result of which the lowest `shift` bits are another row's, which has been stored.
uint KeepLowest(uint word, uint bits, uint shift) {
  const uint lowest = (1u << shift) - 1u;
  return (RELOAD_WORD(2, word) & lowest) | (bits & ~lowest);
}

void StoreOne(uint word, uint bits) {
  if (gl_SubgroupInvocationID == 0u) STORE_WORD(2, word, bits);
}

// An element in all places of a word.
uint RepeatElement(uint element) {
  if (kLog2Bits == 5u) return LOAD_WORD(1, element);
  uint bits = LOAD_RAW(1, kLog2Bits == 4u ? kFloat16 : kUint8, element).x;
  if (kLog2Bits == 3u) bits |= bits << 8;
  return bits | bits << 16;
}

#define SAME_WORD(i, from, k) same
void RepeatRow(uint source, uint result) {
  const uint same = RepeatElement(source);
  const uint first = result >> kLog2PerWord;
  const uint words = ((result + P(4) - 1u) >> kLog2PerWord) + 1u - first;
  if (kPerWord == 1u) {
    STRETCHES_LOOP(2, first, 0u, words, SAME_WORD)
    return;
  }
  StoreOne(first, KeepLowest(first, same, (result & (kPerWord - 1u)) << kLog2Bits));
  STRETCHES_LOOP(2, first + 1u, 0u, words - 1u, SAME_WORD)
}

#define OWN_WORD(i, from, k) LOAD_WORD(1, (from) + PlaceInStretch(k))
#define JOINED_WORD(i, from, k) \
  JoinWords(LOAD_WORD(1, (from) + PlaceInStretch(k)), LOAD_WORD(1, (from) + (PlaceInStretch(k) + 1u)), shift)
void CopyRow(uint source, uint result) {
  if (kPerWord == 1u) {
    STRETCHES_LOOP(2, result, source, P(4), OWN_WORD)
    return;
  }
  const uint first = result >> kLog2PerWord;
  const uint words = ((result + P(4) - 1u) >> kLog2PerWord) + 1u - first;
  // Where the first word would begin in the source: maybe before it.
  const uint within = result & (kPerWord - 1u);
  const uint begin = (source + kPerWord - within) >> kLog2PerWord;  // One more.
  const uint shift = ((source - within) & (kPerWord - 1u)) << kLog2Bits;
  const uint last = (source + P(4) - 1u) >> kLog2PerWord;
  const uint first_bits =
      JoinWords(LOAD_WORD(1, max(begin, 1u) - 1u), LOAD_WORD(1, min(begin, last)), shift);
  StoreOne(first, KeepLowest(first, first_bits, within << kLog2Bits));
  if (words > 2u) STRETCHES_LOOP(2, first + 1u, begin, words - 2u, JOINED_WORD)
  const uint end = begin + words - 2u;
  const uint last_bits = JoinWords(LOAD_WORD(1, min(end, last)), LOAD_WORD(1, min(end + 1u, last)), shift);
  if (words > 1u) StoreOne(first + words - 1u, last_bits);
}

void main() {
  const uint begin = StartOfWorkgroup(gl_WorkGroupID.x, P(6)) * P(5);
  const uint end = min(StartOfWorkgroup(gl_WorkGroupID.x + 1u, P(6)) * P(5), P(0));
  if (kIsOne != 0u) {
    PLACED_UNITS_BETWEEN(begin, end, PlacesOfRow, RepeatRow)
  } else {
    PLACED_UNITS_BETWEEN(begin, end, PlacesOfRow, CopyRow)
  }
}

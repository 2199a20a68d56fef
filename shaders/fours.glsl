// Four neighbouring elements at once: one load of 128 bits, of 64 for float16, or of 32 for bytes.
#ifndef WEBNND_SHADERS_FOURS_GLSL_
#define WEBNND_SHADERS_FOURS_GLSL_

#include "tensor.glsl"

// LoadFourRaw<slot>(type, i): the bits of elements 4 * i to 4 * i + 3, of 8 to 32 bits, of a slot declared by READ_SLOT
// and READ_SLOT_WIDE.
#define DECLARE_LOAD_FOUR_RAW(slot)                                                               \
  uvec4 LoadFourRaw##slot(uint type, uint i) {                                                    \
    if (BitsLog2(type) == 3u) return uvec4(LOAD_WORD(slot, i)) >> uvec4(0u, 8u, 16u, 24u) & 0xffu; \
    if (BitsLog2(type) == 4u) {                                                                   \
      const uvec2 pair = LOAD_PAIR(slot, i);                                                      \
      return pair.xxyy >> uvec4(0u, 16u, 0u, 16u) & 0xffffu;                                      \
    }                                                                                             \
    return LOAD_QUAD(slot, i);                                                                    \
  }

// The other way round, of 16 and 32 bits.
#define STORE_FOUR_RAW(slot, type, i, raw)                                                        \
  {                                                                                               \
    if (BitsLog2(type) == 4u) {                                                                   \
      const uvec4 halves_ = (raw) & 0xffffu;                                                      \
      STORE_PAIR(slot, i, (halves_.xz | halves_.yw << 16u));                                      \
    } else {                                                                                      \
      STORE_QUAD(slot, i, raw)                                                                    \
    }                                                                                             \
  }

// LoadFours<slot>(type, i): elements 4 * i to 4 * i + 3 of a slot of floats.
#define DECLARE_LOAD_FOURS(slot)                                           \
  vec4 LoadFours##slot(uint type, uint i) {                                \
    if (type == kFloat16) {                                                \
      uvec2 pair = LOAD_PAIR(slot, i);                                     \
      return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));         \
    }                                                                      \
    return uintBitsToFloat(LOAD_QUAD(slot, i));                            \
  }

// LoadFoursInside<slot>(type, i): the same, or zeros from kNowhere on, which is more fours than a tensor
// has.
const uint kNowhere = 0x20000000u;
#define DECLARE_LOAD_FOURS_INSIDE(slot)                       \
  vec4 LoadFoursInside##slot(uint type, uint i) {             \
    const bool inside = i < kNowhere;                         \
    const vec4 four = LoadFours##slot(type, inside ? i : 0u); \
    return mix(vec4(0.0), four, bvec4(inside));               \
  }

// Four float16 as two words.
uvec2 PackHalves(vec4 x) {
  return uvec2(FloatToHalf(x.x) | (FloatToHalf(x.y) << 16),
               FloatToHalf(x.z) | (FloatToHalf(x.w) << 16));
}

#define STORE_FOURS(slot, type, i, x)                                      \
  {                                                                        \
    if ((type) == kFloat16) {                                              \
      slot_pairs_##slot.pairs[i] = packUint2x32(PackHalves(x));            \
    } else {                                                               \
      STORE_QUAD(slot, i, floatBitsToUint(x))                              \
    }                                                                      \
  }

// A turn of a row is as many fours as a workgroup has invocations, all inside. LoadTurn<slot>(type, i) loads four
// elements of the turn in which this invocation has the i-th four, and STORE_TURN stores as many in the same
// places: on llvmpipe, where a workgroup is one subgroup, not four neighbours, but a word of each of the
// four vectors that the turn is, or of two where words are halves. Vectors are loaded and stored as they lie, and fours are shuffled on the way.
#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"
bool AreTurnsByWords(uint type) { return IsWorkgroupOneSubgroup(); }
uint WordsOfFour(uint type) { return type == kFloat16 ? 2u : 4u; }
#define FIRST_WORD_OF_TURN(type, i) UNIFORM(WordsOfFour(type) * ((i) - gl_SubgroupInvocationID))
#define LOAD_TURN_BY_WORDS(slot, type, i)                              \
  const uint from = FIRST_WORD_OF_TURN(type, i);                       \
  uint words[4];                                                       \
  [[unroll]] for (uint k = 0u; k < WordsOfFour(type); ++k) {           \
    words[k] = LOAD_WORD(slot, from + PlaceInStretch(k));              \
  }                                                                    \
  if (type == kFloat16) return vec4(unpackHalf2x16(words[0]), unpackHalf2x16(words[1])); \
  return uintBitsToFloat(uvec4(words[0], words[1], words[2], words[3]));
#define STORE_TURN_BY_WORDS(slot, type, i, x)                             \
  const uint to_ = FIRST_WORD_OF_TURN(type, i);                           \
  const uvec4 words_ =                                                    \
      (type) == kFloat16 ? uvec4(PackHalves(x), 0u, 0u) : floatBitsToUint(x); \
  [[unroll]] for (uint k_ = 0u; k_ < WordsOfFour(type); ++k_) {           \
    STORE_WORD(slot, to_ + PlaceInStretch(k_), words_[k_]);               \
  }
#else
bool AreTurnsByWords(uint type) { return false; }
#define LOAD_TURN_BY_WORDS(slot, type, i)
#define STORE_TURN_BY_WORDS(slot, type, i, x)
#endif
#define DECLARE_LOAD_TURN(slot)                                            \
  vec4 LoadTurn##slot(uint type, uint i) {                                 \
    if (AreTurnsByWords(type)) {                                           \
      LOAD_TURN_BY_WORDS(slot, type, i)                                    \
    }                                                                      \
    return LoadFours##slot(type, i);                                       \
  }
#define STORE_TURN(slot, type, i, x)                                       \
  {                                                                        \
    if (AreTurnsByWords(type)) {                                           \
      STORE_TURN_BY_WORDS(slot, type, i, x)                                \
    } else {                                                               \
      STORE_FOURS(slot, type, i, x)                                        \
    }                                                                      \
  }

float SumOfFour(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
float MaxOfFour(vec4 x) { return max(max(x.x, x.y), max(x.z, x.w)); }

// BODY(i) for i = first, first + step, ... below `end`: kFoursAtOnce of them an iteration, without
// the masks that LONG_LOOP needs, then the rest.
const uint kFoursAtOnce = 4u;
#define FOURS_LOOP(first, end, step, BODY)                                                        \
  {                                                                                               \
    uint i_ = (first);                                                                            \
    for (; i_ + (kFoursAtOnce - 1u) * (step) < (end); i_ += kFoursAtOnce * (step)) {              \
      [[unroll]] for (uint turn_ = 0u; turn_ < kFoursAtOnce; ++turn_) BODY(i_ + turn_ * (step))   \
    }                                                                                             \
    for (; i_ < (end); i_ += (step)) BODY(i_)                                                     \
  }

// Sets run[0] to run[length - 1] to neighbours that begin anywhere in memory. FOUR(q) loads the q-th of
// the fours that hold them; the first of them is element `place` of FOUR(0), of which the lowest two
// bits count. `length` may be a specialisation constant, and is at most `length_max`, which is none.
#define LOAD_RUN(run, length, length_max, place, FOUR)                                            \
  {                                                                                               \
    float loaded_[4u * (((length_max) + 6u) / 4u)];                                               \
    [[unroll]] for (uint q_ = 0u; q_ < ((length_max) + 6u) / 4u; ++q_) {                          \
      if (q_ >= ((length) + 6u) / 4u) break;                                                      \
      const vec4 four_ = FOUR(q_);                                                                \
      [[unroll]] for (uint i_ = 0u; i_ < 4u; ++i_) loaded_[4u * q_ + i_] = four_[i_];             \
    }                                                                                             \
    const bool by_two_ = (uint(place) & 2u) != 0u;                                                \
    const bool by_one_ = (uint(place) & 1u) != 0u;                                                \
    float moved_[(length_max) + 1u];                                                              \
    [[unroll]] for (uint i_ = 0u; i_ <= (length_max); ++i_) {                                     \
      if (i_ > (length)) break;                                                                   \
      const float far_ = loaded_[i_ + 2u];                                                        \
      const float near_ = loaded_[i_];                                                            \
      moved_[i_] = by_two_ ? far_ : near_;                                                        \
    }                                                                                             \
    [[unroll]] for (uint i_ = 0u; i_ < (length_max); ++i_) {                                      \
      if (i_ >= (length)) break;                                                                  \
      const float far_ = moved_[i_ + 1u];                                                         \
      const float near_ = moved_[i_];                                                             \
      run[i_] = by_one_ ? far_ : near_;                                                           \
    }                                                                                             \
  }

#endif  // WEBNND_SHADERS_FOURS_GLSL_

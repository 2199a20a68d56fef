// How every shader reads and writes tensors: nothing else in this folder declares a buffer.
//
// Conventions of every kernel here:
//  - set 0, binding 0 holds the parameters; "slots" 1 to 16 are the tensors, as words, pairs, halves and bytes.
//  - Specialisation constant 0 is the local size; 1 and up belong to the family.
//  - All parameters zero means no work and no access to any tensor (pipelines are warmed so).
//  - Any number of workgroups gives the same result: kernels loop with the grid's stride.
//  - Elements of 4 bits are written by the invocation that owns their word, or merged into it.
#ifndef WEBNND_SHADERS_TENSOR_GLSL_
#define WEBNND_SHADERS_TENSOR_GLSL_

#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_control_flow_attributes : require

// Compute classes (-DCOMPUTE=...): the type in which a module calculates.
#define COMPUTE_NONE 0    // Moves raw bits only.
#define COMPUTE_FLOAT 1   // float32, float16
#define COMPUTE_INT 2     // int32, int8, uint8, int4, uint4
#define COMPUTE_UINT 3    // uint32
#define COMPUTE_INT64 4   // int64
#define COMPUTE_UINT64 5  // uint64

#ifndef COMPUTE
#define COMPUTE COMPUTE_NONE
#endif

#define DATA_TYPE(name, value) const uint k##name = value;
#include "data_types.inc"
#undef DATA_TYPE

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0, std140) uniform Parameters { uvec4 words[64]; } parameters_;

// Word i of the parameters, and words 4 * i to 4 * i + 3.
#define P(i) (parameters_.words[uint(i) >> 2][uint(i) & 3u])
#define P4(i) (parameters_.words[i])

// The loop over `count` units of work that all invocations of the grid share. Each workgroup takes
// one stretch of them, and its invocations neighbours, so that caches see streams.
#define GRID_STRIDE_LOOP(i, count)                                                         \
  for (uint i##Stretch = StretchOfWorkgroup(count),                                        \
            i##End = min((gl_WorkGroupID.x + 1u) * i##Stretch, count),                     \
            i = gl_WorkGroupID.x * i##Stretch + gl_LocalInvocationID.x;                    \
       i < i##End; i += gl_WorkGroupSize.x)
uint StretchOfWorkgroup(uint count) {
  uint turns = (count + gl_WorkGroupSize.x * gl_NumWorkGroups.x - 1u) /
               (gl_WorkGroupSize.x * gl_NumWorkGroups.x);
  return turns * gl_WorkGroupSize.x;
}
// The same where a workgroup shares one unit of work: rows that follow each other, which a processor
// sees coming.
#define WORKGROUP_STRIDE_LOOP(row, count)                                                   \
  for (uint row = StartOfWorkgroup(gl_WorkGroupID.x, count),                                \
            row##End = StartOfWorkgroup(gl_WorkGroupID.x + 1u, count);                      \
       row < row##End; ++row)
// Stretches differ by one unit at most.
uint StartOfWorkgroup(uint workgroup, uint count) {
  uint each = count / gl_NumWorkGroups.x;
  return workgroup * each + min(workgroup, count - each * gl_NumWorkGroups.x);
}

// Of fours that lie beside each other, of which each invocation takes `fours`: the first one of
// invocation `i`. The others are `apart`, a power of two, from each other, so that neighbours have
// those between: on llvmpipe, what lanes load from behind each other is loaded as vectors.
uint FirstOfFours(uint i, uint fours, uint apart) {
  return i / apart * (apart * fours) + i % apart;
}

// Where a loop begins whose end parameters alone decide, so that drivers do not compile it anew for
// each of its lengths: grids have one dimension.
#define UNKNOWN_ZERO gl_WorkGroupID.y

// for (i = first; i < end; i += step) for loops that may be long: lavapipe leaves a loop after 65535
// iterations, counted over all loops of an invocation, and those unrolled here count as one.
#define LONG_LOOP_UNROLL 8u  // kLongLoopUnroll of service/passes/kernel_parameters.h.
#define LONG_LOOP(i, first, end, step)                                                            \
  for (uint i##_block = (first); i##_block < (end); i##_block += LONG_LOOP_UNROLL * (step))       \
    [[unroll]] for (uint i##_turn = 0u, i = i##_block; i##_turn < LONG_LOOP_UNROLL;               \
                    ++i##_turn, i += (step)) if (i < (end))

// log2 of the bits of an element.
uint BitsLog2(uint type) {
  if (type == kInt64 || type == kUint64) return 6u;
  if (type == kFloat16) return 4u;
  if (type == kInt8 || type == kUint8) return 3u;
  if (type == kInt4 || type == kUint4) return 2u;
  return 5u;
}

uint WordsOf(uint type, uint count) {
  const uint log2_bits = BitsLog2(type);
  if (log2_bits >= 5u) return count << (log2_bits - 5u);
  return (count + (32u >> log2_bits) - 1u) >> (5u - log2_bits);
}

// How quads of operands are read (-DTENSOR_READS=...). Each module is built in both forms; the device
// says which is used (DeviceProfile of service/vulkan/adapter.h).
#define READS_STORAGE 0  // Storage buffers at bindings 1 to 16, as all else.
#define READS_TEXELS 1   // Texel buffers of RGBA32_UINT at bindings 17 to 32.

// Invocations of a workgroup where quads are read from storage buffers (kGpuLocalSize of
// service/vulkan/adapter.cc).
#if TENSOR_READS == READS_STORAGE
const uint kInvocationsOfGpus = 128u;
#endif

// Declares slot `slot` (a literal) as a read-only operand. LOAD_WORD reads its words, LOAD_PAIR words
// 2 * i and on, LOAD_HALF and LOAD_BYTE parts of them, and LOAD_RAW(slot, type, i) the bits of element
// i: in .x, for 64-bit types with the high word in .y.
#define READ_SLOT(slot)                                                                         \
  layout(set = 0, binding = slot, std430) readonly buffer Slot##slot { uint words[]; }          \
  slot_##slot;                                                                                  \
  layout(set = 0, binding = slot, std430) readonly buffer Pairs##slot { uint64_t pairs[]; }     \
  pairs_##slot;                                                                                 \
  layout(set = 0, binding = slot, std430) readonly buffer Halves##slot { uint16_t halves[]; }   \
  halves_##slot;                                                                                \
  layout(set = 0, binding = slot, std430) readonly buffer Bytes##slot { uint8_t bytes[]; }      \
  bytes_##slot;                                                                                 \
  uvec2 LoadRaw##slot(uint type, uint i) {                                                      \
    uint log2_bits = BitsLog2(type);                                                            \
    if (log2_bits == 6u) return LOAD_PAIR(slot, i);                                             \
    if (log2_bits == 5u) return uvec2(LOAD_WORD(slot, i), 0u);                                  \
    if (log2_bits == 4u) return uvec2(LOAD_HALF(slot, i), 0u);                                  \
    uint byte = LOAD_BYTE(slot, i >> (3u - log2_bits));                                         \
    if (log2_bits == 3u) return uvec2(byte, 0u);                                                \
    return uvec2(bitfieldExtract(byte, int((i << log2_bits) & 7u), int(1u << log2_bits)), 0u);  \
  }
#define LOAD_WORD(slot, i) (slot_##slot.words[i])
#define LOAD_PAIR(slot, i) unpackUint2x32(pairs_##slot.pairs[i])
#define LOAD_HALF(slot, i) uint(halves_##slot.halves[i])
#define LOAD_BYTE(slot, i) uint(bytes_##slot.bytes[i])
#define LOAD_RAW(slot, type, i) LoadRaw##slot(type, i)

// READ_SLOT_WIDE declares a slot, which is read-only already, for loads of quads: LOAD_QUAD gives words
// 4 * i to 4 * i + 3; those of the last one, and of the last pair, that are beyond the tensor hold
// anything.
#if TENSOR_READS == READS_TEXELS

#define READ_SLOT_WIDE(slot) \
  layout(set = 0, binding = 16 + slot) uniform usamplerBuffer texels_##slot;
#define LOAD_QUAD(slot, i) texelFetch(texels_##slot, int(i))

#else

// Drivers that check each load for itself do half as much by 64 bits.
#define READ_SLOT_WIDE(slot)                                                               \
  layout(set = 0, binding = slot, std430) readonly buffer Quads##slot { u64vec2 quads[]; } \
  quads_##slot;                                                                            \
  uvec4 LoadQuad##slot(uint i) {                                                           \
    u64vec2 quad = quads_##slot.quads[i];                                                  \
    return uvec4(unpackUint2x32(quad.x), unpackUint2x32(quad.y));                          \
  }
#define LOAD_QUAD(slot, i) LoadQuad##slot(i)

#endif

// Declares slot `slot` as a result. It may share memory with a read-only slot where the kernel
// reads nothing that another invocation writes.
#define WRITE_SLOT(slot)                                                                 \
  layout(set = 0, binding = slot, std430) buffer Slot##slot { uint words[]; }            \
  slot_##slot;                                                                           \
  layout(set = 0, binding = slot, std430) buffer SlotPairs##slot { uint64_t pairs[]; }   \
  slot_pairs_##slot;                                                                     \
  layout(set = 0, binding = slot, std430) buffer SlotQuads##slot { uvec4 quads[]; }      \
  slot_quads_##slot;                                                                     \
  layout(set = 0, binding = slot, std430) buffer SlotHalves##slot { uint16_t halves[]; } \
  slot_halves_##slot;                                                                    \
  layout(set = 0, binding = slot, std430) buffer SlotBytes##slot { uint8_t bytes[]; }    \
  slot_bytes_##slot;
#define STORE_WORD(slot, index, value) slot_##slot.words[index] = (value)
// Writes words 2 * i and 2 * i + 1.
#define STORE_PAIR(slot, i, pair) slot_pairs_##slot.pairs[i] = packUint2x32(pair)
// Writes words 4 * i to 4 * i + 3.
#define STORE_QUAD(slot, i, quad) slot_quads_##slot.quads[i] = (quad);
// The same, but only the words before `end`. Drivers that run both sides of a branch skip loops.
#define STORE_QUAD_BEFORE(slot, i, end, quad)                                \
  {                                                                          \
    const bool whole_ = 4u * (i) + 4u <= (end);                              \
    if (whole_) STORE_QUAD(slot, i, quad)                                    \
    for (uint word_ = whole_ ? (end) : 4u * (i); word_ < (end); ++word_) {   \
      STORE_WORD(slot, word_, (quad)[word_ & 3u]);                           \
    }                                                                        \
  }
// Declares slot `slot` as memory in which workgroups leave something for each other.
#define EXCHANGE_SLOT(slot)                                                                  \
  layout(set = 0, binding = slot, std430) coherent buffer Slot##slot { uint words[]; }       \
  slot_##slot;                                                                               \
  layout(set = 0, binding = slot, std430) coherent buffer SlotQuads##slot { uvec4 quads[]; } \
  slot_quads_##slot;
// Reads back a word of a result, or a quad.
#define RELOAD_WORD(slot, index) (slot_##slot.words[index])
#define RELOAD_QUAD(slot, i) (slot_quads_##slot.quads[i])
// Replaces the bits of `mask`; others may replace other bits of the same word at the same time.
#define MERGE_WORD(slot, index, mask, value)               \
  {                                                        \
    atomicAnd(slot_##slot.words[index], ~(mask));          \
    atomicOr(slot_##slot.words[index], (value) & (mask));  \
  }

// Element i becomes `raw` (uvec2), as LOAD_RAW gives it; bits above the element's width count no more. Others
// may write its neighbours at the same time.
#define STORE_ELEMENT(slot, type, i, raw)                                                       \
  {                                                                                             \
    const uint log2_bits_ = BitsLog2(type);                                                     \
    if (log2_bits_ == 6u) {                                                                     \
      STORE_PAIR(slot, i, raw);                                                                 \
    } else if (log2_bits_ == 5u) {                                                              \
      STORE_WORD(slot, i, (raw).x);                                                             \
    } else if (log2_bits_ == 4u) {                                                              \
      slot_halves_##slot.halves[i] = uint16_t((raw).x);                                         \
    } else if (log2_bits_ == 3u) {                                                              \
      slot_bytes_##slot.bytes[i] = uint8_t((raw).x);                                            \
    } else {                                                                                    \
      const uint shift_ = ((i) << log2_bits_) & 31u;                                            \
      const uint mask_ = ((1u << (1u << log2_bits_)) - 1u) << shift_;                           \
      MERGE_WORD(slot, (i) >> (5u - log2_bits_), mask_, (raw).x << shift_);                     \
    }                                                                                           \
  }

// These say what the word was before.
#define ATOMIC_ADD_WORD(slot, index, value) atomicAdd(slot_##slot.words[index], value)
#define ATOMIC_MAX_WORD(slot, index, value) atomicMax(slot_##slot.words[index], value)

// NaN by its bits: compilers may assume that x != x never holds.
bool IsNanBits(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
bool IsNan(float x) { return IsNanBits(floatBitsToUint(x)); }
bool IsInfinite(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
const uint kNanBits = 0x7fc00000u;
#define NAN uintBitsToFloat(kNanBits)
#define INFINITY uintBitsToFloat(0x7f800000u)

float HalfToFloat(uint bits) { return unpackHalf2x16(bits & 0xffffu).x; }

// Rounds to nearest even. Not packHalf2x16: Vulkan lets it round either way. Change an operation, and
// base/drivers_llvm/half_roundings.cc, which makes one instruction of them, has to follow.
uint FloatToHalf(float x) {
  const uint bits = floatBitsToUint(x);
  const uint magnitude = bits & 0x7fffffffu;
  const uint normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  // An addition rounds at bit 0.
  const uint subnormal = floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - 0x3f000000u;
  const uint finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint infinite = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint result = magnitude >= 0x47800000u ? infinite : finite;  // From 65536 on.
  return ((bits >> 16) & 0x8000u) | result;
}

// Division by a number that the host knows: {divisor, multiplier, shift}, made by MakeDivisor of
// service/passes/kernel_parameters.h. Right for n < 2^31.
uint Divide(uint n, uvec3 divisor) {
  uint high, low;
  umulExtended(n, divisor.y, high, low);
  return (high + n) >> divisor.z;
}

#if COMPUTE == COMPUTE_FLOAT
#define VALUE float
#elif COMPUTE == COMPUTE_INT
#define VALUE int
#elif COMPUTE == COMPUTE_UINT
#define VALUE uint
#elif COMPUTE == COMPUTE_INT64
#define VALUE int64_t
#elif COMPUTE == COMPUTE_UINT64
#define VALUE uint64_t
#endif

#if COMPUTE != COMPUTE_NONE
// The value of an element from its raw bits, and back. Decode and Encode fold to a conversion or
// two, because `type` is a specialisation constant.
VALUE Decode(uvec2 raw, uint type) {
#if COMPUTE == COMPUTE_FLOAT
  return type == kFloat16 ? HalfToFloat(raw.x) : uintBitsToFloat(raw.x);
#elif COMPUTE == COMPUTE_INT
  if (type == kInt8 || type == kInt4) return bitfieldExtract(int(raw.x), 0, type == kInt8 ? 8 : 4);
  return int(raw.x);
#elif COMPUTE == COMPUTE_UINT
  return raw.x;
#elif COMPUTE == COMPUTE_INT64
  return int64_t(packUint2x32(raw));
#else
  return packUint2x32(raw);
#endif
}

// Bits above the element's width may be set: who packs masks.
uvec2 Encode(VALUE value, uint type) {
#if COMPUTE == COMPUTE_FLOAT
  return uvec2(type == kFloat16 ? FloatToHalf(value) : floatBitsToUint(value), 0u);
#elif COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
  return uvec2(uint(value), 0u);
#else
  return unpackUint2x32(uint64_t(value));
#endif
}
#define LOAD(slot, type, i) Decode(LOAD_RAW(slot, type, i), type)
#endif

// Writes elements 0 to count - 1 of a packed result, an invocation each: COMPUTE_ELEMENT(e) gives the
// raw bits (uvec2) of element e. Of 4 bits, an invocation per word.
#define STORE_ELEMENTS(slot, type, count, COMPUTE_ELEMENT)                                      \
  {                                                                                             \
    const uint count_ = (count);                                                                \
    if (BitsLog2(type) == 2u) {                                                                 \
      GRID_STRIDE_LOOP(word_, WordsOf(type, count_)) {                                          \
        uint bits_ = 0u;                                                                        \
        for (uint k_ = 0u; k_ < 8u; ++k_) {                                                     \
          const uint element_ = 8u * word_ + k_;                                                \
          if (element_ < count_) {                                                              \
            bits_ = bitfieldInsert(bits_, COMPUTE_ELEMENT(element_).x, int(4u * k_), 4);        \
          }                                                                                     \
        }                                                                                       \
        STORE_WORD(slot, word_, bits_);                                                         \
      }                                                                                         \
    } else {                                                                                    \
      GRID_STRIDE_LOOP(element_, count_) {                                                      \
        const uvec2 raw_ = COMPUTE_ELEMENT(element_);                                           \
        STORE_ELEMENT(slot, type, element_, raw_)                                               \
      }                                                                                         \
    }                                                                                           \
  }

// Element k of a quad of elements of `type`, as LOAD_RAW gives it.
uvec2 ElementOfQuad(uvec4 quad, uint type, uint k) {
  const uint log2_bits = BitsLog2(type);
  if (log2_bits == 6u) return k == 0u ? quad.xy : quad.zw;
  if (log2_bits == 5u) return uvec2(quad[k], 0u);
  uint word = quad[k >> (5u - log2_bits)];
  return uvec2(bitfieldExtract(word, int((k << log2_bits) & 31u), 1 << log2_bits), 0u);
}

// Of elements that begin at `first`, which begins a quad, and end with `last`: element k, or any
// where there is none. Where k is constant, those of one quad load it once.
#define ELEMENT_OF_QUADS(slot, type, first, last, k)                                           \
  ElementOfQuad(LOAD_QUAD(slot, min((first) + ((k) >> Log2PerQuad(type) << Log2PerQuad(type)), \
                                    last) >> Log2PerQuad(type)),                               \
                type, (k) & ((1u << Log2PerQuad(type)) - 1u))

// The 2^log2_parts-th part of a quad, from its lowest bit on; what is above it counts no more.
uvec4 PartOfQuad(uvec4 quad, uint log2_parts, uint part) {
  if (log2_parts > 0u) quad.xy = ((part >> (log2_parts - 1u)) & 1u) != 0u ? quad.zw : quad.xy;
  if (log2_parts > 1u) quad.x = ((part >> (log2_parts - 2u)) & 1u) != 0u ? quad.y : quad.x;
  if (log2_parts > 2u) quad.x >>= ((part >> (log2_parts - 3u)) & 1u) << 4;
  if (log2_parts > 3u) quad.x >>= (part & 1u) << 3;
  return quad;
}

// For results of `result_type` whose operand, of `type`, has as many elements, in the same order:
// what the elements of the result's quad from `first` on have in common, and element k of them, of
// `count` in all. Where the operand is wider, k must be constant for loads to be shared.
#define PREPARE_ELEMENTS(slot, type, result_type, first)           \
  (BitsLog2(type) > BitsLog2(result_type)                          \
       ? uvec4(0u)                                                 \
       : PartOfQuad(LOAD_QUAD(slot, (first) >> Log2PerQuad(type)), \
                    BitsLog2(result_type) - BitsLog2(type), (first) >> Log2PerQuad(result_type)))
#define PREPARED_ELEMENT(slot, type, result_type, prepared, first, count, k) \
  (BitsLog2(type) > BitsLog2(result_type)                                    \
       ? ELEMENT_OF_QUADS(slot, type, first, (count) - 1u, k)                \
       : ElementOfQuad(prepared, type, k))

// Puts element k, which is 0 so far, into a quad.
void InsertElement(inout uvec4 quad, uint type, uint k, uvec2 raw) {
  const uint log2_bits = BitsLog2(type);
  if (log2_bits == 6u) {
    if (k == 0u) {
      quad.xy = raw;
    } else {
      quad.zw = raw;
    }
  } else if (log2_bits == 5u) {
    quad[k] = raw.x;
  } else {
    uint mask = (1u << (1u << log2_bits)) - 1u;
    quad[k >> (5u - log2_bits)] |= (raw.x & mask) << ((k << log2_bits) & 31u);
  }
}

// log2 of the elements of a quad.
uint Log2PerQuad(uint type) { return 7u - BitsLog2(type); }

// Of elements of at most 32 bits: the word that element e begins in, and at which of its bits.
uint WordOf(uint type, uint e) { return e >> (5u - BitsLog2(type)); }
uint ShiftInWord(uint type, uint e) { return (e << BitsLog2(type)) & 31u; }

// The word that begins `shift` bits into `low`, and ends in `high`.
uint JoinWords(uint low, uint high, uint shift) { return low >> shift | (high << 1) << (31u - shift); }

// Sets `quad` (uvec4) to the elements of `type` from `first` on, of `count` in all:
// COMPUTE_ELEMENT(state, e, k) gives the raw bits (uvec2) of element e, which is first + k or the last
// one where there are no more. Loops over few elements unroll, over many only where ATTRIBUTE, of
// COMPUTE_QUAD_IN_LOOP, says so.
#define COMPUTE_QUAD(quad, type, first, count, state, COMPUTE_ELEMENT) \
  COMPUTE_QUAD_IN_LOOP(, quad, type, first, count, state, COMPUTE_ELEMENT)
#define COMPUTE_QUAD_IN_LOOP(ATTRIBUTE, quad, type, first, count, state, COMPUTE_ELEMENT) \
  {                                                                                       \
    quad = uvec4(0u);                                                                     \
    ATTRIBUTE for (uint k_ = 0u; k_ < (1u << Log2PerQuad(type)); ++k_) {                  \
      uvec2 raw_ = COMPUTE_ELEMENT(state, min((first) + k_, (count) - 1u), k_);           \
      if (BitsLog2(type) < 5u && (first) + k_ >= (count)) raw_.x = 0u;                    \
      InsertElement(quad, type, k_, raw_);                                                \
    }                                                                                     \
  }

// PREPARE where elements have nothing in common.
uint PrepareNothing(uint first) { return 0u; }

// Writes elements 0 to count - 1 of a packed result, an invocation per quad. PREPARE(first)
// gives what the elements of the quad that begins with `first` have in common, a `State`.
#define STORE_QUADS(slot, type, count, State, PREPARE, COMPUTE_ELEMENT) \
  STORE_QUADS_IN_LOOP(, slot, type, count, State, PREPARE, COMPUTE_ELEMENT)
#define STORE_QUADS_IN_LOOP(ATTRIBUTE, slot, type, count, State, PREPARE, COMPUTE_ELEMENT)  \
  {                                                                                         \
    const uint count_ = (count);                                                            \
    const uint words_ = WordsOf(type, count_);                                              \
    GRID_STRIDE_LOOP(quad_, (words_ + 3u) >> 2) {                                           \
      const uint first_ = quad_ << Log2PerQuad(type);                                       \
      State state_ = PREPARE(first_);                                                       \
      uvec4 bits_;                                                                          \
      COMPUTE_QUAD_IN_LOOP(ATTRIBUTE, bits_, type, first_, count_, state_, COMPUTE_ELEMENT) \
      STORE_QUAD_BEFORE(slot, quad_, words_, bits_)                                         \
    }                                                                                       \
  }

// Whether an operand's quads are words of the result, or two of them are.
bool AreWordsOfQuads(uint operand_type, uint result_type) {
  return BitsLog2(operand_type) >= 5u && BitsLog2(result_type) == 3u;
}
// As STORE_QUADS where AreWordsOfQuads: an invocation per word, so that neighbours load what lies beside each
// other.
#define STORE_WORDS_OF_QUADS(slot, type, count, State, PREPARE, COMPUTE_ELEMENT)            \
  {                                                                                         \
    const uint count_ = (count);                                                            \
    GRID_STRIDE_LOOP(word_, WordsOf(type, count_)) {                                        \
      const uint first_ = 4u * word_;                                                       \
      const State state_ = PREPARE(first_);                                                 \
      uvec4 bits_ = uvec4(0u);                                                              \
      [[unroll]] for (uint k_ = 0u; k_ < 4u; ++k_) {                                        \
        uvec2 raw_ = COMPUTE_ELEMENT(state_, min(first_ + k_, count_ - 1u), k_);            \
        if (first_ + k_ >= count_) raw_.x = 0u;                                             \
        InsertElement(bits_, type, k_, raw_);                                               \
      }                                                                                     \
      STORE_WORD(slot, word_, bits_.x);                                                     \
    }                                                                                       \
  }

#endif  // WEBNND_SHADERS_TENSOR_GLSL_

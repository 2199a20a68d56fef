// slot 1 with a border -> slot 2, both packed.
//
// Parameters: 0 elements of the result; 1 rank; 2, 3 raw bits of the constant; from 4 per dimension,
// outermost first, {size of the result, multiplier, shift, elements before} and {size, stride of slot
// 1, 0, 0}; the first 0 of the first dimension is the last quad of slot 1 instead. Specialisation
// constants: 1 data type, 2 mode: MLPaddingMode (0 constant, 1 edge, 2 reflection, 3 symmetric: as
// reflection, with the edge repeated), 3 rank (0: parameter 1), 4 whether quads lie in rows
// (strided.glsl), 5 whether workgroups take whole rows, of 32-bit elements, which are quads or go by words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kMode = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;
layout(constant_id = 5) const uint kByRows = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// What the dimensions walked so far say of an element.
struct Walk {
  uint rest;    // Index over the dimensions that are left.
  uint source;  // Offset in slot 1.
  bool inside;
};

// Adds dimension d, along which the element is number `index` of the result.
void StepTo(uint d, uint index, inout Walk walk) {
  uvec4 operand = P4(2u * d + 2u);
  int position = int(index) - int(P4(2u * d + 1u).w);
  int last = int(operand.x) - 1;
  if (kMode == 0u) {
    walk.inside = walk.inside && position >= 0 && position <= last;
  } else if (kMode == 2u) {
    position = abs(position);
    position = position > last ? 2 * last - position : position;
  } else if (kMode == 3u) {
    position = position < 0 ? -1 - position : position;
    position = position > last ? 2 * last + 1 - position : position;
  }
  walk.source += uint(clamp(position, 0, last)) * operand.y;
}

void Step(uint d, inout Walk walk) {
  uvec3 result = P4(2u * d + 1u).xyz;
  uint outer = Divide(walk.rest, result);
  uint index = walk.rest - outer * result.x;
  walk.rest = outer;
  StepTo(d, index, walk);
}

// Adds dimensions `end` - 1 down to 0.
void StepAll(uint end, inout Walk walk) {
  if (kRank == 0u) {
    for (uint d = end; d > 0u; --d) Step(d - 1u, walk);
  } else {
    if (end > 3u) Step(3u, walk);
    if (end > 2u) Step(2u, walk);
    if (end > 1u) Step(1u, walk);
    if (end > 0u) Step(0u, walk);
  }
}

uint Rank() { return kRank == 0u ? P(1) : kRank; }

// Whether a quad within a border of constants is four words of slot 1, or what is left of them.
bool TakesWords() { return kMode == 0u && kInRows != 0u && BitsLog2(kType) == 5u; }

// Of the quad that begins with element `first`: where it begins in its row, the walk over the outer
// dimensions, and the words of slot 1 in its place.
struct Row {
  uint start;
  Walk outer;
  uvec4 words;
};

// Words `at` modulo 4 and on of eight, by selects.
uvec4 FourWordsFrom(uvec4 low, uvec4 high, uint at) {
  const bool by_two = (at & 2u) != 0u;
  const bool by_one = (at & 1u) != 0u;
  uvec4 first = mix(low, uvec4(low.zw, high.xy), bvec4(by_two));
  uint fifth = mix(high.x, high.z, by_two);
  return mix(first, uvec4(first.yzw, fifth), bvec4(by_one));
}

// Of those from word `from` on, which may begin before slot 1, the ones that are there.
uvec4 LoadWords(uint from) {
  int quad = int(from) >> 2;
  int last = int(P4(2).z);
  return FourWordsFrom(LOAD_QUAD(1, uint(clamp(quad, 0, last))),
                       LOAD_QUAD(1, uint(clamp(quad + 1, 0, last))), from);
}

Row Prepare(uint first) {
  Row row = Row(0u, Walk(0u, 0u, true), uvec4(0u));
  if (kInRows != 0u) {
    uvec4 innermost = P4(2u * Rank() - 1u);
    row.outer.rest = Divide(first, innermost.xyz);
    row.start = first - row.outer.rest * innermost.x;
    StepAll(Rank() - 1u, row.outer);
    if (TakesWords()) row.words = LoadWords(row.outer.source + row.start - innermost.w);
  }
  return row;
}

uvec2 ComputeElement(Row row, uint e, uint k) {
  Walk walk = row.outer;
  if (kInRows != 0u) {
    StepTo(Rank() - 1u, row.start + k, walk);
  } else {
    walk.rest = e;
    StepAll(Rank(), walk);
  }
  uvec2 raw = TakesWords() ? uvec2(row.words[k], 0u) : LOAD_RAW(1, kType, walk.source);
  bool is_constant = kMode == 0u && !walk.inside;
  return mix(raw, uvec2(P(2), P(3)), bvec2(is_constant));
}

// On llvmpipe rows go by words: neighbours load neighbouring ones, wherever a row begins, and each
// invocation finds the place of one of the next rows.
#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"

bool CanComputeRowsByWords() { return IsWorkgroupOneSubgroup(); }

// In place of the first word of slot 1, for rows that are constant.
const uint kNowhere = 0x80000000u;

// First word of a row in slot 1 and in the result.
uvec2 WordsOfRow(uint row) {
  Walk walk = Walk(row, 0u, true);
  StepAll(Rank() - 1u, walk);
  return uvec2(walk.inside ? walk.source : kNowhere, row * P4(2u * Rank() - 1u).x);
}

// Word i + PlaceInStretch(k) of a row of the result, whose row of slot 1 begins at `source`; where it has the
// same elements, `from` is the place of word i.
uint WordOfRow(uint source, uint i, uint from, uint k) {
  const uint place = PlaceInStretch(k);
  if (kMode != 0u) {
    Walk walk = Walk(0u, source, true);
    StepTo(Rank() - 1u, i + place, walk);
    return LOAD_WORD(1, walk.source);
  }
  const bool inside = i + place - P4(2u * Rank() - 1u).w < P4(2u * Rank()).x;
  uint word = P(2);
  if (source != kNowhere && inside) word = LOAD_WORD(1, from + place);
  return word;
}

void ComputeRowsByWords() {
  const uvec4 innermost = P4(2u * Rank() - 1u);
#define WORD(i, from, k) WordOfRow(source, i, from, k)
#define PAD_ROW(row_source, row_result)                                                                   \
  {                                                                                                       \
    const uint source = row_source;                                                                       \
    const uint first_from = (source != kNowhere ? source : 0u) - innermost.w;                             \
    STRETCHES_LOOP(2, row_result, first_from, innermost.x, WORD)                                          \
  }
  PLACED_UNITS_LOOP(Divide(P(0), innermost.xyz), WordsOfRow, PAD_ROW)
#undef PAD_ROW
#undef WORD
}
#else
bool CanComputeRowsByWords() { return false; }
void ComputeRowsByWords() {}
#endif

void ComputeRows() {
  uvec4 innermost = P4(2u * Rank() - 1u);
  uint quads = innermost.x >> 2;
  uint rows = Divide(P(0), innermost.xyz);
  uint stretch = (rows + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
  uint end = min((gl_WorkGroupID.x + 1u) * stretch, rows);
  for (uint index = gl_WorkGroupID.x * stretch; index < end; ++index) {
    Row row = Row(0u, Walk(index, 0u, true), uvec4(0u));
    StepAll(Rank() - 1u, row.outer);
    for (uint i = gl_LocalInvocationID.x; i < quads; i += gl_WorkGroupSize.x) {
      row.start = 4u * i;
      if (TakesWords()) row.words = LoadWords(row.outer.source + row.start - innermost.w);
      uvec4 quad;
      [[unroll]] for (uint k = 0u; k < 4u; ++k) quad[k] = ComputeElement(row, 0u, k).x;
      STORE_QUAD(2, index * quads + i, quad)
    }
  }
}

void main() {
  if (kByRows != 0u && CanComputeRowsByWords()) {
    ComputeRowsByWords();
  } else if (kByRows != 0u && kInRows != 0u) {
    ComputeRows();
  } else {
    STORE_QUADS(2, kType, P(0), Row, Prepare, ComputeElement);
  }
}

// Copies up to seven pieces at once: split (-DMANY_RESULTS: from slot 1 to slots 2 to 8) and concat
// (from slots 2 to 8 to slot 1). A piece is rows of contiguous units, evenly apart on both sides;
// what a unit is: quads (four words), words, or elements of 4, 8 or 16 bits.
//
// Parameters: 1 + 2 i and on, in uvec4, of piece i: {units in a row of the copy, as divisor; units
// to copy}, {first unit of the source, of the result; from one row to the next in the source, in the
// result}. Specialisation constants: 1 what a unit is: 0 quad, 1 word, else log2 of the bits of an
// element; 2 pieces.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kUnit = 1u;
layout(constant_id = 2) const uint kPieces = 0u;

const uint kUnitQuad = 0u;
const uint kType = kUnit == 4u ? kFloat16 : kUnit == 3u ? kUint8 : kUnit == 2u ? kUint4 : kUint32;

#ifdef MANY_RESULTS
READ_SLOT(1)
READ_SLOT_WIDE(1)
#define DECLARE_PIECE(slot) WRITE_SLOT(slot)
#define SOURCE(slot) 1
#define RESULT(slot) slot
#else
WRITE_SLOT(1)
#define DECLARE_PIECE(slot) \
  READ_SLOT(slot)           \
  READ_SLOT_WIDE(slot)
#define SOURCE(slot) slot
#define RESULT(slot) 1
#endif

// Macros take literal slots: one more step makes them so.
#define LOAD_QUAD_OF(slot, i) LOAD_QUAD(slot, i)
#define LOAD_RAW_OF(slot, type, i) LOAD_RAW(slot, type, i)
#define STORE_QUAD_OF(slot, i, quad) STORE_QUAD(slot, i, quad)
#define STORE_ELEMENT_OF(slot, type, i, raw) STORE_ELEMENT(slot, type, i, raw)

#define DECLARE_COPY(slot)                                                                      \
  DECLARE_PIECE(slot)                                                                           \
  void Copy##slot() {                                                                           \
    if (slot - 2u >= kPieces) return;                                                           \
    uvec4 counts = P4(1u + 2u * (slot - 2u));                                                   \
    uvec4 places = P4(2u + 2u * (slot - 2u));                                                   \
    GRID_STRIDE_LOOP(i, counts.w) {                                                             \
      uint row = Divide(i, counts.xyz);                                                         \
      uint unit = i - row * counts.x;                                                           \
      uint source = places.x + row * places.z;                                                  \
      uint result = places.y + row * places.w;                                                  \
      if (kUnit == kUnitQuad) {                                                                 \
        uvec4 quad = LOAD_QUAD_OF(SOURCE(slot), source + unit);                                 \
        STORE_QUAD_OF(RESULT(slot), result + unit, quad)                                        \
      } else {                                                                                  \
        const uvec2 raw = LOAD_RAW_OF(SOURCE(slot), kType, source + unit);                      \
        STORE_ELEMENT_OF(RESULT(slot), kType, result + unit, raw)                               \
      }                                                                                         \
    }                                                                                           \
  }

DECLARE_COPY(2)
DECLARE_COPY(3)
DECLARE_COPY(4)
DECLARE_COPY(5)
DECLARE_COPY(6)
DECLARE_COPY(7)
DECLARE_COPY(8)

void main() {
  Copy2();
  Copy3();
  Copy4();
  Copy5();
  Copy6();
  Copy7();
  Copy8();
}

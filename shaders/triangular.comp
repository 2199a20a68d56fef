// slot 1 -> slot 2, matrices of which one triangle is kept and the other set to 0; both packed.
//
// Parameters: 0 elements; 1 diagonal (int); 2 whether the upper triangle is kept; 4..6 columns and
// 8..10 rows as divisors. Specialisation constants: 1 data type, 2 whether quads lie in rows
// (strided.glsl), 3 whether, on llvmpipe, words go by turns (by_words.glsl), none of which is longer than a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kInRows = 0u;
layout(constant_id = 3) const uint kByTurns = 0u;

#include "by_words.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// Columns of element e to the right of the diagonal.
int DistanceOf(uint e) {
  uvec3 columns = P4(1).xyz;
  uvec3 rows = P4(2).xyz;
  uint line = Divide(e, columns);
  int column = int(e - line * columns.x);
  int row = int(line - Divide(line, rows) * rows.x);
  // The host clamps the diagonal to the size of the matrix: no overflow.
  return column - row - int(P(1));
}

struct Operands {
  int distance;  // Of the first element.
  uvec4 quad;
};

Operands Prepare(uint first) {
  return Operands(DistanceOf(first), LOAD_QUAD(1, first >> Log2PerQuad(kType)));
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  int distance = kInRows != 0u ? operands.distance + int(k) : DistanceOf(e);
  bool kept = P(2) != 0u ? distance >= 0 : distance <= 0;
  return kept ? ElementOfQuad(operands.quad, kType, k) : uvec2(0u);
}

#if TENSOR_READS == READS_TEXELS
// Columns are counted on behind the end of a row.
struct Turn {
  uint word;    // The first one.
  int column;   // Of its first element.
  int here;     // The diagonal's, in the row of that,
  int in_next;  // and in the one behind it.
};

Turn PrepareTurn(uint word) {
  const uvec3 columns = P4(1).xyz;
  const uvec3 rows = P4(2).xyz;
  const uint e = word << (5u - BitsLog2(kType));
  const uint line = Divide(e, columns);
  const uint row = line - Divide(line, rows) * rows.x;
  const uint next = row + 1u == rows.x ? 0u : row + 1u;
  return Turn(word, int(UNIFORM(e - line * columns.x)), int(UNIFORM(row + P(1))), int(UNIFORM(next + columns.x + P(1))));
}

struct Word {
  Turn turn;
  int column;
  uint bits;
};

Word PrepareWord(Turn turn, uint i, uint ahead) {
  return Word(turn, turn.column + int(i << (5u - BitsLog2(kType))),
              LOAD_WORD(1, turn.word + i) + ASK_WORD(1, ahead));
}

uvec2 ComputeOfWord(Word word, uint e, uint j) {
  const int column = word.column + int(j);
  const int diagonal = column >= int(P(4)) ? word.turn.in_next : word.turn.here;
  const bool kept = P(2) != 0u ? column >= diagonal : column <= diagonal;
  return kept ? ElementOfQuad(uvec4(word.bits, 0u, 0u, 0u), kType, j) : uvec2(0u);
}

bool GoesByTurns() { return kByTurns != 0u && CanGoByWords(kType); }
void StoreByTurns() { STORE_BY_WORDS(2, kType, P(0), Turn, PrepareTurn, Word, PrepareWord, ComputeOfWord) }
#else
bool GoesByTurns() { return false; }
void StoreByTurns() {}
#endif

void main() {
  if (GoesByTurns()) {
    StoreByTurns();
  } else {
    STORE_QUADS(2, kType, P(0), Operands, Prepare, ComputeElement);
  }
}

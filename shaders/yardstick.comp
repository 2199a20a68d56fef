// What a device can do at best, which tools/bench holds operators against. No operator uses it.
//
// Slots: 1 what is read, 2 a word of each invocation. Parameters: 0 turns; 1 invocations. Each has
// kChains multiply-adds a turn, or reads four quads, its neighbours those beside them. Specialisation
// constant 1: whether it reads.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kReads = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

const uint kChains = 32u;
const uint kQuads = 4u;

uint MultiplyAndAdd(uint turns, uint i) {
  vec4 chains[kChains / 4u];
  [[unroll]] for (uint c = 0u; c < kChains / 4u; ++c) chains[c] = vec4(float(i + c));
  const vec4 factor = vec4(0.999 + float(UNKNOWN_ZERO));
  const vec4 addend = vec4(0.001 + float(UNKNOWN_ZERO));
  for (uint turn = 0u; turn < turns; ++turn) {
    [[unroll]] for (uint c = 0u; c < kChains / 4u; ++c) chains[c] = fma(chains[c], factor, addend);
  }
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint c = 0u; c < kChains / 4u; ++c) sum += chains[c];
  return floatBitsToUint(sum.x + sum.y + sum.z + sum.w);
}

uint Read(uint turns, uint i) {
  uvec4 all = uvec4(0u);
  for (uint turn = 0u; turn < turns; ++turn) {
    [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
      all ^= LOAD_QUAD(1, (turn * kQuads + q) * P(1) + i);
    }
  }
  return all.x ^ all.y ^ all.z ^ all.w;
}

void main() {
  const uint turns = P(0);
  GRID_STRIDE_LOOP(i, P(1)) { STORE_WORD(2, i, kReads != 0u ? Read(turns, i) : MultiplyAndAdd(turns, i)); }
}

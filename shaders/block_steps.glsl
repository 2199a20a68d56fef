// Weights of 4 bits by block as float32, some steps of rows of w that lie beside each other: of each step
// whole vectors are stored. Where weights, scales and zero points come by tiles (block_gemv.comp).
#ifndef WEBNND_SHADERS_BLOCK_STEPS_GLSL_
#define WEBNND_SHADERS_BLOCK_STEPS_GLSL_

#include "subgroup.glsl"
#include "tensor.glsl"

const uint kStepsOfLoad = 32u;  // Which 16 bytes of weights are.
const uint kRowsOfTile = 32u;   // As in service/graph/row_tiles.h.

// Which element of scale, and of zero point, is that of a block of a row, of `blocks` in each.
uint ScaleOfTiles(uint row, uint block, uint blocks) {
  return (((row >> 6) * blocks + block) * 8u + (row & 7u)) * 8u + ((row >> 3) & 7u);
}

// Unpacks one load of each row, row `first_row` + place of place `place`, to words of slot `result` that
// begin at `to`, `apart` from step to step; `type` is that of the weights. `first_load` is where row
// `first_row`'s load is, and `block` the block that it is of.
//
// By mask, not by shift: what is masked out of the upper places of half a word counts 16 times as much for
// each, and so does the zero point; a power of 2 changes no product. Where a step begins is uniform by
// itself: of sums with constants drivers make shifts, and no longer see that places follow each other.
#define UNPACK_LOAD(weights, type, scale, scale_type, zero_point, result, first_row, place, first_load, block, \
                    blocks, to, apart)                                                                         \
  {                                                                                                            \
    const uint moved_ = (type) == kInt4 ? 0x88888888u : 0u; /* Signed ones, up by half their range. */         \
    const uint at_ = ScaleOfTiles((first_row) + (place), block, blocks);                                       \
    const uvec4 weights_ = LOAD_QUAD(weights, (first_load) + (place)) ^ moved_;                                \
    const float scale_ = LOAD(scale, scale_type, at_);                                                         \
    const uint zero_points_ = LOAD_WORD(zero_point, at_ >> 3) ^ moved_;                                        \
    const float zero_point_ = float(int((zero_points_ >> (4u * (at_ & 7u))) & 15u));                           \
    [[unroll]] for (uint k_ = 0u; k_ < kStepsOfLoad; ++k_) {                                                   \
      const uint word_ = weights_[k_ >> 3];                                                                    \
      const uint half_word_ = (k_ & 4u) == 0u ? word_ : word_ >> 16;                                           \
      const uint shift_ = 4u * (k_ & 3u);                                                                      \
      const float counts_ = float(1u << shift_);                                                               \
      const float value_ = float(int(half_word_ & (15u << shift_))) - zero_point_ * counts_;                   \
      const uint to_ = UNIFORM((to) + k_ * (apart)) + (place);                                                 \
      STORE_WORD(result, to_, floatBitsToUint(value_ * (scale_ * (1.0 / counts_))));                           \
    }                                                                                                          \
  }

#endif  // WEBNND_SHADERS_BLOCK_STEPS_GLSL_

// Scales and zero points of weights by block where they lie by tiles, as
// service/passes/pack_block_scales.cc lays them.
#ifndef WEBNND_SHADERS_SCALE_TILES_GLSL_
#define WEBNND_SHADERS_SCALE_TILES_GLSL_

// Which element of scale, and of zero point, is that of a block of a row, of `blocks` in each.
uint ScaleOfTiles(uint row, uint block, uint blocks) {
  return (((row >> 6) * blocks + block) * 8u + (row & 7u)) * 8u + ((row >> 3) & 7u);
}

#endif  // WEBNND_SHADERS_SCALE_TILES_GLSL_

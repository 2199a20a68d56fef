// Where the loads of 16 bytes of weights of 4 bits lie: by tiles of 32 rows (service/graph/row_tiles.h), or
// row after row. kTiledWeights says of which matrix what.
#ifndef WEBNND_SHADERS_ROW_TILES_GLSL_
#define WEBNND_SHADERS_ROW_TILES_GLSL_

bool IsTiled(uint matrix) { return (kTiledWeights & (1u << matrix)) != 0u; }

// From one load of a row to its next.
uint LoadStride(uint matrix) { return IsTiled(matrix) ? 32u : 1u; }

uint FirstLoad(uint matrix, uint row, uint loads) {
  return IsTiled(matrix) ? (row >> 5) * loads * 32u + (row & 31u) : row * loads;
}

#endif  // WEBNND_SHADERS_ROW_TILES_GLSL_

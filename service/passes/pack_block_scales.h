// PackBlockScales: the scales of block-quantised weights in the order in which kernels want them.
#ifndef WEBNND_SERVICE_PASSES_PACK_BLOCK_SCALES_H_
#define WEBNND_SERVICE_PASSES_PACK_BLOCK_SCALES_H_

#include "service/passes/compile.h"

namespace webnnd::service {

// Of a graph as fusion leaves it: where all scales and zero points of a product by block
// (shaders/block_gemv.comp) are constants, and its rows come in tiles of 64, they become constants
// of shape [N / 64, K / block, 8, 8], computed once by the same kernels as folded constants: the
// last dimension counts every eighth row of a tile, the one before it where to begin.
Status PackBlockScales(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_PACK_BLOCK_SCALES_H_

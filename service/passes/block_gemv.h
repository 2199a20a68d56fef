// Products of rows with weights quantised by block, to 4 bits, as one kernel call.
#ifndef WEBNND_SERVICE_PASSES_BLOCK_GEMV_H_
#define WEBNND_SERVICE_PASSES_BLOCK_GEMV_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "service/passes/lowering.h"

namespace webnnd::service {

// Rows whose scales, and zero points, lie together where they are constants: then both are
// [N / 64, K / block, 8, 8] (pack_block_scales.h), else [N, K / block, 1].
inline constexpr uint32_t kRowsOfScaleTile = 64;

// Rows of x up to which weights are used as they lie, and rows normalised by each product, on wide
// devices or others. For more, unpacking the weights once costs less than taking them from their
// words for each row; elsewhere than on wide devices from six rows on, but kernels for short prompts
// would take their time to compile, and their memory, beside those of single tokens.
constexpr uint32_t FewRowsMax(bool wide) { return wide ? 55 : 15; }

// Products as shaders/block_gemv.comp computes them, for several weights that share x: see
// BlockMatmul and MatmulGroup of service/graph/macro.h.
struct BlockGemv {
  struct Matrix {
    ValueId weights = kNoValue;
    ValueId scale = kNoValue;
    ValueId zero_point = kNoValue;
    ValueId bias = kNoValue;  // One row for all rows of x, or one for each; kNoValue: none.
    ValueId result = kNoValue;
  };
  ValueId x = kNoValue;
  std::vector<Matrix> matrices;  // At most kGemvMatricesMax.
  // Of two matrices, without biases: silu(first) * second is the result of the first.
  bool gated = false;
  // Where there is a gain, x is gain * x / sqrt(mean(x * x) + epsilon), of each row, and a third
  // matrix has no bias.
  ValueId gain = kNoValue;
  double epsilon = 0;
};

// Whether the kernel can: 4 bits, and blocks of 32 or a power of 2 above.
bool IsBlockGemvWeight(const webidl::OperandDescriptor& weights);

// Whether scales, and zero points, come by tiles (kRowsOfScaleTile).
bool HasScalesByTiles(const webidl::OperandDescriptor& scale);

// Indices of the operands of `node` that are weights of the kernel, each with its scale and its
// zero point behind it; none where another kernel, or none, computes it.
std::vector<size_t> BlockGemvWeights(const Graph& graph, const Node& node);

void AddBlockGemvCall(const BlockGemv& gemv, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_BLOCK_GEMV_H_

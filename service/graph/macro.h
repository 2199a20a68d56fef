// Macro operators: what fusion makes of several operators of the draft, for one kernel to compute.
#ifndef WEBNND_SERVICE_GRAPH_MACRO_H_
#define WEBNND_SERVICE_GRAPH_MACRO_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "webidl/generated/types.h"

namespace webnnd::service {

// gain * x / sqrt(mean(x * x) + epsilon) over the last dimension, for x = a + b + bias (Zhang and
// Sennrich 2019, "Root Mean Square Layer Normalization"; ONNX Runtime calls it
// SimplifiedLayerNormalization, and with b SkipSimplifiedLayerNormalization).
// Operands: a; gain, one element per element of a row; b like a, or none; bias like gain, or none.
// Results: the normalised rows; x where anybody else needs it, or none.
struct RmsNormalization {
  double epsilon = 0;
};

// The product of rows with block-quantised weights (ONNX Runtime's MatMulNBits):
// result[m, n] = sum over k of x[m, k] * (weights[n, k] - zero_point[n, k / block]) *
// scale[n, k / block].
// Operands: x [..., M, K]; weights [N, K / block, block], integers; scale and zero_point
// [N, K / block, 1]. Results: [..., M, N].
struct BlockMatmul {};

// Rotary position embedding (Su et al. 2021, "RoFormer"): each pair of elements of a head turns by
// an angle that depends on the position of its row. Elements beyond `rotary_size` stay.
// Operands: x [rows, heads, head_size], or [batch, heads, sequence, head_size] where heads come
// first; cos and sin, rows of rotary_size / 2, one for each position; positions, integers, one for
// each row, or one for the first row of a sequence, or none where cos and sin are the rows' own.
// Results: like x.
struct RotaryEmbedding {
  uint32_t rows = 0;  // batch * sequence
  uint32_t sequence = 0;
  uint32_t heads = 0;
  uint32_t head_size = 0;
  uint32_t rotary_size = 0;
  bool interleaved = false;  // Pairs are neighbours; else halves of rotary_size are paired.
  bool heads_first = false;
  bool consecutive = false;  // There is one position, that of the first row; others follow.
};

// The operator of one operand that follows another one; of its attributes, what it has.
struct Activation {
  webidl::OperatorKind kind{};
  double alpha = 0;
  double beta = 0;
  double least = 0;
  double greatest = 0;
  bool gates = false;  // Its result times its operand: SiLU, where it is sigmoid.
};

// activation(y + bias + residual), where y is a convolution or a product of matrices: the node's
// kind and attributes are those of y, one of matmul, gemm, conv2d and convTranspose2d.
// Operands: the two of y; bias, one element for each channel or column (c of gemm), or none;
// residual, like the result, or none.
struct Epilogue {
  std::optional<Activation> activation;
};

// What of a node goes beyond its kind: nothing for an operator of the draft.
using Macro =
    std::variant<std::monostate, RmsNormalization, BlockMatmul, RotaryEmbedding, Epilogue>;

// "rmsNormalization", for labels; empty for an operator of the draft, and for one with an epilogue.
std::string_view MacroName(const Macro& macro);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_GRAPH_MACRO_H_

// Macro operators: what fusion makes of several operators of the draft, for one kernel to compute.
#ifndef WEBNND_SERVICE_GRAPH_MACRO_H_
#define WEBNND_SERVICE_GRAPH_MACRO_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "webidl/generated/types.h"

namespace webnnd::service {

// gain * x / sqrt(mean(x * x) + epsilon) over the last dimension, for x = a + b + bias (Zhang and
// Sennrich 2019, "Root Mean Square Layer Normalization"; ONNX Runtime calls it
// SimplifiedLayerNormalization, and with b SkipSimplifiedLayerNormalization).
// Operands: a; gain, one element per element of a row; b like a, or none; bias like gain, or none;
// indices, integers, or none: with them, a is a table, and x its rows of these indices, as gather
// clamps them (there is no b then, and no bias).
// Results: the normalised rows; x where anybody else needs it, or none.
struct RmsNormalization {
  double epsilon = 0;
};

// The product of rows with block-quantised weights (ONNX Runtime's MatMulNBits):
// result[m, n] = sum over k of x[m, k] * (weights[n, k] - zero_point[n, k / block]) *
// scale[n, k / block].
// Operands: x [..., M, K]; weights [N, K / block, block], integers; scale and zero_point
// [N, K / block, 1], or both by tiles of rows (service/passes/pack_block_scales.h).
// Results: [..., M, N].
struct BlockMatmul {};

// Up to three products of the same rows with weights [N, K] of their own:
// result[m, n] = sum over k of x[m, k] * w[n, k] + bias[n]; w by block as in BlockMatmul, or as it
// is. Operands: x [..., K]; then for each product weights, scale, zero point (none where they are
// not by block) and bias, or none; by block, it may have a row for each row of x. Results: [..., N]
// of each. Where it normalizes, x is one row, or by block few (FewRowsMax() of
// service/passes/block_gemv.h), which are normalised first, as RmsNormalization does it, by a gain
// that is the last operand; then a third product by block has no bias. Where it is gated, there are
// two products without biases and one result: silu(first) * second (Shazeer 2020, "GLU Variants
// Improve Transformer").
struct MatmulGroup {
  bool by_block = false;
  bool gated = false;
  bool normalizes = false;
  double epsilon = 0;
};

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

// How the heads of a macro's operand turn before anything else, as RotaryEmbedding turns them; for
// a single sequence. Nothing turns where rotary_size is 0.
struct HeadRotation {
  uint32_t rotary_size = 0;
  bool interleaved = false;
  bool consecutive = false;
};

// Attention with a cache of keys and values (Vaswani et al. 2017, "Attention Is All You Need";
// Ainslie et al. 2023, "GQA"): softmax(scale * q k^T) v, where `group` heads of queries share a
// head of keys and values. Row r sees the keys before start + reach + beyond + r, of those that
// there are, and where there is a window only the last so many of them. start + reach wraps around
// in 32 bits, and r is part of that sum where rows wrap. Operands: queries, rows of
// query_heads() heads, which may lie between others in a longer row; keys and values
// [key_value_heads, capacity, head_size], of which the first `keys` of each head are there; start,
// one int32, or none for 0; cos, sin and positions as RotaryEmbedding has them, or none. Results:
// [rows, query_heads(), head_size].
struct Attention {
  uint32_t key_value_heads = 0;
  uint32_t group = 0;
  uint32_t head_size = 0;
  uint32_t query_offset = 0;  // Elements of a row of queries before the first head.
  double scale = 1;
  uint32_t keys = 0;  // 0: as many as the capacity.
  int32_t reach = 0;
  int32_t beyond = 0;
  bool rows_wrap = true;
  uint32_t window = 0;  // 0: all.
  // A row that sees nothing is NaN; else it is the mean of all values.
  bool nothing_is_nan = false;
  HeadRotation rotation;

  uint32_t query_heads() const { return key_value_heads * group; }
};

// Writes rows of keys, which may turn first, and of values into a cache, at start + offset and on:
// sums of 32 bits, which wrap around or else stay at the end. Indices are those of scatterND:
// negative ones count from the end, then all are clamped, and of several rows for one place the last
// one stays.
// Operands: keys and values, rows of heads, which may lie between others in a longer row; past keys
// and past values [key_value_heads, capacity, head_size]; start, one int32, or none for 0; cos, sin
// and positions as RotaryEmbedding has them, or none. Results: the past ones with the rows written.
struct KeyValueWrite {
  uint32_t key_value_heads = 0;
  uint32_t head_size = 0;
  uint32_t rows = 0;
  uint32_t key_offset = 0;  // Elements of a row of the operand before the first head.
  uint32_t value_offset = 0;
  int32_t offset = 0;
  bool wraps = true;
  HeadRotation rotation;  // Of the keys.
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

// Element-wise operators of which each but the last serves only others of them. All calculate in
// floats; truth is 1 and 0.
// Operands: up to kOperandsMax. Results: that of the last step, to whose shape the operands are
// broadcast.
struct ElementwiseChain {
  static constexpr size_t kStepsMax = 8;
  static constexpr size_t kOperandsMax = 4;
  // Where a step takes an operand from: operand i is i, step i is kOperandsMax + i, constant i of
  // its own is kFirstConstant + i.
  static constexpr uint32_t kFirstConstant = kOperandsMax + kStepsMax;

  struct Step {
    // Of one operand, its attributes as well; a cast comes from any type.
    Activation operation;
    std::array<uint32_t, 3> sources = {};
    std::array<double, 2> constants = {};
    webidl::OperandDataType type{};  // Of its result: float32, float16 or uint8.
  };
  std::vector<Step> steps;
};

// What of a node goes beyond its kind: nothing for an operator of the draft.
using Macro = std::variant<std::monostate, RmsNormalization, BlockMatmul, MatmulGroup,
                           RotaryEmbedding, Epilogue, Attention, KeyValueWrite, ElementwiseChain>;

// "rmsNormalization", for labels; empty for an operator of the draft, and for one with an epilogue.
std::string_view MacroName(const Macro& macro);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_GRAPH_MACRO_H_

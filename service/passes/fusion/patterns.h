// The macro operators that fusion recognises, a file each.
#ifndef WEBNND_SERVICE_PASSES_FUSION_PATTERNS_H_
#define WEBNND_SERVICE_PASSES_FUSION_PATTERNS_H_

#include "service/passes/fusion/pattern.h"

namespace webnnd::service {

// dequantizeLinear -> reshape -> transpose -> matmul.
std::optional<Match> MatchBlockMatmul(const GraphIndex& index, const Node& last);

// silu(x w) * (x v), of products of the draft or of blocks.
std::optional<Match> MatchGatedMatmul(const GraphIndex& index, const Node& last);
// Products that share their rows, and biases of products of blocks; found at the first product,
// whatever else may stand between.
std::optional<Match> MatchMatmulGroup(const GraphIndex& index, const Node& first);

// [add -> [add ->]] pow -> reduceMean -> add -> sqrt -> div -> mul.
std::optional<Match> MatchRmsNormalization(const GraphIndex& index, const Node& last);
// Of rows that are looked up in a table: those of a token's embedding.
std::optional<Match> MatchNormalizedRowsOfTable(const GraphIndex& index, const Node& last);

// split -> concat of the swapped halves, times sin and sign; plus the unswapped times cos. Alone;
// with the elements of a head that do not turn put back; and between transposes of heads and rows.
std::optional<Match> MatchRotaryEmbedding(const GraphIndex& index, const Node& last);
std::optional<Match> MatchPartialRotaryEmbedding(const GraphIndex& index, const Node& last);
std::optional<Match> MatchTransposedRotaryEmbedding(const GraphIndex& index, const Node& last);

// Convolutions and products of matrices with what follows them: a bias, a residual, an activation.
std::optional<Match> MatchActivatedProduct(const GraphIndex& index, const Node& last);
std::optional<Match> MatchProductWithResidual(const GraphIndex& index, const Node& last);
std::optional<Match> MatchProductWithBias(const GraphIndex& index, const Node& last);

// matmul -> mul -> add of a mask -> softmax -> matmul [-> transpose], with a cache of keys and
// values whose heads may be repeated. What RotaryEmbedding has made of the queries is taken in.
std::optional<Match> MatchAttention(const GraphIndex& index, const Node& last);
std::optional<Match> MatchAttentionOfOneRow(const GraphIndex& index, const Node& last);

// The two scatterND that write keys and values at one place, for an attention that reads them.
std::optional<Match> MatchKeyValueWrite(const GraphIndex& index, const Node& last);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_PATTERNS_H_

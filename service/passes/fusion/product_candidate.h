// ProductCandidate: a product that MatmulGroup (service/graph/macro.h) can take.
#ifndef WEBNND_SERVICE_PASSES_FUSION_PRODUCT_CANDIDATE_H_
#define WEBNND_SERVICE_PASSES_FUSION_PRODUCT_CANDIDATE_H_

#include <cstdint>
#include <optional>

#include "service/graph/graph.h"
#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {

// Of rows of x, the node's first operand, with weights [N, K], or with blocks.
struct ProductCandidate {
  const Node* node = nullptr;
  ValueId weights = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;
  ValueId bias = kNoValue;
  ValueId result = kNoValue;
  ValueId hidden = kNoValue;  // The product, where the bias is an operator of its own.
};

// The product that `node` is, with a bias at most: no activation and no residual.
std::optional<ProductCandidate> AsProductCandidate(const GraphIndex& index, const Node& node);

// Appends what MatmulGroup has of each product to the node's operands.
void AppendProduct(const ProductCandidate& candidate, Node& node);

// Whether the shape is that of a row of `size` elements.
bool IsRow(const webidl::Shape& shape, uint32_t size);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_PRODUCT_CANDIDATE_H_

// FuseNormalizedProducts: lets products of one row, or few, normalise them themselves.
#ifndef WEBNND_SERVICE_PASSES_FUSION_NORMALIZED_PRODUCTS_H_
#define WEBNND_SERVICE_PASSES_FUSION_NORMALIZED_PRODUCTS_H_

#include "service/graph/graph.h"

namespace webnnd::service {

// Where only one MatmulGroup, or what can be one, multiplies the single row that an
// RmsNormalization makes, or by block the few rows, it takes the normalization in; a sum that is
// normalised moves to the product that makes one of its terms. For after the patterns: what is
// looked for has been found by them.
void FuseNormalizedProducts(Graph& graph);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_NORMALIZED_PRODUCTS_H_

// PackFilters: filters of convolutions in the order in which kernels want them.
#ifndef WEBNND_SERVICE_PASSES_PACK_FILTERS_H_
#define WEBNND_SERVICE_PASSES_PACK_FILTERS_H_

#include "service/passes/compile.h"

namespace webnnd::service {

// What the filters of a graph may take in panels: beside what they are made of, until those are let
// go.
inline constexpr uint64_t kPackedFilterBytesMax = uint64_t{16} << 20;

// Constant filters of conv2d and convTranspose2d that become tall products (tall_product.h) become
// panels, which are constants in turn, computed once by the kernel that else would at each dispatch;
// in order, as long as they fit kPackedFilterBytesMax.
Status PackFilters(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_PACK_FILTERS_H_

// Convolutions with few channels out of each group, on llvmpipe.
#ifndef WEBNND_SERVICE_PASSES_NARROW_CONVOLUTION_H_
#define WEBNND_SERVICE_PASSES_NARROW_CONVOLUTION_H_

#include "base/result.h"
#include "service/passes/convolution.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Whether narrow_conv2d.comp takes it sooner than a product would, or another kernel.
bool IsNarrow(const Convolution& convolution, const Node& node, const LoweringBuilder& builder);
Status AddNarrowCalls(const Convolution& convolution, const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_NARROW_CONVOLUTION_H_

// Convolutions of few channels with small windows, whose sums are too short to be products.
#ifndef WEBNND_SERVICE_PASSES_SHALLOW_CONVOLUTION_H_
#define WEBNND_SERVICE_PASSES_SHALLOW_CONVOLUTION_H_

#include "service/passes/convolution.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Whether shallow_conv2d.comp takes it. Not transposed.
bool IsShallow(const Convolution& convolution);
void AddShallowCall(const Convolution& convolution, const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_SHALLOW_CONVOLUTION_H_

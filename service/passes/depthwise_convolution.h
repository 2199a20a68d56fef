// Convolutions in which each channel of the image has a filter of its own.
#ifndef WEBNND_SERVICE_PASSES_DEPTHWISE_CONVOLUTION_H_
#define WEBNND_SERVICE_PASSES_DEPTHWISE_CONVOLUTION_H_

#include "base/result.h"
#include "service/passes/convolution.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Whether the kernels for them take it: a channel in, a channel out, in lines that they take by
// fours.
bool IsDepthwise(const Convolution& convolution);
// Whether one of them is made for its window.
bool HasDepthwiseKernel(const Convolution& convolution, const Node& node,
                        const LoweringBuilder& builder);
Status AddDepthwiseCall(const Convolution& convolution, const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_DEPTHWISE_CONVOLUTION_H_

// Convolutions and pooling of images whose channels lie together, where kernels for such whose
// columns do are faster.
#ifndef WEBNND_SERVICE_PASSES_LOWER_CHANNELS_FIRST_H_
#define WEBNND_SERVICE_PASSES_LOWER_CHANNELS_FIRST_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

// Of a conv2d, convTranspose2d or pooling in nhwc: transposes image and residual, has `lower` add
// the calls for the same in nchw, and transposes what that gives back.
Status LowerChannelsFirst(const Node& node, LowerFunction lower, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_CHANNELS_FIRST_H_

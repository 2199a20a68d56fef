// Resampling of images. LowerFunction of service/passes/lowering.h.
#ifndef WEBNND_SERVICE_PASSES_LOWER_RESAMPLE_H_
#define WEBNND_SERVICE_PASSES_LOWER_RESAMPLE_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

// Both modes along any two dimensions. Interpolated int8 and uint8 round to the nearest integer,
// ties to even.
Status LowerResample2d(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_RESAMPLE_H_

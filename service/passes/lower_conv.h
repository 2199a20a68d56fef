// Convolutions. LowerFunction of service/passes/lowering.h each.
#ifndef WEBNND_SERVICE_PASSES_LOWER_CONV_H_
#define WEBNND_SERVICE_PASSES_LOWER_CONV_H_

#include <optional>

#include "service/passes/lowering.h"
#include "service/passes/window_product.h"

namespace webnnd::service {

Status LowerConv2d(const Node& node, LoweringBuilder& builder);
Status LowerConvTranspose2d(const Node& node, LoweringBuilder& builder);

// The product that a conv2d or convTranspose2d lowers to; none where it lowers to another kernel.
Result<std::optional<FilterProduct>> FindFilterProduct(const Node& node,
                                                       const LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_CONV_H_

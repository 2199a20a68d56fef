// Operators that slide a window over an image. LowerFunction of service/passes/lowering.h each.
#ifndef WEBNND_SERVICE_PASSES_LOWER_WINDOW_H_
#define WEBNND_SERVICE_PASSES_LOWER_WINDOW_H_

#include <cstddef>
#include <optional>

#include "service/passes/lowering.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {

Status LowerConv2d(const Node& node, LoweringBuilder& builder);

// The product that a conv2d lowers to.
struct FilterProduct {
  Product product;
  size_t filter;  // Which operand of the product the filter is: a (0) or b (1).
};
// None where it lowers to another kernel.
Result<std::optional<FilterProduct>> FindFilterProduct(const Node& conv2d,
                                                       const LoweringBuilder& builder);

Status LowerConvTranspose2d(const Node& node, LoweringBuilder& builder);
// averagePool2d, l2Pool2d and maxPool2d. The padding has no part in averages and maxima; NaN comes
// through maxPool2d.
Status LowerPool2d(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_WINDOW_H_

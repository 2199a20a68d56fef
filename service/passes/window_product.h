// Convolutions as products of the filter and the windows of the image.
#ifndef WEBNND_SERVICE_PASSES_WINDOW_PRODUCT_H_
#define WEBNND_SERVICE_PASSES_WINDOW_PRODUCT_H_

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "service/passes/convolution.h"
#include "service/passes/lowering.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {

// The product that a convolution lowers to.
struct FilterProduct {
  Product product;
  size_t filter;  // Which operand of the product the filter is: a (0) or b (1).
};

// Of a conv2d; none where another kernel is the better, or the only, one.
std::optional<FilterProduct> MakeWindowProduct(const Convolution& convolution, const Node& node,
                                               const LoweringBuilder& builder);
Status AddWindowProductCalls(const Convolution& convolution, Product product,
                             LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_WINDOW_PRODUCT_H_

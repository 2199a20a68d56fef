// Transposed convolutions as a product, whose columns are then summed to an image, or stored as one.
#ifndef WEBNND_SERVICE_PASSES_TRANSPOSED_CONVOLUTION_H_
#define WEBNND_SERVICE_PASSES_TRANSPOSED_CONVOLUTION_H_

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "service/passes/convolution.h"
#include "service/passes/lowering.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {

// How taps of one dimension of a transposed convolution meet elements of the result, see
// columns_to_image.comp.
struct Meeting {
  uint32_t common = 1;   // Of stride and dilation, the greatest divisor.
  uint32_t step = 1;     // Between the taps that meet one element.
  uint32_t inverse = 0;  // Of dilation / common, modulo `step`.
  uint32_t turns = 1;    // Taps that meet one element, at most.
};

// A transposed convolution in two halves.
struct ColumnsProduct {
  // What each pixel of the input gives to each tap of each channel: taps and channels are rows,
  // pixels columns.
  Product product;
  uint64_t elements = 0;
  // From one channel of the result, row of taps and tap to the next, in rows of the product.
  uint32_t channel_rows = 0;
  uint32_t row_rows = 0;
  uint32_t tap_rows = 0;
  Meeting height;
  Meeting width;
};

// None where conv2d.comp is the better, or the only, kernel.
std::optional<ColumnsProduct> MakeColumnsProduct(const Convolution& convolution, const Node& node,
                                                 const LoweringBuilder& builder);
Status AddColumnsCalls(const Convolution& convolution, ColumnsProduct columns, const Node& node,
                       LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_TRANSPOSED_CONVOLUTION_H_

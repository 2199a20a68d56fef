// Products of matrices with many rows: a, and b where enough rows share it, are packed first.
#ifndef WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_
#define WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_

#include "base/result.h"
#include "service/passes/lowering.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {

// Whether shaders/tall_matmul.comp is the faster kernel. It loads less for each product, but takes
// long to compile, and there must be rows to fill its tiles and tiles enough to share out.
bool IsTall(const Product& product);

// For products that are tall.
Status AddTallProductCalls(const Product& product, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_

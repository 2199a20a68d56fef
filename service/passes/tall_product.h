// Products of matrices with many rows: a, and b where enough rows share it, are packed first.
#ifndef WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_
#define WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_

#include "base/result.h"
#include "service/passes/lowering.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {

// Whether shaders/tall_matmul.comp is the faster kernel. It loads less for each product, but takes
// long to compile, and there must be rows to fill its tiles and tiles enough to share out; on wide
// devices, more products are.
bool IsTall(const Product& product, bool wide = false);

// Whether some steps of some columns of b after the other are best brought to where a cache keeps
// them, on llvmpipe: then few rows are tall, too.
bool TakesTurns(const Product& product, const LoweringBuilder& builder);

// Whether an operand of a tall product, a (0) or b (1), can come in panels of its own, and how many
// bytes they are.
bool CanTakePanels(const Product& product, size_t operand, bool wide);
uint64_t PanelBytes(const Product& product, size_t operand);
// Adds the call that makes them of the product's operand, and says which value they are.
Result<ValueId> AddPanels(const Product& product, size_t operand, LoweringBuilder& builder);

// Whether b, weights [N, K / block, block] as IsBlockGemvWeight() (block_gemv.h) takes them, which
// all rows of a share, is best unpacked to panels each time.
bool UnpacksBlocks(const Product& product, ValueId scale, const LoweringBuilder& builder);
// The calls that do, a part after the other where all panels would take too much, and those of the
// product.
Status AddBlockProduct(const Product& product, ValueId scale, ValueId zero_point,
                       LoweringBuilder& builder);

// For products that are tall; an operand may be panels already (Value::panels_of).
Status AddTallProductCalls(const Product& product, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_TALL_PRODUCT_H_

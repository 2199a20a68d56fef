#include "service/passes/lower_matmul.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDescriptor;
using webidl::Shape;

// Elements from one row, and from one column, of a matrix to the next.
struct MatrixStrides {
  uint32_t row = 0;
  uint32_t column = 0;
};

// What matmul.comp computes: see there.
struct Product {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  ValueId c = kNoValue;  // kNoValue: none.
  ValueId result = kNoValue;
  uint32_t rows = 0;     // M
  uint32_t columns = 0;  // N
  uint32_t depth = 0;    // K
  MatrixStrides a_strides;
  MatrixStrides b_strides;
  MatrixStrides c_strides;
  double alpha = 1;
  double beta = 1;
  std::vector<StridedDimension> batch;  // Strides of a and b.
};

// An invocation's share, ROWS and 4 * COLUMNS of shaders/table.txt.
struct Kernel {
  ShaderId shader;
  uint32_t rows;
  uint32_t columns;
};

Kernel ChooseKernel(const Product& product, bool transposed) {
  if (product.rows > 1) return {ShaderId::kMatmulTile, 8, 4};
  // Where columns are contiguous, reading more of each row spares memory latency.
  constexpr uint32_t kWideColumnsMin = 1024;
  if (!transposed && product.columns >= kWideColumnsMin) return {ShaderId::kMatmulWideRow, 1, 8};
  return {ShaderId::kMatmulRow, 1, 4};
}

// Whether the dimension along which b is contiguous is k, not n.
bool IsTransposed(const Product& product) {
  return product.b_strides.row == 1 && (product.b_strides.column != 1 || product.columns == 1);
}

// Whether every run of four elements of b from a multiple of 4 on is one aligned load.
bool LoadsFour(const Product& product, bool transposed) {
  uint32_t contiguous = transposed ? product.depth : product.columns;
  bool is_contiguous = (transposed ? product.b_strides.row : product.b_strides.column) == 1;
  if (!is_contiguous || contiguous % 4 != 0) return false;
  for (const StridedDimension& dimension : product.batch) {
    if (dimension.strides[1] % 4 != 0) return false;
  }
  return true;
}

Status AddProductCall(const Product& product, LoweringBuilder& builder) {
  // The kernels take kUnroll (matmul.comp) elements along k at a time.
  if (product.depth / 8 > kInvocationIterationsMax) {
    return NotSupportedError("the products' sums ({} terms) are longer than a kernel loops over",
                             product.depth);
  }
  uint32_t matrices = 1;
  for (const StridedDimension& dimension : product.batch) matrices *= dimension.size;
  bool transposed = IsTransposed(product);
  bool has_c = product.c != kNoValue;
  Kernel kernel = ChooseKernel(product, transposed);

  LoweredCall call;
  call.shader = kernel.shader;
  call.specialization = {static_cast<uint32_t>(builder.descriptor(product.result).data_type()),
                         LoadsFour(product, transposed), transposed, has_c};
  // The module declares slot 4, so something must be bound there.
  call.buffers = {{product.a, false},
                  {product.b, false},
                  {product.result, true},
                  {has_c ? product.c : product.a, false}};
  call.parameters = {matrices,
                     product.rows,
                     product.columns,
                     product.depth,
                     product.a_strides.row,
                     product.a_strides.column,
                     product.b_strides.row,
                     product.b_strides.column,
                     product.c_strides.row,
                     product.c_strides.column,
                     FloatBits(product.alpha),
                     FloatBits(product.beta),
                     static_cast<uint32_t>(product.batch.size()),
                     0,
                     0,
                     0};
  AppendDimensions(product.batch, call.parameters);
  call.invocations = uint64_t{matrices} * DivideRoundingUp(product.rows, kernel.rows) *
                     DivideRoundingUp(product.columns, kernel.columns);
  call.cost = uint64_t{matrices} * product.rows * product.columns * product.depth;
  builder.AddCall(std::move(call));
  return {};
}

std::span<const uint32_t> BatchOf(const Shape& shape) {
  return std::span<const uint32_t>(shape).first(shape.size() - 2);
}

// Strides of a batch of matrices of `matrix` elements each, in the order of `result_batch`.
std::vector<uint32_t> BatchStrides(std::span<const uint32_t> batch,
                                   std::span<const uint32_t> result_batch, uint32_t matrix) {
  std::vector<uint32_t> strides = BroadcastStrides(batch, result_batch);
  for (uint32_t& stride : strides) stride *= matrix;
  return strides;
}

// A batch of matrices a times one b is one taller a times b.
void JoinBatchToRows(Product& product) {
  if (product.batch.size() != 1) return;
  const StridedDimension& batch = product.batch[0];
  if (batch.strides[1] != 0 || batch.strides[0] != product.rows * product.a_strides.row) return;
  product.rows *= batch.size;
  product.batch = {StridedDimension()};
}

}  // namespace

Status LowerMatmul(const Node& node, LoweringBuilder& builder) {
  Product product;
  product.a = node.operands[0];
  product.b = node.operands[1];
  product.result = node.results[0];
  const Shape& a = builder.descriptor(product.a).shape();
  const Shape& b = builder.descriptor(product.b).shape();
  const Shape& result = builder.descriptor(product.result).shape();
  product.rows = a[a.size() - 2];
  product.columns = b[b.size() - 1];
  product.depth = a[a.size() - 1];
  product.a_strides = {product.depth, 1};
  product.b_strides = {product.columns, 1};
  std::span<const uint32_t> batch = BatchOf(result);
  const std::vector<uint32_t> strides[] = {
      BatchStrides(BatchOf(a), batch, product.rows * product.depth),
      BatchStrides(BatchOf(b), batch, product.depth * product.columns)};
  product.batch = Coalesce(MakeDimensions(batch, strides));
  JoinBatchToRows(product);
  return AddProductCall(product, builder);
}

Status LowerGemm(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::GemmAttributes>(node.attributes);
  Product product;
  product.a = node.operands[0];
  product.b = node.operands[1];
  product.c = node.operands[2];
  product.result = node.results[0];
  const Shape& a = builder.descriptor(product.a).shape();
  const Shape& b = builder.descriptor(product.b).shape();
  const Shape& result = builder.descriptor(product.result).shape();
  product.rows = result[0];
  product.columns = result[1];
  product.depth = attributes.a_transpose ? a[0] : a[1];
  product.a_strides = {a[1], 1};
  product.b_strides = {b[1], 1};
  if (attributes.a_transpose) std::swap(product.a_strides.row, product.a_strides.column);
  if (attributes.b_transpose) std::swap(product.b_strides.row, product.b_strides.column);
  if (product.c != kNoValue) {
    std::vector<uint32_t> c = BroadcastStrides(builder.descriptor(product.c).shape(), result);
    product.c_strides = {c[0], c[1]};
  }
  product.alpha = attributes.alpha;
  product.beta = attributes.beta;
  product.batch = {StridedDimension()};
  return AddProductCall(product, builder);
}

}  // namespace webnnd::service

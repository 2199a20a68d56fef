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
  std::vector<StridedDimension> batch;  // Strides of a, b and c.
};

// LOADS_... of matmul.comp.
enum class Load : uint32_t { kOne, kFourAlongK, kFourAcross };

// An invocation's share, ROWS and 4 * COLUMNS of shaders/table.txt.
struct Kernel {
  ShaderId shader;
  uint32_t rows;
  uint32_t columns;
};

uint32_t CountMatrices(const Product& product) {
  uint32_t matrices = 1;
  for (const StridedDimension& dimension : product.batch) matrices *= dimension.size;
  return matrices;
}

uint64_t CountInvocations(const Product& product, const Kernel& kernel) {
  return uint64_t{CountMatrices(product)} * DivideRoundingUp(product.rows, kernel.rows) *
         DivideRoundingUp(product.columns, kernel.columns);
}

Kernel ChooseKernel(const Product& product, Load b_loads) {
  constexpr uint32_t kTallRowsMin = 24;
  constexpr uint64_t kTallTilesMin = 8;
  if (product.rows > 1) {
    // Tall tiles load less for each product, unless rows or tiles are too few to share out.
    Kernel tall{ShaderId::kMatmulTallTile, 32, 4};
    uint64_t tiles = CountInvocations(product, tall) / kLocalSizeMin;
    if (product.rows >= kTallRowsMin && tiles >= kTallTilesMin) return tall;
    return {ShaderId::kMatmulTile, 8, 4};
  }
  // Where columns are contiguous, reading more of each row spares memory latency.
  constexpr uint32_t kWideColumnsMin = 1024;
  if (b_loads != Load::kFourAlongK && product.columns >= kWideColumnsMin) {
    return {ShaderId::kMatmulWideRow, 1, 8};
  }
  return {ShaderId::kMatmulRow, 1, 4};
}

// How elements load that lie `along_k` and `across` from each other, `depth` and `width` of them.
// `matrix_strides` are the distances between matrices. Every run of four elements from a multiple
// of 4 on must be one aligned load.
Load ChooseLoad(uint32_t along_k, uint32_t across, uint32_t depth, uint32_t width,
                std::span<const uint32_t> matrix_strides) {
  for (uint32_t stride : matrix_strides) {
    if (stride % 4 != 0) return Load::kOne;
  }
  if (across == 1 && width % 4 == 0 && (along_k % 4 == 0 || depth == 1)) return Load::kFourAcross;
  if (along_k == 1 && depth % 4 == 0 && (across % 4 == 0 || width == 1)) return Load::kFourAlongK;
  return Load::kOne;
}

// The distances between the matrices of a (operand 0) or b (1).
std::vector<uint32_t> DistancesOf(const Product& product, size_t operand) {
  std::vector<uint32_t> strides;
  for (const StridedDimension& dimension : product.batch) {
    strides.push_back(dimension.strides[operand]);
  }
  return strides;
}

Status AddProductCall(const Product& product, LoweringBuilder& builder) {
  // The kernels take kBlock (product.glsl) elements along k at a time.
  if (product.depth / 8 > kInvocationIterationsMax) {
    return NotSupportedError("the products' sums ({} terms) are longer than a kernel loops over",
                             product.depth);
  }
  Load a_loads = ChooseLoad(product.a_strides.column, product.a_strides.row, product.depth,
                            product.rows, DistancesOf(product, 0));
  Load b_loads = ChooseLoad(product.b_strides.row, product.b_strides.column, product.depth,
                            product.columns, DistancesOf(product, 1));
  bool has_c = product.c != kNoValue;
  Kernel kernel = ChooseKernel(product, b_loads);

  LoweredCall call;
  call.shader = kernel.shader;
  call.specialization = {static_cast<uint32_t>(builder.descriptor(product.result).data_type()),
                         static_cast<uint32_t>(a_loads), static_cast<uint32_t>(b_loads), has_c};
  // The module declares slot 4, so something must be bound there.
  call.buffers = {{product.a, false},
                  {product.b, false},
                  {product.result, true},
                  {has_c ? product.c : product.a, false}};
  call.parameters = {CountMatrices(product),
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
  call.invocations = CountInvocations(product, kernel);
  call.cost = uint64_t{CountMatrices(product)} * product.rows * product.columns * product.depth;
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

#include "service/passes/matrix_product.h"

#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/gemv.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;

// An invocation's share: ROWS and 4 * COLUMNS of shaders/table.txt or, by words, its sums.
struct Kernel {
  ShaderId shader;
  uint32_t rows;
  uint32_t columns;
  bool by_words = false;
  bool begins_anywhere = false;  // Rows of b, by words.
};

uint64_t CountInvocations(const Product& product, const Kernel& kernel) {
  return uint64_t{CountMatrices(product)} * DivideRoundingUp(product.rows, kernel.rows) *
         DivideRoundingUp(product.columns, kernel.columns);
}

// The distances between the matrices of a (operand 0) or b (1).
std::vector<uint32_t> DistancesOf(const Product& product, size_t operand) {
  std::vector<uint32_t> strides;
  for (const StridedDimension& dimension : product.batch) {
    strides.push_back(dimension.strides[operand]);
  }
  return strides;
}

// Whether columns follow each other in b as in the result, and rows of that begin with a word; and
// the kernel, which takes four steps a turn, does not loop too long.
bool GoesByWords(const Product& product, webidl::OperandDataType type) {
  constexpr uint32_t kStepsOfTurn = 4;  // Of row_by_words.glsl.
  if (product.depth / kStepsOfTurn + kStepsOfTurn > kInvocationIterationsMax) return false;
  if (product.b_strides.column != 1 || product.result_strides.column != 1) return false;
  return type != webidl::OperandDataType::kFloat16 || CountMatrices(product) == 1 ||
         StoresPairs(product, type);
}

// Whether rows of b begin within words, too.
bool BeginsAnywhere(const Product& product, webidl::OperandDataType type) {
  bool begins_with_word = product.b_strides.row % 2 == 0;
  for (uint32_t distance : DistancesOf(product, 1)) {
    begins_with_word = begins_with_word && distance % 2 == 0;
  }
  return type == webidl::OperandDataType::kFloat16 && !begins_with_word;
}

// Of one row, on llvmpipe.
Kernel ChooseRowKernel(const Product& product, LoadPattern b_loads, webidl::OperandDataType type) {
  // Where columns are contiguous, reading more of each row spares memory latency.
  constexpr uint32_t kWideColumnsMin = 1024;
  constexpr uint32_t kLanesMax = 16;
  if (product.columns >= 4 * kLanesMax && GoesByWords(product, type)) {
    // Sums of an invocation: a subgroup's are no more than there are columns.
    uint32_t sums = product.columns >= 8 * kLanesMax ? 8 : 4;
    if (product.columns >= kWideColumnsMin) sums = 16;
    return {ShaderId::kMatmulWideRow, 1, sums, /*by_words=*/true, BeginsAnywhere(product, type)};
  }
  if (b_loads != LoadPattern::kFourAlongK && product.columns >= kWideColumnsMin) {
    return {ShaderId::kMatmulWideRow, 1, 16};
  }
  return {ShaderId::kMatmulRow, 1, 4};
}

Kernel ChooseKernel(const Product& product, LoadPattern b_loads, webidl::OperandDataType type,
                    bool wide) {
  if (product.image) return {ShaderId::kConv2dTile, 8, 4};
  if (product.rows > 1) return {ShaderId::kMatmulTile, 8, 4};
  if (wide) return {ShaderId::kMatmulRow, 1, 4};
  return ChooseRowKernel(product, b_loads, type);
}

// Of one row, how invocations of a wide device divide b: `across` in fours of columns, the others
// of a workgroup along its depth (DIVIDES_DEPTH of shaders/matmul.comp).
struct DepthDivision {
  uint32_t across = 32;
  uint64_t workgroups = 0;
};

// Nothing where the depth is too short.
std::optional<DepthDivision> DivideDepth(const Product& product, webidl::OperandDataType type) {
  constexpr uint32_t kStepsMin = 32;
  if (product.image || product.rows > 1 || product.depth < kStepsMin) return std::nullopt;
  // What is read of each row of b should be whole sectors of memory, and longer where that leaves
  // enough workgroups; and each part of the depth should have steps to load at once.
  constexpr uint64_t kWorkgroupsMin = 256;
  constexpr uint32_t kInvocations = 128;
  constexpr uint32_t kStepsOfPart = 8;
  const uint32_t across_min = type == webidl::OperandDataType::kFloat16 ? 4 : 2;
  DepthDivision division;
  for (;; division.across /= 2) {
    division.workgroups =
        uint64_t{CountMatrices(product)} * DivideRoundingUp(product.columns, 4 * division.across);
    if (division.workgroups >= kWorkgroupsMin || division.across == across_min ||
        product.depth / kStepsOfPart < kInvocations / division.across * 2) {
      return division;
    }
  }
}

// How elements load that lie `along_k` and `across` from each other, `depth` and `width` of them.
// `matrix_strides` are the distances between matrices. Every run of four elements from a multiple
// of 4 on must be one aligned load.
LoadPattern ChooseLoad(uint32_t along_k, uint32_t across, uint32_t depth, uint32_t width,
                       std::span<const uint32_t> matrix_strides) {
  for (uint32_t stride : matrix_strides) {
    if (stride % 4 != 0) return LoadPattern::kOne;
  }
  if (across == 1 && width % 4 == 0 && (along_k % 4 == 0 || depth == 1))
    return LoadPattern::kFourAcross;
  if (along_k == 1 && depth % 4 == 0 && (across % 4 == 0 || width == 1))
    return LoadPattern::kFourAlongK;
  return LoadPattern::kOne;
}

// The same product as that of b and a, transposed: of one column so one row, of which kernels read
// the matrix once.
Product Transposed(const Product& product) {
  Product transposed = product;
  std::swap(transposed.a, transposed.b);
  std::swap(transposed.rows, transposed.columns);
  transposed.a_strides = {product.b_strides.column, product.b_strides.row};
  transposed.b_strides = {product.a_strides.column, product.a_strides.row};
  transposed.c_strides = {product.c_strides.column, product.c_strides.row};
  // Of one row none is stepped by.
  transposed.result_strides = {0, product.result_strides.row};
  for (StridedDimension& dimension : transposed.batch) {
    std::swap(dimension.strides[0], dimension.strides[1]);
  }
  return transposed;
}

// Whether a is one row, and each row of b, as it lies in memory, one column of it.
bool IsGemv(const Product& product, webidl::OperandDataType type, bool wide) {
  // Elements of a row that a subgroup of llvmpipe's loads at once: shorter ones leave lanes idle.
  constexpr uint32_t kDepthMin = 64;
  if (!wide && product.depth < kDepthMin) return false;
  // The kernel adds one vector, and has no activations.
  const bool has_one_addend = product.c == kNoValue || product.residual == kNoValue;
  return product.rows == 1 && !product.image && has_one_addend && !product.activation &&
         CountMatrices(product) == 1 && product.a_strides.column == 1 &&
         product.b_strides.row == 1 && product.b_strides.column == product.depth &&
         product.result_strides.column == 1 && product.c_strides.column <= 1 &&
         IsGemvDepth(type, product.depth);
}

Gemv MakeGemv(const Product& product) {
  Gemv gemv;
  gemv.x = product.a;
  gemv.depth = product.depth;
  gemv.alpha = product.alpha;
  Gemv::Matrix matrix{.weights = product.b, .result = product.result, .rows = product.columns};
  if (product.residual != kNoValue) {
    matrix.addend = product.residual;
  } else {
    matrix.addend = product.c;
    matrix.addend_stride = product.c_strides.column;
    gemv.beta = product.beta;
  }
  gemv.matrices = {matrix};
  return gemv;
}

}  // namespace

uint32_t CountMatrices(const Product& product) {
  uint32_t matrices = 1;
  for (const StridedDimension& dimension : product.batch) matrices *= dimension.size;
  return matrices;
}

uint64_t CountMultiplyAdds(const Product& product) {
  return uint64_t{CountMatrices(product)} * product.rows * product.columns * product.depth;
}

bool IsColumn(const Product& product) {
  return product.columns == 1 && product.rows > 1 && !product.image && product.block_width == 0;
}

LoadPattern ChooseLoadOfA(const Product& product) {
  return ChooseLoad(product.a_strides.column, product.a_strides.row, product.depth, product.rows,
                    DistancesOf(product, 0));
}

LoadPattern ChooseLoadOfB(const Product& product) {
  if (product.image) return product.image->loads;
  return ChooseLoad(product.b_strides.row, product.b_strides.column, product.depth, product.columns,
                    DistancesOf(product, 1));
}

bool StoresPairs(const Product& product, webidl::OperandDataType type) {
  bool pairs = type == webidl::OperandDataType::kFloat16 && product.result_strides.column == 1 &&
               product.result_strides.row % 2 == 0 && product.columns % 2 == 0;
  for (const StridedDimension& dimension : product.batch) {
    pairs = pairs && dimension.strides[3] % 2 == 0;
  }
  return pairs;
}

void AppendImage(const ImageColumns& image, std::vector<uint32_t>& parameters) {
  constexpr size_t kImage = 24;  // Of image_columns.glsl, in uvec4.
  parameters.resize(4 * kImage);
  parameters.insert(parameters.end(), image.parameters.begin(), image.parameters.end());
}

Status AddProductCall(const Product& given, LoweringBuilder& builder) {
  const Product product = IsColumn(given) ? Transposed(given) : given;
  // The kernels take kBlock (product.glsl) elements along k at a time, subgroups of four
  // invocations one.
  const auto check_depth = [&](uint32_t at_once) -> Status {
    if (product.depth / at_once <= kInvocationIterationsMax) return {};
    return NotSupportedError("the products' sums ({} terms) are longer than a kernel loops over",
                             product.depth);
  };
  const bool narrow = builder.device().narrow;
  TRY(check_depth(narrow && product.rows > 1 ? 1 : 8));
  if (IsTall(product, builder.wide()) || TakesTurns(product, builder)) {
    return AddTallProductCalls(product, builder);
  }
  CHECK(product.block_width == 0);
  LoadPattern a_loads = ChooseLoadOfA(product);
  LoadPattern b_loads = ChooseLoadOfB(product);
  webidl::OperandDataType type = builder.descriptor(product.result).data_type();
  if (IsGemv(product, type, builder.wide())) {
    AddGemvCall(MakeGemv(product), builder);
    return {};
  }
  bool has_c = product.c != kNoValue;
  bool has_residual = product.residual != kNoValue;
  Kernel kernel = ChooseKernel(product, b_loads, type, builder.wide());
  if (narrow && !kernel.by_words) TRY(check_depth(1));
  std::optional<DepthDivision> division;
  if (builder.wide()) division = DivideDepth(product, type);

  LoweredCall call;
  call.shader = division ? ShaderId::kMatmulDividedRow : kernel.shader;
  call.specialization = {static_cast<uint32_t>(type),
                         static_cast<uint32_t>(a_loads),
                         static_cast<uint32_t>(b_loads),
                         has_c,
                         StoresPairs(product, type),
                         product.image && product.image->channels_last,
                         has_residual,
                         ActivationConstant(product.activation),
                         /*kAcross=*/division ? division->across : 0,
                         kernel.by_words ? kernel.columns : 0,
                         kernel.begins_anywhere};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{product.a, false},
                  {product.b, false},
                  {product.result, true},
                  {has_c ? product.c : product.a, false},
                  {has_residual ? product.residual : product.a, false}};
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
                     product.result_strides.row,
                     product.result_strides.column,
                     0};
  AppendDimensions(product.batch, call.parameters);
  if (product.image) AppendImage(*product.image, call.parameters);
  AppendActivation(product.activation, call.parameters);
  if (division) {
    call.workgroups = division->workgroups;
  } else {
    call.invocations = CountInvocations(product, kernel);
  }
  call.cost = CountMultiplyAdds(product);
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

// Products of matrices as one kernel call: what matrix products and convolutions lower to.
#ifndef WEBNND_SERVICE_PASSES_MATRIX_PRODUCT_H_
#define WEBNND_SERVICE_PASSES_MATRIX_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Elements from one row, and from one column, of a matrix to the next.
struct MatrixStrides {
  uint32_t row = 0;
  uint32_t column = 0;
};

// How a kernel loads an operand: LOADS_... of shaders/product_loads.glsl.
enum class LoadPattern : uint32_t { kOne, kFourAlongK, kFourAcross, kPanels, kLines };

// The windows of an image in place of b.
struct ImageColumns {
  bool channels_last = false;  // How k counts.
  LoadPattern loads = LoadPattern::kOne;
  std::vector<uint32_t> parameters;  // As shaders/image_columns.glsl reads them.
};

// result = activation(alpha * a * b + beta * c + residual), as shaders/matmul.comp and
// tall_matmul.comp compute it.
struct Product {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  ValueId c = kNoValue;         // kNoValue: none.
  ValueId residual = kNoValue;  // Like the result; kNoValue: none.
  ValueId result = kNoValue;
  uint32_t rows = 0;     // M
  uint32_t columns = 0;  // N
  uint32_t depth = 0;    // K
  MatrixStrides a_strides;
  MatrixStrides b_strides;
  MatrixStrides c_strides;
  MatrixStrides result_strides;
  // Where the result, c and the residual have more columns, the first of those that are meant, a
  // multiple of kBufferAlignment elements. Only for products that are tall.
  uint32_t first_column = 0;
  double alpha = 1;
  double beta = 1;
  std::vector<StridedDimension> batch;  // Strides of a, b, c and the result.
  std::optional<ImageColumns> image;
  std::optional<Activation> activation;
  // Where not 0, the width of the image whose pixels the columns are: each group of four rows is
  // what they give to the 2 x 2 elements of a channel of the result. c is then one element for each
  // channel, and result_strides.row the distance of channels. Only for products that are tall.
  uint32_t block_width = 0;
};

uint32_t CountMatrices(const Product& product);
uint64_t CountMultiplyAdds(const Product& product);
// Whether the result is a column, which is computed as a row: a then is read once.
bool IsColumn(const Product& product);
LoadPattern ChooseLoadOfA(const Product& product);
LoadPattern ChooseLoadOfB(const Product& product);
// Whether two float16 results along n, from an even n on, share no word with others.
bool StoresPairs(const Product& product, webidl::OperandDataType type);
// Appends what shaders/image_columns.glsl reads, at its place behind the other parameters.
void AppendImage(const ImageColumns& image, std::vector<uint32_t>& parameters);

// NotSupported where the sums are too long for a kernel.
Status AddProductCall(const Product& product, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_MATRIX_PRODUCT_H_

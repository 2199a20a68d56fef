// Convolution: a conv2d or convTranspose2d, by meaning rather than by layout.
#ifndef WEBNND_SERVICE_PASSES_CONVOLUTION_H_
#define WEBNND_SERVICE_PASSES_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "service/passes/lowering.h"
#include "service/passes/window.h"
#include "webidl/generated/types.h"

namespace webnnd::service {

// What convolutions and their transposed form have in common.
struct Convolution {
  bool transposed = false;
  webidl::InputOperandLayout layout{};
  uint32_t groups = 1;
  uint32_t input_channels = 0;   // Of a group.
  uint32_t output_channels = 0;  // Of a group.
  Axis height;
  Axis width;
  // Strides of the filter.
  uint32_t filter_group = 0;
  uint32_t filter_output = 0;
  uint32_t filter_input = 0;
  uint32_t filter_row = 0;
  uint32_t filter_column = 0;
};

// Of a conv2d or convTranspose2d. NotSupported where the padded image is longer than kernels index.
Result<Convolution> MakeConvolution(const Node& node, const LoweringBuilder& builder);

// Whether images have one column, as frameworks make them of signals. As such of one row they are
// the same in memory, and neighbours what lies along it.
bool IsOneColumn(const Convolution& convolution);
Convolution AsOneRow(Convolution convolution);

// Slots 1 to 5 of the kernels that take a convolution whole: image, filter, result, bias and
// residual. They are declared whatever there is, so the image is bound for what is not there.
std::vector<LoweredBuffer> ConvolutionBuffers(const Node& node);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_CONVOLUTION_H_

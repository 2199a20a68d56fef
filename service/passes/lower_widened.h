// Operators whose float16 llvmpipe computes faster as float32.
#ifndef WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_
#define WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_

#include <cstdint>

#include "service/passes/lowering.h"

namespace webnnd::service {

// Whether casts pay for a node whose kernels for float16 take an element at a time: from so many
// elements of its first operand and result on, where a copy of twice their size has room.
bool IsWorthWidening(const Node& node, uint64_t elements_min, const LoweringBuilder& builder);

// Of convolutions that take single elements.
inline constexpr uint64_t kConvolutionElementsMin = 1 << 13;

// Casts operands of float16 to float32, has `lower` add the calls for them, and casts what it gives
// back, if it is not of another type.
Status LowerWidened(const Node& node, LowerFunction lower, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_

// Operators whose float16 llvmpipe computes faster as float32.
#ifndef WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_
#define WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_

#include <cstdint>

#include "service/passes/lowering.h"

namespace webnnd::service {

// Whether the operator has a kernel for float32 that goes by words or quads, and for float16 one
// that takes an element at a time, and so many of them that the difference pays for casts there and
// back. All kernels compute of float16 in float32 and round results once, so they stay the same.
bool IsWidened(const Node& node, const LoweringBuilder& builder);

// Whether casts pay for a node whose kernels for float16 take an element at a time: from so many
// elements of its first operand and result on, where a copy of twice their size has room.
bool IsWorthWidening(const Node& node, uint64_t elements_min, const LoweringBuilder& builder);

// Of convolutions that take single elements.
inline constexpr uint64_t kConvolutionElementsMin = 1 << 13;

// Whether a kernel can bind the value's elements as float32, too.
bool HasRoomWidened(ValueId value, const LoweringBuilder& builder);

// A float32 of the same shape, and one that has been cast from `narrow`.
Result<ValueId> AddWide(ValueId narrow, LoweringBuilder& builder);
Result<ValueId> AddWidened(ValueId narrow, LoweringBuilder& builder);

// Casts operands of float16 to float32, has `lower` add the calls for them, and casts what it gives
// back, if it is not of another type.
Status LowerWidened(const Node& node, LowerFunction lower, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_WIDENED_H_

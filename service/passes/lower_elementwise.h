// Element-wise operators. LowerFunction of service/passes/lowering.h each.
#ifndef WEBNND_SERVICE_PASSES_LOWER_ELEMENTWISE_H_
#define WEBNND_SERVICE_PASSES_LOWER_ELEMENTWISE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "service/passes/lowering.h"

namespace webnnd::service {

// Operators of one operand, activations included; all operators that have a UnaryOperation except
// clamp.
Status LowerUnary(const Node& node, LoweringBuilder& builder);
Status LowerClamp(const Node& node, LoweringBuilder& builder);
// Arithmetic, comparison and logical operators of two operands, and prelu.
Status LowerBinary(const Node& node, LoweringBuilder& builder);
Status LowerWhere(const Node& node, LoweringBuilder& builder);
Status LowerCast(const Node& node, LoweringBuilder& builder);
// The same of two values.
Status AddCast(ValueId from, ValueId to, LoweringBuilder& builder);

// Whether a kernel takes rows one by one on llvmpipe: by words of operands that are as wide as the
// result, or, where they are not, by elements, too. It has a specialisation constant for that,
// OperandOfRow of shaders/by_words.glsl, behind the others.
enum class TakesRows : uint8_t { kNo, kByWords, kByElementsToo };

// Adds a call that broadcasts its operands to the shape of the result, its last buffer: completes
// the parameters and the specialisation constants. `constants` are parameters from word
// kBroadcastConstants on.
inline constexpr size_t kBroadcastConstants = 128;
void AddBroadcastCall(LoweredCall call, LoweringBuilder& builder,
                      std::span<const uint32_t> constants = {},
                      TakesRows takes_rows = TakesRows::kNo);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_ELEMENTWISE_H_

// quantizeLinear and dequantizeLinear, with scales that cover blocks of elements.
#include <algorithm>
#include <cmath>

#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

void MakeQuantization(CaseMaker& maker) {
  const bool quantizes = maker.kind() == OperatorKind::kQuantizeLinear;
  Shape shape = maker.MakeShape(0, 8);
  // Rows of eights, which a kernel may take at once.
  if (!shape.empty() && maker.Flip()) shape.back() = 8 * maker.Between(1, 6);
  Shape blocks = shape;
  for (uint32_t& size : blocks) {
    const uint32_t divisor = maker.Between(1, size);
    size = size % divisor == 0 ? divisor : (maker.Flip() ? 1 : size);
  }
  // Leading dimensions may be left out, and are 1 then.
  while (!blocks.empty() && maker.OneIn(4)) blocks.erase(blocks.begin());
  const OperandDataType integer = maker.PickType(quantizes ? 2 : 0);
  const OperandDataType real = maker.PickType(1);
  // Half of the values near the range of the narrow types, half anywhere.
  const Domain domain = maker.Flip() ? Domain::kModerate : Domain::kAny;
  Array& input = maker.Add(quantizes ? real : integer, shape, domain);
  if (quantizes && domain == Domain::kModerate) {
    for (long double& value : input.values) value = RoundTo(real, value * 40);
  }
  maker.Add(real, blocks, Domain::kPositive);
  maker.Add(integer, blocks, domain);
}

void EvaluateDequantizeLinear(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& scale = *arguments.operands[1];
  const Array& zero_point = *arguments.operands[2];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const uint64_t block = BlockIndex(Unravel(i, input.shape()), input.shape(), scale.shape());
    results[0].Set(
        i, (Real(input.values[i]) - Real(zero_point.values[block])) * Real(scale.values[block]));
  }
}

// Where the quotient may be off across a tie, both integers are right.
void EvaluateQuantizeLinear(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& scale = *arguments.operands[1];
  const Array& zero_point = *arguments.operands[2];
  const OperandDataType type = results[0].type();
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const uint64_t block = BlockIndex(Unravel(i, input.shape()), input.shape(), scale.shape());
    const auto quantized = [&](long double steps) {
      return std::clamp(std::nearbyint(steps) + zero_point.values[block], LeastInteger(type),
                        GreatestInteger(type));
    };
    const Real steps = Real(input.values[i]) / Real(scale.values[block]);
    if (!std::isfinite(steps.value)) {
      // NaN gives the zero point.
      results[0].Set(i, quantized(std::isnan(steps.value) ? 0 : steps.value));
      continue;
    }
    const long double low = quantized(steps.value - steps.error);
    const long double high = quantized(steps.value + steps.error);
    results[0].Set(i, Real::Within((low + high) / 2, (high - low) / 2));
  }
}

}  // namespace webnnd::reference

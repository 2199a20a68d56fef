// Of one operand, element by element: arithmetic, functions, activations, clamp and cast.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

// An attribute, which the service rounds to float32.
Real Parameter(double value) { return Real::Rounded(value, 0, 0.5L); }

// The absolute error that shaders/math.glsl states of sine and cosine.
Real Trigonometric(long double value) { return Real::Within(value, std::ldexp(1.0L, -22)); }
Real Sin(long double x) { return Trigonometric(std::isfinite(x) ? std::sin(x) : kNan); }
Real Cos(long double x) { return Trigonometric(std::isfinite(x) ? std::cos(x) : kNan); }

// sign, relu and their like keep NaN.
long double Sign(long double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? 1 : (x < 0 ? -1 : 0);
}

// To the nearest, ties to even: nearbyint in the default rounding mode.
long double RoundEven(long double x) { return std::nearbyint(x); }

// Functions that one statement of accuracy covers, in ULP: exact ones first, then those of one or
// two operations, then those for which shaders/math.glsl states it.
Real Function(OperatorKind kind, long double x) {
  const auto exact = [](long double value) { return Real(value); };
  switch (kind) {
    case OperatorKind::kAbs:
      return exact(std::fabs(x));
    case OperatorKind::kCeil:
      return exact(std::ceil(x));
    case OperatorKind::kFloor:
      return exact(std::floor(x));
    case OperatorKind::kNeg:
      return exact(-x);
    case OperatorKind::kRelu:
      return Relu(x);
    case OperatorKind::kRoundEven:
      return exact(RoundEven(x));
    case OperatorKind::kSign:
      return exact(Sign(x));
    case OperatorKind::kIsInfinite:
      return exact(std::isinf(x));
    case OperatorKind::kIsNaN:
      return exact(std::isnan(x));
    case OperatorKind::kLogicalNot:
      return exact(x == 0);
    case OperatorKind::kReciprocal:
      return Real(1) / Real(x);
    case OperatorKind::kSqrt:
      return Sqrt(x);
    case OperatorKind::kCos:
      return Cos(x);
    case OperatorKind::kSin:
      return Sin(x);
    case OperatorKind::kTan: {
      // The quotient's error grows without bound where the cosine vanishes.
      Real quotient = Sin(x) / Cos(x);
      if (std::isfinite(x)) quotient.value = std::tan(x);
      return quotient;
    }
    case OperatorKind::kErf:
      // 4 ULP: beside a polynomial 1 - e^-z^2 erfc(z), of which 1 is most.
      return Real::Rounded(std::erf(x), 0, 4);
    case OperatorKind::kExp:
      return Exp(x);
    case OperatorKind::kGelu:
      if (std::isinf(x)) return exact(x > 0 ? x : 0);  // The limits.
      return Real::Rounded(x / 2 * std::erfc(-x / std::sqrt(2.0L)), 0,
                           x >= -2.2L && x <= -1.83L ? 18 : 8);
    case OperatorKind::kLog:
      return Log(x);
    case OperatorKind::kSigmoid:
      return Sigmoid(x);
    case OperatorKind::kSoftplus:
      // max(x, 0) + log(1 + e^-|x|): 3 ULP of the logarithm, 2 of its argument, and the sum.
      return Real::Rounded(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)), 0, 6);
    case OperatorKind::kSoftsign:
      return Real(x) / (Real(1) + Real(std::fabs(x)));
    case OperatorKind::kTanh:
      return Tanh(x);
    default:
      UNREACHABLE();
  }
}

// The draft's formula; the bounds make the quotient exact outside [-3, 3].
Real HardSwish(long double x) { return Real(x) * (Clamp(Real(x) + Real(3), 0, 6) / Real(6)); }

Real HardSigmoid(const webidl::HardSigmoidAttributes& attributes, long double x) {
  return Clamp(Parameter(attributes.alpha) * Real(x) + Parameter(attributes.beta), 0, 1);
}

Real Activation(const Arguments& arguments, long double x) {
  const auto& attributes = arguments.attributes;
  switch (arguments.kind) {
    case OperatorKind::kElu: {
      const Real alpha = Parameter(std::get<webidl::EluAttributes>(attributes).alpha);
      return x < 0 ? alpha * ExpMinus1(x) : Real(x);
    }
    case OperatorKind::kHardSigmoid:
      return HardSigmoid(std::get<webidl::HardSigmoidAttributes>(attributes), x);
    case OperatorKind::kHardSwish:
      return HardSwish(x);
    case OperatorKind::kLeakyRelu: {
      const Real alpha = Parameter(std::get<webidl::LeakyReluAttributes>(attributes).alpha);
      return x < 0 ? alpha * Real(x) : Real(x);
    }
    case OperatorKind::kLinear: {
      const auto& linear = std::get<webidl::LinearAttributes>(attributes);
      return Parameter(linear.alpha) * Real(x) + Parameter(linear.beta);
    }
    default:
      return Function(arguments.kind, x);
  }
}

// A bound of clamp; nullopt where it does not bind.
std::optional<long double> Bound(OperandDataType type,
                                 const std::optional<webidl::Number>& number) {
  if (!number) return std::nullopt;
  const auto* real = std::get_if<double>(&*number);
  if (real != nullptr && std::isnan(*real)) return std::nullopt;
  return CastTo(type, *number);
}

// The number in the alternative that fits the type best.
webidl::Number ToNumber(OperandDataType type, long double value) {
  if (IsFloat(type)) return static_cast<double>(value);
  if (IsSigned(type)) return static_cast<int64_t>(value);
  return static_cast<uint64_t>(value);
}

}  // namespace

void MakeUnary(CaseMaker& maker) {
  maker.Add(maker.PickType(0), maker.MakeShapeOf(0));
  const auto parameter = [&] { return 0.25 * maker.Between(0, 24) - 3; };
  switch (maker.kind()) {
    case OperatorKind::kElu:
      if (maker.Flip()) maker.attributes<webidl::EluAttributes>().alpha = parameter();
      return;
    case OperatorKind::kHardSigmoid:
      if (maker.Flip()) maker.attributes<webidl::HardSigmoidAttributes>().alpha = parameter();
      if (maker.Flip()) maker.attributes<webidl::HardSigmoidAttributes>().beta = parameter();
      return;
    case OperatorKind::kLeakyRelu:
      if (maker.Flip()) maker.attributes<webidl::LeakyReluAttributes>().alpha = parameter();
      return;
    case OperatorKind::kLinear:
      if (maker.Flip()) maker.attributes<webidl::LinearAttributes>().alpha = parameter();
      if (maker.Flip()) maker.attributes<webidl::LinearAttributes>().beta = parameter();
      return;
    default:
      return;
  }
}

void EvaluateUnary(const Arguments& arguments, std::span<Array> results) {
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const Real result = Activation(arguments, arguments.operands[0]->values[i]);
    if (IsFloat(results[0].type())) {
      results[0].Set(i, result);
    } else {
      results[0].values[i] = RoundTo(results[0].type(), result.value);  // -INT_MIN wraps.
    }
  }
}

void MakeClamp(CaseMaker& maker) {
  const OperandDataType type = maker.PickType(0);
  maker.Add(type, maker.MakeShapeOf(0));
  // Bounds of the same kind as the values, infinities and -0 included; at times one is NaN.
  std::vector<long double> candidates;
  for (int i = 0; i < 2; ++i) {
    const auto& values = maker.operand(0).values;
    const long double value = values[maker.Between(0, static_cast<uint32_t>(values.size()) - 1)];
    candidates.push_back(std::isnan(value) ? 1 : value);
  }
  if (candidates[1] < candidates[0]) std::swap(candidates[0], candidates[1]);
  auto& clamp = maker.attributes<webidl::ClampAttributes>();
  if (!maker.OneIn(4)) clamp.min_value = ToNumber(type, candidates[0]);
  if (!maker.OneIn(4)) clamp.max_value = ToNumber(type, candidates[1]);
  if (maker.OneIn(8)) (maker.Flip() ? clamp.min_value : clamp.max_value) = std::nan("");
}

void EvaluateClamp(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ClampAttributes>(arguments.attributes);
  const OperandDataType type = results[0].type();
  const std::optional<long double> least = Bound(type, attributes.min_value);
  const std::optional<long double> greatest = Bound(type, attributes.max_value);
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    long double x = arguments.operands[0]->values[i];
    if (!std::isnan(x) && least) x = std::max(x, *least);
    if (!std::isnan(x) && greatest) x = std::min(x, *greatest);
    results[0].values[i] = x;
  }
}

void MakeCast(CaseMaker& maker) {
  maker.Add(maker.PickType(0), maker.MakeShapeOf(0));
  maker.attributes<webidl::CastAttributes>().data_type =
      maker.PickFrom(webidl::GetOperatorRow(maker.kind()).outputs[0].types);
}

// Integers keep their low bits. Floats truncate; what the draft leaves open, we promise
// (shaders/cast.comp): they saturate, and NaN gives 0.
void EvaluateCast(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  Array& result = results[0];
  for (uint64_t i = 0; i < result.size(); ++i) {
    const long double x = input.values[i];
    if (IsFloat(result.type())) {
      // Vulkan leaves open how an integer is rounded to a float.
      const bool exact = IsFloat(input.type()) || RoundTo(OperandDataType::kFloat32, x) == x;
      result.Set(i, exact ? Real(x) : Real::Rounded(x, 0));
    } else if (!IsFloat(input.type())) {
      result.values[i] = RoundTo(result.type(), x);
    } else if (std::isnan(x)) {
      result.values[i] = 0;
    } else {
      result.values[i] =
          std::clamp(std::trunc(x), LeastInteger(result.type()), GreatestInteger(result.type()));
    }
  }
}

}  // namespace webnnd::reference

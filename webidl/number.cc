#include "webidl/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace webnnd::webidl {

namespace {

double RoundToFloat16(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  // 65520 lies halfway between the largest binary16 and 2^16, and 2^16 counts as even.
  if (std::fabs(value) >= 65520) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  // The spacing of binary16 at this magnitude: 10 bits of fraction, subnormals below 2^-14.
  const double spacing = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
  return std::nearbyint(value / spacing) * spacing;
}

double RoundToFloat32(double value) {
  // Beyond the midpoint of the largest binary32 and 2^128 C++ leaves the conversion undefined.
  constexpr double kOverflow = 0x1.ffffffp127;
  if (std::fabs(value) >= kOverflow) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return static_cast<float>(value);
}

template <class T>
T SaturateRounding(double value, T lower, T upper) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  // The bounds of 64 bits round up as doubles, so compare with >= and <= before converting.
  if (rounded <= static_cast<double>(lower)) return lower;
  if (rounded >= static_cast<double>(upper)) return upper;
  return static_cast<T>(rounded);
}

template <class T>
T ToInteger(const Number& number, T lower, T upper) {
  return std::visit(
      [lower, upper](auto value) -> T {
        if constexpr (std::is_floating_point_v<decltype(value)>) {
          return SaturateRounding<T>(value, lower, upper);
        } else {
          if (std::cmp_less(value, lower)) return lower;
          if (std::cmp_greater(value, upper)) return upper;
          return static_cast<T>(value);
        }
      },
      number);
}

template <class T>
Number ToSigned(const Number& number) {
  return ToInteger<int64_t>(number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

template <class T>
Number ToUnsigned(const Number& number) {
  return ToInteger<uint64_t>(number, 0, std::numeric_limits<T>::max());
}

}  // namespace

Number CastNumber(const Number& number, OperandDataType type) {
  switch (type) {
    case OperandDataType::kFloat32:
      // Straight from the integer: through double it would round twice.
      return std::visit(
          [](auto value) -> Number {
            if constexpr (std::is_floating_point_v<decltype(value)>) {
              return RoundToFloat32(value);
            } else {
              return double{static_cast<float>(value)};
            }
          },
          number);
    case OperandDataType::kFloat16:
      // An integer that double rounds is far beyond binary16 already.
      return std::visit(
          [](auto value) -> Number { return RoundToFloat16(static_cast<double>(value)); }, number);
    case OperandDataType::kInt64:
      return ToSigned<int64_t>(number);
    case OperandDataType::kInt32:
      return ToSigned<int32_t>(number);
    case OperandDataType::kInt8:
      return ToSigned<int8_t>(number);
    case OperandDataType::kInt4:
      return ToInteger<int64_t>(number, -8, 7);
    case OperandDataType::kUint64:
      return ToUnsigned<uint64_t>(number);
    case OperandDataType::kUint32:
      return ToUnsigned<uint32_t>(number);
    case OperandDataType::kUint8:
      return ToUnsigned<uint8_t>(number);
    case OperandDataType::kUint4:
      return ToInteger<uint64_t>(number, 0, 15);
  }
  UNREACHABLE();
}

bool NumberLess(const Number& a, const Number& b) {
  CHECK(a.index() == b.index());
  return a < b;
}

ClampBounds CastBounds(const ClampAttributes& clamp, OperandDataType type) {
  const auto cast = [type](const std::optional<Number>& bound, double absent) {
    const auto* real = bound ? std::get_if<double>(&*bound) : nullptr;
    const bool binds = bound && (real == nullptr || !std::isnan(*real));
    return CastNumber(binds ? *bound : Number(absent), type);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {cast(clamp.min_value, -kInfinity), cast(clamp.max_value, kInfinity)};
}

std::string NumberToString(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

}  // namespace webnnd::webidl

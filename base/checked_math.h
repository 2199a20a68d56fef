// Arithmetic on sizes that cannot overflow silently.
#ifndef WEBNND_BASE_CHECKED_MATH_H_
#define WEBNND_BASE_CHECKED_MATH_H_

#include <concepts>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"

namespace webnnd {

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedAdd(T a, T b) {
  T out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedSub(T a, T b) {
  T out;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedMul(T a, T b) {
  T out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// The value in another integer type, or nullopt where it does not fit.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr std::optional<To> CheckedCast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

// For values that earlier checks have proved to fit.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To NarrowCast(From value) {
  CHECK(std::in_range<To>(value));
  return static_cast<To>(value);
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T DivideRoundingUp(T numerator, T denominator) {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

// `value` up to the next multiple of a power of two.
template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> CheckedAlignUp(T value, T alignment) {
  CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0);
  auto padded = CheckedAdd<T>(value, alignment - 1);
  if (!padded) return std::nullopt;
  return *padded & ~(alignment - 1);
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T AlignUp(T value, T alignment) {
  auto aligned = CheckedAlignUp(value, alignment);
  CHECK(aligned.has_value());
  return *aligned;
}

}  // namespace webnnd

#endif  // WEBNND_BASE_CHECKED_MATH_H_

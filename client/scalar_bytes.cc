#include "client/scalar_bytes.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "webidl/number.h"

namespace webnn {
namespace {

using webnnd::webidl::Number;
using webnnd::webidl::OperandDataType;

// Bits of the IEEE 754 binary16 that `value` is: the cast has rounded it already.
uint16_t Float16Bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  const double magnitude = std::fabs(value);
  // Subnormals count in units of 2^-24.
  if (magnitude < 0x1p-14) return sign | static_cast<uint16_t>(magnitude * 0x1p24);
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // In [0.5, 1): the bias is one less.
  const auto significand = static_cast<uint32_t>(fraction * 2048) - 1024;
  return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | significand);
}

template <class T>
std::vector<std::byte> Bytes(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The cast gives an integer within its type's range: the narrower type is its low bits.
uint64_t IntegerBits(const Number& number) {
  if (const auto* value = std::get_if<int64_t>(&number)) return static_cast<uint64_t>(*value);
  return std::get<uint64_t>(number);
}

}  // namespace

std::vector<std::byte> ScalarBytes(const Number& number, OperandDataType type) {
  const Number cast = webnnd::webidl::CastNumber(number, type);
  switch (type) {
    case OperandDataType::kFloat32:
      return Bytes(static_cast<float>(std::get<double>(cast)));
    case OperandDataType::kFloat16:
      return Bytes(Float16Bits(std::get<double>(cast)));
    case OperandDataType::kInt64:
    case OperandDataType::kUint64:
      return Bytes(IntegerBits(cast));
    case OperandDataType::kInt32:
    case OperandDataType::kUint32:
      return Bytes(static_cast<uint32_t>(IntegerBits(cast)));
    case OperandDataType::kInt8:
    case OperandDataType::kUint8:
      return Bytes(static_cast<uint8_t>(IntegerBits(cast)));
    case OperandDataType::kInt4:
    case OperandDataType::kUint4:
      return Bytes(static_cast<uint8_t>(IntegerBits(cast) & 0xf));
  }
  UNREACHABLE();
}

}  // namespace webnn

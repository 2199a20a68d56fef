#include "tests/conformance/values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace webnnd::conformance {
namespace {

using nlohmann::json;
using webidl::BitsPerElement;
using webidl::Number;
using webidl::OperandDataType;

uint16_t EncodeFloat16(double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return 0x7e00;
  double magnitude = std::fabs(value);
  // Halfway between the largest number and the next power of two: ties go to even, infinity here.
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  // Subnormals share the exponent of the smallest normal number.
  int exponent = std::max(std::ilogb(magnitude), -14);
  auto units = static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // The leading one of a normal number, and a carry of rounding, add to the exponent's field.
  return static_cast<uint16_t>(sign | (units + ((exponent + 14) << 10)));
}

double DecodeFloat16(uint16_t bits) {
  double sign = (bits & 0x8000) != 0 ? -1 : 1;
  int exponent = (bits >> 10) & 31;
  int fraction = bits & 0x3ff;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

double ToDouble(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// An integer as 128 bits, which hold both int64 and uint64.
Result<__int128> ToInteger(const Number& number) {
  if (const auto* value = std::get_if<double>(&number)) {
    INVALID_IF(std::trunc(*value) != *value || std::fabs(*value) > 1e19,
               "the number ({}) is not an integer", *value);
    return static_cast<__int128>(*value);
  }
  if (const auto* value = std::get_if<int64_t>(&number)) return static_cast<__int128>(*value);
  return static_cast<__int128>(std::get<uint64_t>(number));
}

// An integer of a byte's range brought into 4 bits; anything else as it is.
Number Narrow(OperandDataType type, const Number& number, Narrowing narrowing) {
  constexpr __int128 kByteMax = 255;
  auto integer = ToInteger(number);
  if (!integer.ok() || *integer > kByteMax || *integer < -kByteMax) return number;
  const int64_t minimum = IsSignedInteger(type) ? -8 : 0;
  auto value = static_cast<int64_t>(*integer);
  if (narrowing == Narrowing::kSaturate) return std::clamp(value, minimum, minimum + 15);
  return ((value - minimum) & 15) + minimum;
}

Result<Number> ParseText(const std::string& text) {
  if (text == "NaN") return Number(std::numeric_limits<double>::quiet_NaN());
  if (text == "Infinity") return Number(std::numeric_limits<double>::infinity());
  if (text == "-Infinity") return Number(-std::numeric_limits<double>::infinity());
  if (text == "-0") return Number(-0.0);
  const char* end = text.data() + text.size();
  int64_t as_signed = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, as_signed);
      error == std::errc() && at == end) {
    return Number(as_signed);
  }
  uint64_t as_unsigned = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, as_unsigned);
      error == std::errc() && at == end) {
    return Number(as_unsigned);
  }
  return ValidationError("the text ({}) is not a number", text);
}

}  // namespace

Result<Number> ParseNumber(const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return ParseText(*text);
  if (const auto* number = value.get_ptr<const json::number_unsigned_t*>()) {
    return Number(static_cast<uint64_t>(*number));
  }
  if (const auto* number = value.get_ptr<const json::number_integer_t*>()) {
    return Number(static_cast<int64_t>(*number));
  }
  if (const auto* number = value.get_ptr<const json::number_float_t*>()) return Number(*number);
  return ValidationError("the value ({}) is not a number", value.dump());
}

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

bool IsSignedInteger(OperandDataType type) {
  return type == OperandDataType::kInt64 || type == OperandDataType::kInt32 ||
         type == OperandDataType::kInt8 || type == OperandDataType::kInt4;
}

Result<uint64_t> EncodeElement(OperandDataType type, const Number& number) {
  if (type == OperandDataType::kFloat32) {
    return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(ToDouble(number)))};
  }
  if (type == OperandDataType::kFloat16) return uint64_t{EncodeFloat16(ToDouble(number))};
  ASSIGN_OR_RETURN(__int128 value, ToInteger(number));
  uint32_t bits = BitsPerElement(type);
  bool is_signed = IsSignedInteger(type);
  __int128 minimum = is_signed ? -(__int128{1} << (bits - 1)) : 0;
  __int128 maximum = (__int128{1} << (is_signed ? bits - 1 : bits)) - 1;
  INVALID_IF(value < minimum || value > maximum, "the number ({}) is out of the range of {}",
             static_cast<double>(value), ToString(type));
  return static_cast<uint64_t>(value) & (~uint64_t{0} >> (64 - bits));
}

Result<std::vector<std::byte>> EncodeData(const webidl::OperandDescriptor& descriptor,
                                          const json& data, Narrowing narrowing) {
  const uint64_t count = descriptor.element_count();
  INVALID_IF(data.is_array() && data.size() != count,
             "the number of elements ({}) is not that of {} ({})", data.size(),
             descriptor.ToString(), count);
  const OperandDataType type = descriptor.data_type();
  const uint32_t bits = BitsPerElement(type);
  std::vector<std::byte> bytes(descriptor.byte_length());
  uint64_t element = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (data.is_array() || i == 0) {
      ASSIGN_OR_RETURN(Number number, ParseNumber(data.is_array() ? data[i] : data));
      if (bits == 4) number = Narrow(type, number, narrowing);
      ASSIGN_OR_RETURN(element, EncodeElement(type, number));
    }
    if (bits == 4) {
      bytes[i / 2] |= static_cast<std::byte>(element << (i % 2 * 4));
    } else {
      std::memcpy(bytes.data() + i * bits / 8, &element, bits / 8);
    }
  }
  return bytes;
}

uint64_t ElementBits(OperandDataType type, std::span<const std::byte> bytes, uint64_t index) {
  uint32_t bits = BitsPerElement(type);
  if (bits == 4) return static_cast<uint64_t>(bytes[index / 2]) >> (index % 2 * 4) & 15;
  uint64_t element = 0;
  std::memcpy(&element, bytes.data() + index * bits / 8, bits / 8);
  return element;
}

double FloatValue(OperandDataType type, uint64_t bits) {
  if (type == OperandDataType::kFloat16) return DecodeFloat16(static_cast<uint16_t>(bits));
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

int64_t SignedValue(OperandDataType type, uint64_t bits) {
  uint32_t unused = 64 - BitsPerElement(type);
  return static_cast<int64_t>(bits << unused) >> unused;
}

std::string ElementToString(OperandDataType type, uint64_t bits) {
  if (IsFloat(type)) return fmt::format("{}", FloatValue(type, bits));
  if (IsSignedInteger(type)) return fmt::format("{}", SignedValue(type, bits));
  return fmt::format("{}", bits);
}

}  // namespace webnnd::conformance

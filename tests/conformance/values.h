// Element values of conformance cases: from JSON to a tensor's bytes and back. Written apart from
// the library's own conversions, so that a defect there cannot hide here.
#ifndef WEBNND_TESTS_CONFORMANCE_VALUES_H_
#define WEBNND_TESTS_CONFORMANCE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::conformance {

// A JSON number, or a string: "NaN", "Infinity", "-Infinity", "-0", or a decimal integer.
Result<webidl::Number> ParseNumber(const nlohmann::json& json);

// The bits of `number` as an element of `type`: rounded to the nearest float, ties to even.
// Validation error when an integer type does not hold the number.
Result<uint64_t> EncodeElement(webidl::OperandDataType type, const webidl::Number& number);

// What the suite's cases write into a type of 4 bits goes beyond its range here and there.
enum class Narrowing : uint8_t {
  kWrap,      // Inputs: the low bits, as the suite packs them.
  kSaturate,  // Expected values: the suite compares them before packing, so the nearest value.
};

// A tensor's bytes from a list of all its elements, or from one value that fills the whole shape.
Result<std::vector<std::byte>> EncodeData(const webidl::OperandDescriptor& descriptor,
                                          const nlohmann::json& data, Narrowing narrowing);

// The bits of element `index`.
uint64_t ElementBits(webidl::OperandDataType type, std::span<const std::byte> bytes,
                     uint64_t index);
bool IsFloat(webidl::OperandDataType type);
bool IsSignedInteger(webidl::OperandDataType type);
// The value of a float element.
double FloatValue(webidl::OperandDataType type, uint64_t bits);
// The value of a signed integer element, from its low bits.
int64_t SignedValue(webidl::OperandDataType type, uint64_t bits);
// For messages.
std::string ElementToString(webidl::OperandDataType type, uint64_t bits);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_VALUES_H_

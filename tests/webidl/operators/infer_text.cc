#include "tests/webidl/operators/infer_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <deque>
#include <optional>
#include <sstream>
#include <vector>

#include "base/limits.h"
#include "webidl/generated/signatures.h"

namespace webnnd::webidl {

OperandDescriptor Descriptor(std::string_view text) {
  const size_t bracket = text.find('[');
  const auto type = OperandDataTypeFromString(text.substr(0, bracket));
  if (bracket == std::string_view::npos || text.back() != ']' || !type) {
    ADD_FAILURE() << "not a descriptor: " << text;
    return {};
  }
  Shape shape;
  const char* at = text.data() + bracket + 1;
  const char* end = text.data() + text.size() - 1;
  while (at < end) {
    uint32_t dimension = 0;
    at = std::from_chars(at, end, dimension).ptr + 1;
    shape.push_back(dimension);
  }
  auto descriptor = OperandDescriptor::Create(*type, shape);
  if (!descriptor.ok()) {
    ADD_FAILURE() << text << ": " << descriptor.error().message();
    return {};
  }
  return *descriptor;
}

std::string Infer(OperatorKind kind, std::string_view operands,
                  const OperatorAttributes& attributes, const std::string& label) {
  std::deque<OperandDescriptor> descriptors;  // Keeps addresses.
  std::vector<const OperandDescriptor*> slots;
  std::istringstream words{std::string(operands)};
  for (std::string word; words >> word;) {
    slots.push_back(word == "-" ? nullptr : &descriptors.emplace_back(Descriptor(word)));
  }
  const OperatorSignature& signature = GetSignature(kind);
  if (!signature.operand_list) {
    while (slots.size() < signature.slots.size()) slots.push_back(nullptr);
  }
  auto results = InferOperator(kind, slots, attributes, label);
  if (!results.ok()) {
    const bool validation = results.error().cause() == Cause::kValidation;
    return (validation ? "" : std::string(CauseName(results.error().cause())) + ": ") +
           results.error().message();
  }
  std::string text;
  for (const OperandDescriptor& result : *results) {
    if (!text.empty()) text += ' ';
    text += result.ToString();
  }
  return text;
}

std::string Infer(OperatorKind kind, std::string_view operands) {
  return Infer(kind, operands, DefaultAttributes(kind));
}

namespace {

bool IsSuccess(std::string_view outcome) {
  return OperandDataTypeFromString(outcome.substr(0, outcome.find('['))).has_value();
}

void ExpectOutcome(OperatorKind kind, std::string_view operands,
                   const OperatorAttributes& attributes, std::string_view outcome) {
  std::string expected = IsSuccess(outcome) ? std::string(outcome)
                                            : fmt::format("{}: {}", OperatorName(kind), outcome);
  constexpr std::string_view kBytesMax = "$BYTES_MAX";
  if (const size_t at = expected.find(kBytesMax); at != std::string::npos) {
    expected.replace(at, kBytesMax.size(), std::to_string(limits::kTensorBytesMax));
  }
  EXPECT_EQ(Infer(kind, operands, attributes), expected)
      << OperatorName(kind) << "(" << operands << ")";
}

}  // namespace

void ExpectSameTypes(OperatorKind kind, std::string_view operands,
                     const OperatorAttributes& attributes) {
  const OperatorSignature& signature = GetSignature(kind);
  constexpr std::string_view kType = "float32";
  size_t at = operands.find(kType);
  ASSERT_EQ(at, 0u) << operands;
  EXPECT_TRUE(IsSuccess(Infer(kind, operands, attributes))) << operands;
  size_t slot = 0;
  while ((at = operands.find(kType, at + 1)) != std::string_view::npos) {
    ++slot;
    std::string changed(operands);
    changed.replace(at, kType.size(), "float16");
    ExpectOutcome(kind, changed, attributes,
                  fmt::format("the data type of {} (float16) is not that of {} (float32)",
                              signature.slots[slot].name, signature.slots[0].name));
  }
  EXPECT_EQ(slot + 1, signature.slots.size()) << operands;
}

void ExpectOutcomes(OperatorKind kind, std::initializer_list<InferCase> cases) {
  for (const InferCase& c : cases) ExpectOutcome(kind, c.operands, c.attributes, c.outcome);
}

void ExpectOutcomes(OperatorKind kind, std::initializer_list<PlainInferCase> cases) {
  for (const PlainInferCase& c : cases) {
    ExpectOutcome(kind, c.operands, DefaultAttributes(kind), c.outcome);
  }
}

}  // namespace webnnd::webidl

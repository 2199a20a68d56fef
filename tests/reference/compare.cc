#include "tests/reference/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "webidl/operator_table.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;

long double ErrorOf(const Array& array, uint64_t i) {
  return array.errors.empty() ? 0 : array.errors[i];
}

bool IsSubnormal(OperandDataType type, long double x) {
  return type == OperandDataType::kFloat32 && x != 0 && std::fabs(x) < kLeastNormal;
}

std::vector<Array> EvaluateAll(const RandomCase& made,
                               const std::vector<webidl::OperandDescriptor>& descriptors) {
  std::vector<const Array*> operands;
  for (const auto& operand : made.operands) operands.push_back(operand ? &*operand : nullptr);
  std::vector<Array> results;
  for (const webidl::OperandDescriptor& descriptor : descriptors) {
    results.push_back({descriptor, std::vector<long double>(descriptor.element_count()), {}});
  }
  GetRow(made.kind).evaluate({made.kind, operands, made.attributes}, results);
  return results;
}

std::optional<RandomCase> FlushSubnormals(const RandomCase& made) {
  RandomCase flushed = made;
  bool any = false;
  for (auto& operand : flushed.operands) {
    if (!operand) continue;
    for (long double& value : operand->values) {
      if (!IsSubnormal(operand->type(), value)) continue;
      value = std::copysign(0.0L, value);
      any = true;
    }
  }
  return any ? std::optional(std::move(flushed)) : std::nullopt;
}

bool Matches(const Array& expected, uint64_t i, Match match, long double actual) {
  const long double wanted = expected.values[i];
  const long double error = ErrorOf(expected, i);
  if (std::isnan(wanted) || std::isnan(actual)) return std::isnan(wanted) && std::isnan(actual);
  if (!IsFloat(expected.type())) return std::fabs(actual - wanted) <= error;
  if (match == Match::kBits) {
    return actual == wanted && std::signbit(actual) == std::signbit(wanted);
  }
  if (std::isinf(wanted)) return actual == wanted;
  // Flushed to 0.
  if (actual == 0 && expected.type() == OperandDataType::kFloat32 &&
      std::fabs(wanted) - error < kLeastNormal) {
    return true;
  }
  return RoundTo(expected.type(), wanted - error) <= actual &&
         actual <= RoundTo(expected.type(), wanted + error);
}

bool IsUndecided(const Array& result, uint64_t i) {
  return std::isfinite(result.values[i]) && !std::isfinite(ErrorOf(result, i));
}

}  // namespace

Result<Expected> Evaluate(const RandomCase& made) {
  std::vector<const webidl::OperandDescriptor*> descriptors;
  for (const auto& operand : made.operands) {
    descriptors.push_back(operand ? &operand->descriptor : nullptr);
  }
  ASSIGN_OR_RETURN(auto inferred,
                   webidl::InferOperator(made.kind, descriptors, made.attributes, /*label=*/""));
  Expected expected;
  expected.results = EvaluateAll(made, inferred);
  if (GetRow(made.kind).match == Match::kValue) {
    if (auto flushed = FlushSubnormals(made)) expected.flushed = EvaluateAll(*flushed, inferred);
  }
  return expected;
}

std::string Compare(const Expected& expected, size_t result, Match match,
                    const service::HostTensor& actual) {
  const Array& wanted = expected.results[result];
  if (!(actual.descriptor == wanted.descriptor)) {
    return fmt::format("the result is {} and not {}", actual.descriptor.ToString(),
                       wanted.descriptor.ToString());
  }
  const std::vector<long double> values = actual.Values();
  for (uint64_t i = 0; i < values.size(); ++i) {
    if (IsUndecided(wanted, i) || Matches(wanted, i, match, values[i])) continue;
    if (!expected.flushed.empty()) {
      const Array& flushed = expected.flushed[result];
      if (IsUndecided(flushed, i) || Matches(flushed, i, match, values[i])) continue;
    }
    return fmt::format("element {} is {:.12g} and not {:.12g} (at most {:.3g} off)", i, values[i],
                       wanted.values[i], ErrorOf(wanted, i));
  }
  return "";
}

uint64_t CountUndecided(const Array& result) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < result.size(); ++i) count += IsUndecided(result, i) ? 1 : 0;
  return count;
}

}  // namespace webnnd::reference

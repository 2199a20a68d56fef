#include "webidl/dynamic_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/utf8.h"
#include "webidl/checks.h"

namespace webnnd::webidl {
namespace {

// Calls visit(sizes) for each list of the attributes whose items may be dynamic.
template <class Attributes, class Visit>
void VisitSizes(Attributes& attributes, const Visit& visit) {
  const auto visit_field = [&](std::string_view, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Sizes>) visit(field);
  };
  std::visit([&](auto& alternative) { VisitFields(alternative, visit_field); }, attributes);
}

Status AddSymbols(const LinearExpression& expression, Symbols& symbols) {
  for (const LinearExpression::Term& term : expression.terms()) {
    const auto [known, is_new] = symbols.try_emplace(term.name, term.bounds);
    INVALID_CHECK(20, known->second != term.bounds,
                  "the dimension ({}) is given as {} to {}, where elsewhere it is {} to {}",
                  DisplayText(term.name), term.bounds.min, term.bounds.max, known->second.min,
                  known->second.max);
  }
  return {};
}

// A name's sizes run from here: rows know no size of 0.
uint32_t LeastSample(const SizeBounds& bounds) { return std::max(bounds.min, 1u); }

std::vector<OperandDescriptor> DescriptorsAt(std::span<const OperandDescriptor* const> operands,
                                             const Assignment& sizes) {
  std::vector<OperandDescriptor> at;
  for (const OperandDescriptor* operand : operands) {
    at.push_back(operand == nullptr ? OperandDescriptor() : operand->At(sizes));
  }
  return at;
}

}  // namespace

bool HasDynamicItems(const OperatorAttributes& attributes) {
  bool has = false;
  VisitSizes(attributes, [&](const Sizes& sizes) { has = has || !sizes.dynamic.empty(); });
  return has;
}

Result<OperatorAttributes> AttributesAt(OperatorAttributes attributes, const DimensionNames& names,
                                        const Assignment& sizes) {
  Status status;
  VisitSizes(attributes, [&](Sizes& list) {
    for (const Sizes::Item& item : std::exchange(list.dynamic, {})) {
      auto expression = names.Resolve(item.dimension);
      if (!expression.ok()) {
        if (status.ok()) status = std::move(expression).error();
        continue;
      }
      // In bounds that are no more than kDimensionMax.
      list.at(item.index) = static_cast<uint32_t>(std::max<int64_t>(expression->At(sizes), 0));
    }
  });
  TRY(std::move(status));
  return attributes;
}

Result<Symbols> FindSymbols(std::span<const OperandDescriptor* const> operands,
                            const OperatorAttributes& attributes, const DimensionNames& names) {
  Symbols symbols;
  for (const OperandDescriptor* operand : operands) {
    if (operand == nullptr || !operand->is_dynamic()) continue;
    for (const LinearExpression& expression : operand->expressions()) {
      TRY(AddSymbols(expression, symbols));
    }
  }
  Status status;
  VisitSizes(attributes, [&](const Sizes& sizes) {
    for (const Sizes::Item& item : sizes.dynamic) {
      if (!status.ok()) return;
      auto expression = names.Resolve(item.dimension);
      status = expression.ok() ? AddSymbols(*expression, symbols)
                               : Status(std::move(expression).error());
    }
  });
  TRY(std::move(status));
  return symbols;
}

std::vector<Assignment> SamplePoints(const Symbols& symbols) {
  Assignment base, least, greatest, inner;
  uint32_t step = 1;
  for (const auto& [name, bounds] : symbols) {
    const uint32_t low = LeastSample(bounds);
    const uint32_t range = bounds.max - std::min(low, bounds.max);
    base[name] = low + std::min(range, step);
    least[name] = low;
    greatest[name] = bounds.max;
    inner[name] = low + static_cast<uint32_t>(uint64_t{range} * (step % 7 + 2) / 11);
    step += 2;
  }
  std::vector<Assignment> points = {base};
  for (const auto& [name, bounds] : symbols) {
    Assignment point = base;
    // Upwards where there is room.
    point[name] += base[name] < bounds.max ? 1 : -1;
    if (LeastSample(bounds) < bounds.max) points.push_back(std::move(point));
  }
  for (const auto& [name, bounds] : symbols) {
    Assignment point = least;
    point[name] = bounds.max;
    points.push_back(std::move(point));
    point = greatest;
    point[name] = LeastSample(bounds);
    points.push_back(std::move(point));
  }
  points.push_back(std::move(inner));
  points.push_back(std::move(least));
  points.push_back(std::move(greatest));
  return points;
}

std::optional<LinearExpression> FitExpression(const Symbols& symbols,
                                              std::span<const Assignment> points,
                                              std::span<const int64_t> values) {
  const Assignment& base = points[0];
  LinearExpression fit;
  int64_t constant = values[0];
  size_t next = 1;
  for (const auto& [name, bounds] : symbols) {
    if (LeastSample(bounds) >= bounds.max) continue;
    const int64_t step = int64_t{points[next].at(name)} - base.at(name);
    const int64_t slope = (values[next++] - values[0]) * step;  // step is 1 or -1.
    if (!fit.Add(name, bounds, slope)) return std::nullopt;
    constant -= slope * base.at(name);
  }
  if (!fit.AddConstant(constant)) return std::nullopt;
  for (size_t i = 0; i < points.size(); ++i) {
    if (fit.At(points[i]) != values[i]) return std::nullopt;
  }
  return fit;
}

Result<std::vector<OperandDescriptor>> InferDynamic(
    std::span<const OperandDescriptor* const> operands, const OperatorAttributes& attributes,
    const DimensionNames& names, const InferAt& infer) {
  ASSIGN_OR_RETURN(const Symbols symbols, FindSymbols(operands, attributes, names));
  const std::vector<Assignment> points = SamplePoints(symbols);
  std::vector<std::vector<OperandDescriptor>> results;
  for (const Assignment& point : points) {
    const std::vector<OperandDescriptor> at = DescriptorsAt(operands, point);
    std::vector<const OperandDescriptor*> present;
    for (size_t i = 0; i < operands.size(); ++i) {
      present.push_back(operands[i] == nullptr ? nullptr : &at[i]);
    }
    ASSIGN_OR_RETURN(const OperatorAttributes attributes_at,
                     AttributesAt(attributes, names, point));
    auto inferred = infer(present, attributes_at);
    if (!inferred.ok()) {
      const Error& error = inferred.error();
      return Error(error.cause(),
                   fmt::format("{}, where {}", error.message(), AssignmentToString(point)));
    }
    results.push_back(std::move(*inferred));
  }

  const auto has_ranks_of_first = [&](const std::vector<OperandDescriptor>& at) {
    return std::equal(at.begin(), at.end(), results[0].begin(), results[0].end(),
                      [](const auto& a, const auto& b) { return a.rank() == b.rank(); });
  };
  if (!std::all_of(results.begin(), results.end(), has_ranks_of_first)) {
    return NotSupportedError(
        "the number of results, or their rank, depends on the dynamic dimensions");
  }

  std::vector<OperandDescriptor> fitted;
  for (size_t result = 0; result < results[0].size(); ++result) {
    std::vector<LinearExpression> dimensions;
    for (size_t axis = 0; axis < results[0][result].shape().size(); ++axis) {
      std::vector<int64_t> values;
      for (const auto& at : results) {
        values.push_back(at[result].shape()[axis]);
      }
      std::optional<LinearExpression> expression = FitExpression(symbols, points, values);
      if (!expression) {
        return NotSupportedError(
            "dimension {} of the result is not a linear expression over the dynamic dimensions "
            "({} where {}, {} where {})",
            axis, values.front(), AssignmentToString(points.front()), values.back(),
            AssignmentToString(points.back()));
      }
      dimensions.push_back(*std::move(expression));
    }
    ASSIGN_OR_RETURN(
        OperandDescriptor descriptor,
        OperandDescriptor::Create(results[0][result].data_type(), std::move(dimensions)));
    fitted.push_back(std::move(descriptor));
  }
  return fitted;
}

}  // namespace webnnd::webidl

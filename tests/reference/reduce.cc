// Reductions, and what else sums: softmax, cumulativeSum, matrix products.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "tests/reference/indexing.h"
#include "tests/reference/reference.h"

namespace webnnd::reference {
namespace {

using webidl::OperatorKind;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

long double Sum(const std::vector<long double>& values) {
  long double sum = 0;
  for (long double value : values) sum += value;
  return sum;
}

long double Reduce(OperatorKind kind, const std::vector<long double>& values) {
  auto mapped = [&](auto map) {
    std::vector<long double> all;
    for (long double value : values) all.push_back(map(value));
    return Sum(all);
  };
  switch (kind) {
    case OperatorKind::kReduceL1:
      return mapped([](long double x) { return std::fabs(x); });
    case OperatorKind::kReduceL2:
      return std::sqrt(mapped([](long double x) { return x * x; }));
    case OperatorKind::kReduceLogSum:
      return std::log(Sum(values));
    case OperatorKind::kReduceLogSumExp:
      return std::log(mapped([](long double x) { return std::exp(x); }));
    case OperatorKind::kReduceMax:
      return *std::max_element(values.begin(), values.end());
    case OperatorKind::kReduceMean:
      return Sum(values) / static_cast<long double>(values.size());
    case OperatorKind::kReduceMin:
      return *std::min_element(values.begin(), values.end());
    case OperatorKind::kReduceProduct: {
      long double product = 1;
      for (long double value : values) product *= value;
      return product;
    }
    case OperatorKind::kReduceSum:
      return Sum(values);
    case OperatorKind::kReduceSumSquare:
      return mapped([](long double x) { return x * x; });
    default:
      UNREACHABLE();
  }
}

// How far rounding errors of the terms may carry: the size of the terms of the sum.
long double Magnitude(OperatorKind kind, const std::vector<long double>& values,
                      long double result) {
  long double terms = 0;
  for (long double value : values) terms += std::fabs(value);
  switch (kind) {
    case OperatorKind::kReduceSum:
      return terms;
    case OperatorKind::kReduceMean:
      return terms / static_cast<long double>(values.size());
    case OperatorKind::kReduceLogSum:
    case OperatorKind::kReduceLogSumExp:
      // A relative error of the sum is an absolute one of its logarithm.
      return std::max(std::fabs(result), 1.0L) + terms / static_cast<long double>(values.size());
    default:
      return std::fabs(result);
  }
}

long double At(const Array& matrix, const Position& batch, uint32_t row, uint32_t column) {
  const webidl::Shape& shape = matrix.shape();
  const webidl::Shape own_batch(shape.begin(), shape.end() - 2);
  uint64_t first = BroadcastIndex(batch, own_batch) * shape[shape.size() - 2] * shape.back();
  return matrix.values[first + uint64_t{row} * shape.back() + column];
}

}  // namespace

void EvaluateReduce(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ReduceAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  std::vector<std::vector<long double>> groups(results[0].size());
  for (uint64_t i = 0; i < input.size(); ++i) {
    Position at = Unravel(i, input.shape());
    Position kept;
    webidl::Shape kept_shape;
    for (uint32_t d = 0; d < at.size(); ++d) {
      bool reduced = !attributes.axes || std::find(attributes.axes->begin(), attributes.axes->end(),
                                                   d) != attributes.axes->end();
      if (reduced) continue;
      kept.push_back(at[d]);
      kept_shape.push_back(input.shape()[d]);
    }
    groups[Ravel(kept, kept_shape)].push_back(input.values[i]);
  }
  results[0].magnitudes.resize(groups.size());
  for (uint64_t i = 0; i < groups.size(); ++i) {
    results[0].values[i] = Reduce(arguments.kind, groups[i]);
    results[0].magnitudes[i] = Magnitude(arguments.kind, groups[i], results[0].values[i]);
  }
}

// The first of equals.
void EvaluateArgMinMax(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ArgMinMaxAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  const bool maximum = arguments.kind == OperatorKind::kArgMax;
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    if (attributes.keep_dimensions) {
      at[attributes.axis] = 0;
    } else {
      at.insert(at.begin() + attributes.axis, 0);
    }
    long double best = maximum ? -kInfinity : kInfinity;
    uint32_t best_index = 0;
    for (uint32_t k = 0; k < input.shape()[attributes.axis]; ++k) {
      at[attributes.axis] = k;
      long double value = input.values[Ravel(at, input.shape())];
      if (maximum ? value <= best : value >= best) continue;
      best = value;
      best_index = k;
    }
    results[0].values[i] = best_index;
  }
}

void EvaluateCumulativeSum(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  results[0].magnitudes.resize(input.size());
  for (uint64_t i = 0; i < input.size(); ++i) {
    Position at = Unravel(i, input.shape());
    const uint32_t here = at[attributes.axis];
    long double sum = 0;
    long double magnitude = 0;
    for (uint32_t k = 0; k < input.shape()[attributes.axis]; ++k) {
      bool before = attributes.reversed ? k > here : k < here;
      if (!before && !(k == here && !attributes.exclusive)) continue;
      at[attributes.axis] = k;
      long double value = input.values[Ravel(at, input.shape())];
      sum += value;
      magnitude += std::fabs(value);
    }
    results[0].values[i] = sum;
    results[0].magnitudes[i] = magnitude;
  }
}

void EvaluateSoftmax(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::SoftmaxAttributes>(arguments.attributes).axis;
  const Array& input = *arguments.operands[0];
  for (uint64_t i = 0; i < input.size(); ++i) {
    Position at = Unravel(i, input.shape());
    long double sum = 0;
    for (uint32_t k = 0; k < input.shape()[axis]; ++k) {
      at[axis] = k;
      // In relation to this element, so that nothing overflows.
      sum += std::exp(input.values[Ravel(at, input.shape())] - input.values[i]);
    }
    results[0].values[i] = 1 / sum;
  }
}

void EvaluateMatmul(const Arguments& arguments, std::span<Array> results) {
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  const uint32_t depth = a.shape().back();
  results[0].magnitudes.resize(results[0].size());
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    const Position batch(at.begin(), at.end() - 2);
    for (uint32_t k = 0; k < depth; ++k) {
      long double product = At(a, batch, at[at.size() - 2], k) * At(b, batch, k, at.back());
      results[0].values[i] += product;
      results[0].magnitudes[i] += std::fabs(product);
    }
  }
}

void EvaluateGemm(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::GemmAttributes>(arguments.attributes);
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  const Array* c = arguments.operands[2];
  const uint32_t depth = a.shape()[attributes.a_transpose ? 0 : 1];
  results[0].magnitudes.resize(results[0].size());
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    for (uint32_t k = 0; k < depth; ++k) {
      long double product = attributes.alpha *
                            (attributes.a_transpose ? At(a, {}, k, at[0]) : At(a, {}, at[0], k)) *
                            (attributes.b_transpose ? At(b, {}, at[1], k) : At(b, {}, k, at[1]));
      results[0].values[i] += product;
      results[0].magnitudes[i] += std::fabs(product);
    }
    if (c == nullptr) continue;
    long double addend = attributes.beta * c->values[BroadcastIndex(at, c->shape())];
    results[0].values[i] += addend;
    results[0].magnitudes[i] += std::fabs(addend);
  }
}

}  // namespace webnnd::reference

// Reductions, and what else goes along dimensions: argMin and argMax, cumulativeSum, softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

template <class Function>
Real SumOf(const std::vector<long double>& values, Function map) {
  Sum sum;
  for (long double value : values) sum.Add(map(value));
  return sum.Result();
}

// NaN wins.
long double Greatest(const std::vector<long double>& values) {
  long double greatest = -kInfinity;
  for (long double value : values) {
    if (std::isnan(value)) return value;
    greatest = std::max(greatest, value);
  }
  return greatest;
}

long double Least(std::vector<long double> values) {
  for (long double& value : values) value = -value;
  return -Greatest(values);
}

// Less the greatest, no exponential overflows; infinities are their own.
Real LogSumExp(const std::vector<long double>& values) {
  const long double greatest = Greatest(values);
  const long double shift = std::isinf(greatest) ? 0 : greatest;
  return Log(SumOf(values, [&](long double x) { return Exp(Real(x) - Real(shift)); })) +
         Real(shift);
}

Real ReduceFloats(OperatorKind kind, const std::vector<long double>& values) {
  const auto self = [](long double x) { return Real(x); };
  const auto square = [](long double x) { return Real(x) * Real(x); };
  switch (kind) {
    case OperatorKind::kReduceL1:
      return SumOf(values, [](long double x) { return Real(std::fabs(x)); });
    case OperatorKind::kReduceL2:
      return Sqrt(SumOf(values, square));
    case OperatorKind::kReduceLogSum:
      return Log(SumOf(values, self));
    case OperatorKind::kReduceLogSumExp:
      return LogSumExp(values);
    case OperatorKind::kReduceMax:
      return Greatest(values);
    case OperatorKind::kReduceMean:
      return SumOf(values, self) / Real(static_cast<long double>(values.size()));
    case OperatorKind::kReduceMin:
      return Least(values);
    case OperatorKind::kReduceProduct: {
      Real product(1);
      for (long double value : values) product = product * Real(value);
      return product;
    }
    case OperatorKind::kReduceSum:
      return SumOf(values, self);
    case OperatorKind::kReduceSumSquare:
      return SumOf(values, square);
    default:
      UNREACHABLE();
  }
}

uint64_t Bits(long double x) {
  return x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

// Modulo 2^64, of which the type keeps what it holds.
long double ReduceIntegers(OperatorKind kind, OperandDataType type,
                           const std::vector<long double>& values) {
  if (kind == OperatorKind::kReduceMax) return Greatest(values);
  if (kind == OperatorKind::kReduceMin) return Least(values);
  uint64_t result = kind == OperatorKind::kReduceProduct ? 1 : 0;
  for (long double value : values) {
    const uint64_t x = Bits(value);
    switch (kind) {
      case OperatorKind::kReduceL1:
        result += value < 0 ? -x : x;
        break;
      case OperatorKind::kReduceProduct:
        result *= x;
        break;
      case OperatorKind::kReduceSum:
        result += x;
        break;
      case OperatorKind::kReduceSumSquare:
        result += x * x;
        break;
      default:
        UNREACHABLE();
    }
  }
  return RoundTo(type, static_cast<long double>(result));
}

}  // namespace

void MakeReduce(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  auto& reduce = maker.attributes<webidl::ReduceAttributes>();
  if (!maker.OneIn(4)) reduce.axes = maker.PickAxes(shape.size());
  reduce.keep_dimensions = maker.Flip();
}

void EvaluateReduce(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ReduceAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  std::vector<std::vector<long double>> groups(results[0].size());
  for (uint64_t i = 0; i < input.size(); ++i) {
    const Position at = Unravel(i, input.shape());
    Position kept;
    Shape kept_shape;
    for (uint32_t d = 0; d < at.size(); ++d) {
      const bool reduced =
          !attributes.axes ||
          std::find(attributes.axes->begin(), attributes.axes->end(), d) != attributes.axes->end();
      if (reduced) continue;
      kept.push_back(at[d]);
      kept_shape.push_back(input.shape()[d]);
    }
    groups[Ravel(kept, kept_shape)].push_back(input.values[i]);
  }
  for (uint64_t i = 0; i < groups.size(); ++i) {
    if (IsFloat(input.type())) {
      results[0].Set(i, ReduceFloats(arguments.kind, groups[i]));
    } else {
      results[0].values[i] = ReduceIntegers(arguments.kind, input.type(), groups[i]);
    }
  }
}

void MakeArgMinMax(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  Array& input = maker.Add(maker.PickType(0), shape);
  // Equal elements, of which the first counts.
  for (long double& value : input.values) {
    if (maker.OneIn(3)) value = input.values[0];
  }
  auto& arg = maker.attributes<webidl::ArgMinMaxAttributes>();
  arg.axis = maker.PickAxis(shape);
  arg.keep_dimensions = maker.Flip();
  if (maker.Flip()) arg.output_data_type = OperandDataType::kInt64;
}

// The first of equals; NaN counts as the extreme.
void EvaluateArgMinMax(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ArgMinMaxAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  const bool maximum = arguments.kind == OperatorKind::kArgMax;
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    if (!attributes.keep_dimensions) at.insert(at.begin() + attributes.axis, 0);
    long double best = 0;
    for (uint32_t k = 0; k < input.shape()[attributes.axis]; ++k) {
      at[attributes.axis] = k;
      const long double value = input.values[Ravel(at, input.shape())];
      const bool better =
          std::isnan(value) ? !std::isnan(best) : (maximum ? value > best : value < best);
      if (k != 0 && !better) continue;
      best = value;
      results[0].values[i] = k;
    }
  }
}

void MakeCumulativeSum(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  maker.Add(maker.PickType(0), shape);
  auto& sum = maker.attributes<webidl::CumulativeSumAttributes>();
  sum.axis = maker.PickAxis(shape);
  sum.exclusive = maker.Flip();
  sum.reversed = maker.Flip();
}

void EvaluateCumulativeSum(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(arguments.attributes);
  const Array& input = *arguments.operands[0];
  Array& result = results[0];
  const uint32_t size = input.shape()[attributes.axis];
  for (uint64_t first = 0; first < input.size(); ++first) {
    Position at = Unravel(first, input.shape());
    if (at[attributes.axis] != 0) continue;
    Sum sum;
    uint64_t wrapping = 0;
    for (uint32_t k = 0; k < size; ++k) {
      at[attributes.axis] = attributes.reversed ? size - 1 - k : k;
      const uint64_t i = Ravel(at, input.shape());
      const auto store = [&] {
        if (IsFloat(input.type())) {
          result.Set(i, sum.Result());
        } else {
          result.values[i] = RoundTo(input.type(), static_cast<long double>(wrapping));
        }
      };
      if (attributes.exclusive) store();
      if (IsFloat(input.type())) {
        sum.Add(input.values[i]);
      } else {
        wrapping += Bits(input.values[i]);
      }
      if (!attributes.exclusive) store();
    }
  }
}

void MakeSoftmax(CaseMaker& maker) {
  const Shape shape = maker.MakeShapeOf(0);
  Array& input = maker.Add(maker.PickType(0), shape);
  maker.attributes<webidl::SoftmaxAttributes>().axis = maker.PickAxis(shape);
  // As attention masks are; at times whole rows.
  if (!maker.OneIn(3)) return;
  for (long double& value : input.values) {
    if (maker.OneIn(3)) value = -kInfinity;
  }
}

void EvaluateSoftmax(const Arguments& arguments, std::span<Array> results) {
  const uint32_t axis = std::get<webidl::SoftmaxAttributes>(arguments.attributes).axis;
  const Array& input = *arguments.operands[0];
  const uint32_t size = input.shape()[axis];
  for (uint64_t first = 0; first < input.size(); ++first) {
    Position at = Unravel(first, input.shape());
    if (at[axis] != 0) continue;
    std::vector<uint64_t> places;
    std::vector<long double> values;
    for (uint32_t k = 0; k < size; ++k) {
      at[axis] = k;
      places.push_back(Ravel(at, input.shape()));
      values.push_back(input.values[places.back()]);
    }
    const long double greatest = Greatest(values);
    const auto share = [&](long double x) { return Exp(Real(x) - Real(greatest)); };
    const Real sum = SumOf(values, share);
    // A product with the reciprocal is one rounding more than a quotient.
    for (uint32_t k = 0; k < size; ++k) {
      results[0].Set(places[k], share(values[k]) * (Real(1) / sum));
    }
  }
}

}  // namespace webnnd::reference

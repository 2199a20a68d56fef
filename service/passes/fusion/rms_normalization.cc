#include <algorithm>
#include <utility>

#include "service/passes/fusion/patterns.h"
#include "service/passes/fusion/product_candidate.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// a and b of an operator for which they may be swapped: {the one for which `is_it` holds, the
// other}.
template <class Predicate>
std::optional<std::pair<ValueId, ValueId>> Distinguish(const Node& node, const Predicate& is_it) {
  for (int i : {0, 1}) {
    if (is_it(node.operands[i])) return std::pair(node.operands[i], node.operands[1 - i]);
  }
  return std::nullopt;
}

bool IsLastAxis(const webidl::ReduceAttributes& attributes, uint32_t rank) {
  return attributes.keep_dimensions && attributes.axes && attributes.axes->size() == 1 &&
         attributes.axes->front() + 1 == rank;
}

// x of x * x, or of x to the power of 2.
ValueId SquareOf(const GraphIndex& index, ValueId value) {
  if (const Node* pow = index.Producer(value, OperatorKind::kPow)) {
    bool is_square = index.Scalar(pow->operands[1]) == 2.0 &&
                     index.shape(pow->operands[1]).size() <= index.shape(value).size();
    return is_square ? pow->operands[0] : kNoValue;
  }
  const Node* mul = index.Producer(value, OperatorKind::kMul);
  return mul != nullptr && mul->operands[0] == mul->operands[1] ? mul->operands[0] : kNoValue;
}

// x / sqrt(mean(x * x) + epsilon).
struct Normalized {
  ValueId x = kNoValue;
  double epsilon = 0;
  std::vector<ValueId> hidden;
};

std::optional<Normalized> MatchNormalized(const GraphIndex& index, ValueId value) {
  const Node* div = index.Producer(value, OperatorKind::kDiv);
  if (div == nullptr) return std::nullopt;
  const Node* sqrt = index.Producer(div->operands[1], OperatorKind::kSqrt);
  if (sqrt == nullptr) return std::nullopt;
  const Node* add = index.Producer(sqrt->operands[0], OperatorKind::kAdd);
  if (add == nullptr) return std::nullopt;
  auto mean_and_epsilon = Distinguish(*add, [&](ValueId operand) {
    return index.Producer(operand, OperatorKind::kReduceMean) != nullptr;
  });
  if (!mean_and_epsilon) return std::nullopt;
  auto [mean_value, epsilon_value] = *mean_and_epsilon;
  const Node* mean = index.Producer(mean_value, OperatorKind::kReduceMean);
  std::optional<double> epsilon = index.Scalar(epsilon_value);
  ValueId x = SquareOf(index, mean->operands[0]);
  if (!epsilon || x == kNoValue || x != div->operands[0]) return std::nullopt;
  if (index.shape(add->results[0]) != index.shape(mean_value)) return std::nullopt;
  const auto& attributes = std::get<webidl::ReduceAttributes>(mean->attributes);
  if (!IsLastAxis(attributes, index.descriptor(x).rank())) return std::nullopt;
  return Normalized{
      x, *epsilon, {value, sqrt->results[0], add->results[0], mean_value, mean->operands[0]}};
}

// Whether the kernel can: rows of float16 must not share words, and an invocation must not loop too
// long over its share of a row, which it goes over twice.
bool IsSupported(const webidl::OperandDescriptor& x, const DeviceTraits& device) {
  if (x.rank() == 0 || x.element_count() == 0) return false;
  const uint64_t at_once = uint64_t{kLongLoopUnroll} * LocalSizeMin(device.narrow);
  const uint64_t turns = 2 * uint64_t{x.shape().back()} / at_once;
  if (!device.wide && turns > kInvocationIterationsMax) return false;
  return x.data_type() == OperandDataType::kFloat32 || x.shape().back() % 2 == 0;
}

// x as a sum: {a, b, bias}; b none where x is no sum of two alike, bias none where there is none.
struct Sum {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  ValueId bias = kNoValue;
  ValueId without_bias = kNoValue;  // a + b, where there is a bias.
};

Sum MatchSum(const GraphIndex& index, ValueId x) {
  const Node* add = index.Producer(x, OperatorKind::kAdd);
  if (add == nullptr) return {x};
  const Shape& shape = index.shape(x);
  auto is_like_x = [&](ValueId value) { return index.shape(value) == shape; };
  if (is_like_x(add->operands[0]) && is_like_x(add->operands[1])) {
    return {add->operands[0], add->operands[1]};
  }
  auto bias_and_rest =
      Distinguish(*add, [&](ValueId value) { return IsRow(index.shape(value), shape.back()); });
  if (!bias_and_rest || !is_like_x(bias_and_rest->second)) return {x};
  const Node* inner = index.Producer(bias_and_rest->second, OperatorKind::kAdd);
  if (inner == nullptr || !is_like_x(inner->operands[0]) || !is_like_x(inner->operands[1])) {
    return {x};
  }
  return {inner->operands[0], inner->operands[1], bias_and_rest->first, inner->results[0]};
}

// Whether anything but the normalisation uses x: the square (twice, where it is a product) and div.
bool IsUsedElsewhere(const GraphIndex& index, ValueId x, ValueId square, ValueId normalized) {
  auto is_own = [&](const Node* user) {
    return user->results[0] == square || user->results[0] == normalized;
  };
  const std::span<const Node* const> users = index.users(x);
  return index.use_count(x) != users.size() || !std::all_of(users.begin(), users.end(), is_own);
}

}  // namespace

std::optional<Match> MatchRmsNormalization(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kMul) return std::nullopt;
  std::optional<Normalized> normalized;
  auto normalized_and_gain = Distinguish(last, [&](ValueId value) {
    if (!normalized) normalized = MatchNormalized(index, value);
    return normalized && normalized->hidden.front() == value;
  });
  if (!normalized_and_gain) return std::nullopt;
  ValueId gain = normalized_and_gain->second;
  const webidl::OperandDescriptor& x = index.descriptor(normalized->x);
  if (!IsSupported(x, index.graph().device)) return std::nullopt;
  if (!IsRow(index.shape(gain), x.shape().back())) return std::nullopt;
  if (index.shape(last.results[0]) != x.shape()) return std::nullopt;

  Match match;
  match.hidden = normalized->hidden;
  Sum sum = MatchSum(index, normalized->x);
  ValueId sum_result = kNoValue;
  if (sum.b != kNoValue) {
    ValueId square = normalized->hidden.back();
    if (IsUsedElsewhere(index, normalized->x, square, normalized->hidden.front())) {
      sum_result = normalized->x;
    } else {
      match.hidden.push_back(normalized->x);
    }
    if (sum.without_bias != kNoValue) match.hidden.push_back(sum.without_bias);
  }
  match.node = last;
  match.node.macro = RmsNormalization{normalized->epsilon};
  match.node.operands = {sum.a, gain, sum.b, sum.bias, kNoValue};
  match.node.results = {last.results[0], sum_result};
  return match;
}

std::optional<Match> MatchNormalizedRowsOfTable(const GraphIndex& index, const Node& last) {
  if (!std::holds_alternative<RmsNormalization>(last.macro)) return std::nullopt;
  const ValueId x = last.operands[0];
  if (last.operands[2] != kNoValue || last.operands[4] != kNoValue) return std::nullopt;
  const Node* gather = index.Producer(x, OperatorKind::kGather);
  if (gather == nullptr || std::get<webidl::GatherAttributes>(gather->attributes).axis != 0) {
    return std::nullopt;
  }
  // Whole rows, of a table that has some.
  const Shape& table = index.shape(gather->operands[0]);
  if (table.size() != 2 || table[0] == 0 || table[1] != index.shape(x).back()) return std::nullopt;
  Match match;
  match.node = last;
  match.node.operands[0] = gather->operands[0];
  match.node.operands[4] = gather->operands[1];
  if (index.use_count(x) > 1) {
    match.node.results[1] = x;
  } else {
    match.hidden = {x};
  }
  return match;
}

}  // namespace webnnd::service

#include "service/passes/fusion/graph_index.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace webnnd::service {
namespace {

using webidl::OperandDataType;

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  double magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent != 0) {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
std::vector<double> ToDoubles(const std::vector<std::byte>& bytes, size_t count) {
  CHECK(bytes.size() >= count * sizeof(T));
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values.push_back(static_cast<double>(value));
  }
  return values;
}

std::vector<double> HalvesToDoubles(const std::vector<std::byte>& bytes, size_t count) {
  std::vector<double> values = ToDoubles<uint16_t>(bytes, count);
  for (double& value : values) value = HalfToDouble(static_cast<uint16_t>(value));
  return values;
}

}  // namespace

GraphIndex::GraphIndex(const Graph& graph)
    : graph_(graph), first_user_(graph.values.size() + 2), output_count_(graph.values.size()) {
  // Counts, then sums of counts, then places: each value's next one moves on to its end.
  const auto for_each_use = [&](auto use) {
    for (const Node& node : graph.nodes) {
      for (ValueId value : node.operands) {
        if (value != kNoValue) use(value, &node);
      }
    }
  };
  for_each_use([&](ValueId value, const Node*) { ++first_user_[value + 2]; });
  std::partial_sum(first_user_.begin(), first_user_.end(), first_user_.begin());
  users_.resize(first_user_.back());
  for_each_use([&](ValueId value, const Node* node) { users_[first_user_[value + 1]++] = node; });
  for (const Graph::Output& output : graph.outputs) ++output_count_[output.value];
}

const Node* GraphIndex::Maker(ValueId value) const {
  if (value == kNoValue || graph_.values[value].kind != Value::Kind::kResult) return nullptr;
  return &graph_.nodes[graph_.values[value].index];
}

const Node* GraphIndex::Producer(ValueId value, webidl::OperatorKind kind) const {
  const Node* node = Maker(value);
  if (node == nullptr || node->kind != kind) return nullptr;
  return std::holds_alternative<std::monostate>(node->macro) ? node : nullptr;
}

ValueId GraphIndex::SkipReshapes(ValueId value) const {
  while (const Node* reshape = Producer(value, webidl::OperatorKind::kReshape)) {
    value = reshape->operands[0];
  }
  return value;
}

std::optional<std::vector<double>> GraphIndex::Values(ValueId value) const {
  if (value == kNoValue || !IsConstant(value)) return std::nullopt;
  const GraphConstant& constant = graph_.constants[graph_.values[value].index];
  const size_t count = constant.descriptor.element_count();
  if (constant.bytes == nullptr) return std::nullopt;
  switch (constant.descriptor.data_type()) {
    case OperandDataType::kFloat32:
      return ToDoubles<float>(*constant.bytes, count);
    case OperandDataType::kFloat16:
      return HalvesToDoubles(*constant.bytes, count);
    case OperandDataType::kInt32:
      return ToDoubles<int32_t>(*constant.bytes, count);
    case OperandDataType::kUint32:
      return ToDoubles<uint32_t>(*constant.bytes, count);
    case OperandDataType::kInt64:
      return ToDoubles<int64_t>(*constant.bytes, count);
    case OperandDataType::kUint8:
      return ToDoubles<uint8_t>(*constant.bytes, count);
    default:
      return std::nullopt;
  }
}

std::optional<double> GraphIndex::Scalar(ValueId value) const {
  if (value == kNoValue || descriptor(value).element_count() != 1) return std::nullopt;
  std::optional<std::vector<double>> values = Values(value);
  return values ? std::optional(values->front()) : std::nullopt;
}

}  // namespace webnnd::service

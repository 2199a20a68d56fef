#include "webidl/operand_descriptor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "webidl/checks.h"

namespace webnnd::webidl {

uint32_t BitsPerElement(OperandDataType type) {
  switch (type) {
    case OperandDataType::kInt64:
    case OperandDataType::kUint64:
      return 64;
    case OperandDataType::kFloat32:
    case OperandDataType::kInt32:
    case OperandDataType::kUint32:
      return 32;
    case OperandDataType::kFloat16:
      return 16;
    case OperandDataType::kInt8:
    case OperandDataType::kUint8:
      return 8;
    case OperandDataType::kInt4:
    case OperandDataType::kUint4:
      return 4;
  }
  UNREACHABLE();
}

namespace {

Status CheckRank(size_t rank) {
  INVALID_CHECK(1, rank > limits::kRankMax, "the rank ({}) of the shape exceeds the maximum ({})",
                rank, limits::kRankMax);
  return {};
}

}  // namespace

Result<OperandDescriptor> OperandDescriptor::Create(OperandDataType type,
                                                    std::span<const uint32_t> shape) {
  TRY(CheckRank(shape.size()));
  uint64_t element_count = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    INVALID_CHECK(2, shape[axis] == 0, "dimension {} of the shape ({}) is zero", axis,
                  ShapeToString(shape));
    INVALID_CHECK(3, shape[axis] > limits::kDimensionMax,
                  "dimension {} of the shape ({}) exceeds the maximum ({})", axis,
                  ShapeToString(shape), limits::kDimensionMax);
    // Every factor is below 2^31, and the product so far within kTensorBytesMax elements of 4 bits:
    // this cannot overflow.
    element_count *= shape[axis];
    INVALID_CHECK(4, element_count > limits::kTensorBytesMax * 8 / BitsPerElement(type),
                  "the byte length of {}{} exceeds the maximum ({})",
                  webnnd::webidl::ToString(type), ShapeToString(shape), limits::kTensorBytesMax);
  }
  return OfShape(type, {shape.begin(), shape.end()});
}

OperandDescriptor OperandDescriptor::OfShape(OperandDataType type, Shape shape) {
  OperandDescriptor descriptor;
  descriptor.data_type_ = type;
  descriptor.element_count_ = 1;
  for (uint32_t size : shape) descriptor.element_count_ *= size;
  descriptor.byte_length_ = (descriptor.element_count_ * BitsPerElement(type) + 7) / 8;
  descriptor.shape_ = std::move(shape);
  return descriptor;
}

Result<OperandDescriptor> OperandDescriptor::Create(OperandDataType type,
                                                    std::span<const Dimension> dimensions) {
  // Before the copy: whoever calls with a long list gets an error, not its memory back.
  TRY(CheckRank(dimensions.size()));
  std::vector<LinearExpression> expressions;
  for (const Dimension& dimension : dimensions) {
    if (const auto* dynamic = std::get_if<DynamicDimension>(&dimension)) {
      TRY(CheckDynamicDimension(*dynamic));
      expressions.emplace_back(dynamic->name, SizeBounds{dynamic->min_size, dynamic->max_size});
    } else {
      expressions.emplace_back(int64_t{std::get<uint32_t>(dimension)});
    }
  }
  return Create(type, std::move(expressions));
}

Result<OperandDescriptor> OperandDescriptor::Create(OperandDataType type,
                                                    std::span<const Dimension> dimensions,
                                                    DimensionNames& names) {
  TRY(CheckRank(dimensions.size()));
  std::vector<LinearExpression> expressions;
  for (const Dimension& dimension : dimensions) {
    if (const auto* dynamic = std::get_if<DynamicDimension>(&dimension)) {
      ASSIGN_OR_RETURN(LinearExpression expression, names.Declare(*dynamic));
      expressions.push_back(std::move(expression));
    } else {
      expressions.emplace_back(int64_t{std::get<uint32_t>(dimension)});
    }
  }
  return Create(type, std::move(expressions));
}

Result<OperandDescriptor> OperandDescriptor::Create(OperandDataType type,
                                                    std::vector<LinearExpression> expressions) {
  Shape capacity;
  bool is_dynamic = false;
  for (const LinearExpression& expression : expressions) {
    is_dynamic = is_dynamic || !expression.is_constant();
    INVALID_CHECK(16, !expression.is_constant() && expression.Min() < 0,
                  "the dimension ({}) may be negative ({})", expression.ToString(),
                  expression.Min());
    // What is beyond 32 bits is beyond kDimensionMax in any case.
    capacity.push_back(static_cast<uint32_t>(
        std::clamp<int64_t>(expression.Max(), 0, std::numeric_limits<uint32_t>::max())));
  }
  if (is_dynamic && BitsPerElement(type) < 8) {
    return NotSupportedError("dynamic dimensions of {} are not supported",
                             webnnd::webidl::ToString(type));
  }
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, Create(type, std::span<const uint32_t>(capacity)));
  if (is_dynamic) {
    descriptor.expressions_ =
        std::make_shared<const std::vector<LinearExpression>>(std::move(expressions));
  }
  return descriptor;
}

std::vector<Dimension> OperandDescriptor::dimensions() const {
  std::vector<Dimension> dimensions(shape_.begin(), shape_.end());
  if (!is_dynamic()) return dimensions;
  for (size_t axis = 0; axis < dimensions.size(); ++axis) {
    const LinearExpression& expression = expressions()[axis];
    if (expression.is_constant()) continue;
    dimensions[axis] = DynamicDimension{expression.ToString(), shape_[axis],
                                        static_cast<uint32_t>(expression.Min())};
  }
  return dimensions;
}

OperandDescriptor OperandDescriptor::At(const Assignment& sizes) const {
  if (!is_dynamic()) return *this;
  Shape shape;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    const int64_t size = expressions()[axis].At(sizes);
    CHECK(size >= 0 && size <= shape_[axis]);
    shape.push_back(static_cast<uint32_t>(size));
  }
  return OfShape(data_type_, std::move(shape));
}

Result<OperandDescriptor> OperandDescriptor::Resized(std::span<const uint32_t> shape) const {
  INVALID_CHECK(18, shape.size() != shape_.size(),
                "the rank ({}) of the shape is not that of {} ({})", shape.size(), ToString(),
                shape_.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t min = is_dynamic() ? expressions()[axis].Min() : shape_[axis];
    INVALID_CHECK(19, shape[axis] < min || shape[axis] > shape_[axis],
                  "dimension {} of the shape ({}) is not in the range of {} ({} to {})", axis,
                  ShapeToString(shape), ToString(), min, shape_[axis]);
  }
  return OfShape(data_type_, {shape.begin(), shape.end()});
}

std::string OperandDescriptor::ToString() const {
  std::vector<std::string> sizes;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    sizes.push_back(is_dynamic() ? DisplayText(expressions()[axis].ToString())
                                 : std::to_string(shape_[axis]));
  }
  return fmt::format("{}[{}]", webnnd::webidl::ToString(data_type_), fmt::join(sizes, ","));
}

std::string ShapeToString(std::span<const uint32_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ","));
}

}  // namespace webnnd::webidl

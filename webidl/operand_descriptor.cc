#include "webidl/operand_descriptor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
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
  OperandDescriptor descriptor;
  descriptor.data_type_ = type;
  descriptor.shape_.assign(shape.begin(), shape.end());
  descriptor.element_count_ = element_count;
  descriptor.byte_length_ = (element_count * BitsPerElement(type) + 7) / 8;
  return descriptor;
}

Result<OperandDescriptor> OperandDescriptor::Create(OperandDataType type,
                                                    std::span<const Dimension> dimensions) {
  Shape shape;
  // Before the copy: whoever calls with a long list gets an error, not its memory back.
  TRY(CheckRank(dimensions.size()));
  for (const Dimension& dimension : dimensions) {
    if (const auto* dynamic = std::get_if<DynamicDimension>(&dimension)) {
      return NotSupportedError("the dynamic dimension ({}) is not supported yet", dynamic->name);
    }
    shape.push_back(std::get<uint32_t>(dimension));
  }
  return Create(type, shape);
}

std::string OperandDescriptor::ToString() const {
  return fmt::format("{}{}", webnnd::webidl::ToString(data_type_), ShapeToString(shape_));
}

std::string ShapeToString(std::span<const uint32_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ","));
}

}  // namespace webnnd::webidl

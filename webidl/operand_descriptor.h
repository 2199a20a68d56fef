// OperandDescriptor: data type and shape of an operand or tensor, MLOperandDescriptor of the draft.
#ifndef WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_
#define WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/dimension.h"
#include "webidl/generated/types.h"
#include "webidl/linear_expression.h"

namespace webnnd::webidl {

// Bits that one element takes: 4 for int4 and uint4, up to 64. Elements narrower than a byte are
// packed, the first in the low bits, without padding between rows.
uint32_t BitsPerElement(OperandDataType type);

// Having one is the proof that the rank, every dimension and the byte length are within
// base/limits.h: only its own functions make it. Copyable value.
//
// Where dimensions are dynamic, shape() and all that follows from it are of the capacity: each of
// them at its maximum.
class OperandDescriptor {
 public:
  // A float32 scalar, so that containers can be resized.
  OperandDescriptor() = default;

  // Validation error when the rank exceeds limits::kRankMax, a dimension is 0 or more than
  // limits::kDimensionMax, or the bytes exceed limits::kTensorBytesMax (draft: "check dimensions",
  // "MLOperandDescriptor byte length").
  static Result<OperandDescriptor> Create(OperandDataType type, std::span<const uint32_t> shape);
  // Of a tensor, whose dynamic dimensions are so many different ones: what their names say about
  // each other counts only in graphs. NotSupported for types narrower than a byte.
  static Result<OperandDescriptor> Create(OperandDataType type,
                                          std::span<const Dimension> dimensions);
  // Of a graph's input: declares its names in `names`.
  static Result<OperandDescriptor> Create(OperandDataType type,
                                          std::span<const Dimension> dimensions,
                                          DimensionNames& names);
  // The same of expressions. Validation error where one may be negative.
  static Result<OperandDescriptor> Create(OperandDataType type,
                                          std::vector<LinearExpression> expressions);

  OperandDataType data_type() const { return data_type_; }
  const Shape& shape() const { return shape_; }
  uint32_t rank() const { return static_cast<uint32_t>(shape_.size()); }
  uint64_t element_count() const { return element_count_; }
  // ceil(element_count * BitsPerElement / 8)
  uint64_t byte_length() const { return byte_length_; }
  // "float32[2,3]", "float32[2,past + seq]"
  std::string ToString() const;

  bool is_dynamic() const { return expressions_ != nullptr; }
  // One for each dimension; only where is_dynamic().
  const std::vector<LinearExpression>& expressions() const { return *expressions_; }
  // As operands and tensors show their shape.
  std::vector<Dimension> dimensions() const;
  // What this is where the names have these sizes, which are within their bounds. Dimensions of the
  // result may be 0.
  OperandDescriptor At(const Assignment& sizes) const;
  // The same with every dimension at its maximum.
  OperandDescriptor AtCapacity() const { return OfShape(data_type_, shape_); }
  // What a tensor of this capacity is in the shape `shape`. Validation error unless each dimension
  // is within its bounds.
  Result<OperandDescriptor> Resized(std::span<const uint32_t> shape) const;

  friend bool operator==(const OperandDescriptor& a, const OperandDescriptor& b) {
    return a.data_type_ == b.data_type_ && a.shape_ == b.shape_ &&
           (a.expressions_ == b.expressions_ ||
            (a.is_dynamic() && b.is_dynamic() && a.expressions() == b.expressions()));
  }

 private:
  static OperandDescriptor OfShape(OperandDataType type, Shape shape);

  OperandDataType data_type_ = OperandDataType::kFloat32;
  Shape shape_;
  uint64_t element_count_ = 1;
  uint64_t byte_length_ = 4;
  std::shared_ptr<const std::vector<LinearExpression>> expressions_;  // nullptr: all are numbers.
};

// "[2,3]"
std::string ShapeToString(std::span<const uint32_t> shape);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_

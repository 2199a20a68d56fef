// OperandDescriptor: data type and shape of an operand or tensor, MLOperandDescriptor of the draft.
#ifndef WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_
#define WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "webidl/dimension.h"
#include "webidl/generated/types.h"

namespace webnnd::webidl {

// Bits that one element takes: 4 for int4 and uint4, up to 64. Elements narrower than a byte are
// packed, the first in the low bits, without padding between rows.
uint32_t BitsPerElement(OperandDataType type);

// Having one is the proof that the rank, every dimension and the byte length are within
// base/limits.h: only Create makes it. Copyable value.
class OperandDescriptor {
 public:
  // A float32 scalar, so that containers can be resized.
  OperandDescriptor() = default;

  // Validation error when the rank exceeds limits::kRankMax, a dimension is 0 or more than
  // limits::kDimensionMax, or the bytes exceed limits::kTensorBytesMax (draft: "check dimensions",
  // "MLOperandDescriptor byte length").
  static Result<OperandDescriptor> Create(OperandDataType type, std::span<const uint32_t> shape);
  // The same for shapes that may be dynamic. A dynamic dimension answers NotSupported for now.
  static Result<OperandDescriptor> Create(OperandDataType type,
                                          std::span<const Dimension> dimensions);

  OperandDataType data_type() const { return data_type_; }
  const Shape& shape() const { return shape_; }
  uint32_t rank() const { return static_cast<uint32_t>(shape_.size()); }
  uint64_t element_count() const { return element_count_; }
  // ceil(element_count * BitsPerElement / 8)
  uint64_t byte_length() const { return byte_length_; }
  // "float32[2,3]"
  std::string ToString() const;

  friend bool operator==(const OperandDescriptor&, const OperandDescriptor&) = default;

 private:
  OperandDataType data_type_ = OperandDataType::kFloat32;
  Shape shape_;
  uint64_t element_count_ = 1;
  uint64_t byte_length_ = 4;
};

// "[2,3]"
std::string ShapeToString(std::span<const uint32_t> shape);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERAND_DESCRIPTOR_H_

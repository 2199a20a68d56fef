#include "service/passes/kernel_parameters.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/checked_math.h"

namespace webnnd::service {

using webidl::OperandDataType;

ComputeClass ComputeClassOf(OperandDataType type) {
  switch (type) {
    case OperandDataType::kFloat32:
    case OperandDataType::kFloat16:
      return ComputeClass::kFloat;
    case OperandDataType::kUint32:
      return ComputeClass::kUint;
    case OperandDataType::kInt64:
      return ComputeClass::kInt64;
    case OperandDataType::kUint64:
      return ComputeClass::kUint64;
    case OperandDataType::kInt32:
    case OperandDataType::kInt8:
    case OperandDataType::kUint8:
    case OperandDataType::kInt4:
    case OperandDataType::kUint4:
      return ComputeClass::kInt;
  }
  UNREACHABLE();
}

std::array<uint32_t, 3> MakeDivisor(uint32_t divisor) {
  CHECK(divisor != 0);
  // n / d = (n * (2^32 + multiplier)) >> (32 + shift), with the multiplier rounded up.
  auto shift = static_cast<uint32_t>(std::bit_width(divisor - 1));
  uint64_t excess = (uint64_t{1} << shift) - divisor;
  uint64_t multiplier = (excess << 32) / divisor + 1;
  return {divisor, NarrowCast<uint32_t>(multiplier), shift};
}

void AppendDivisor(uint32_t divisor, std::vector<uint32_t>& parameters, uint32_t word_behind) {
  for (uint32_t word : MakeDivisor(divisor)) parameters.push_back(word);
  parameters.push_back(word_behind);
}

std::vector<uint32_t> PackedStrides(std::span<const uint32_t> shape) {
  std::vector<uint32_t> strides(shape.size());
  uint32_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::vector<uint32_t> BroadcastStrides(std::span<const uint32_t> shape,
                                       std::span<const uint32_t> result_shape) {
  return BroadcastStrides(shape, PackedStrides(shape), result_shape);
}

std::vector<uint32_t> BroadcastStrides(std::span<const uint32_t> shape,
                                       std::span<const uint32_t> strides,
                                       std::span<const uint32_t> result_shape) {
  CHECK(shape.size() <= result_shape.size());
  CHECK(shape.size() == strides.size());
  std::vector<uint32_t> broadcast(result_shape.size(), 0);
  size_t missing = result_shape.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    CHECK(shape[d] == 1 || shape[d] == result_shape[missing + d]);
    if (shape[d] != 1) broadcast[missing + d] = strides[d];
  }
  return broadcast;
}

std::vector<StridedDimension> MakeDimensions(std::span<const uint32_t> shape,
                                             std::span<const std::vector<uint32_t>> strides) {
  std::vector<StridedDimension> dimensions(shape.size());
  CHECK(strides.size() <= StridedDimension().strides.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    dimensions[d].size = shape[d];
    for (size_t t = 0; t < strides.size(); ++t) {
      CHECK(strides[t].size() == shape.size());
      dimensions[d].strides[t] = strides[t][d];
    }
  }
  return dimensions;
}

std::vector<StridedDimension> Coalesce(std::span<const StridedDimension> dimensions) {
  std::vector<StridedDimension> result;
  for (const StridedDimension& inner : dimensions) {
    if (inner.size == 1) continue;
    bool joins = !result.empty();
    for (size_t t = 0; joins && t < inner.strides.size(); ++t) {
      joins = result.back().strides[t] == inner.strides[t] * inner.size;
    }
    if (joins) {
      result.back().size *= inner.size;
      result.back().strides = inner.strides;
    } else {
      result.push_back(inner);
    }
  }
  if (result.empty()) result.emplace_back();
  return result;
}

uint64_t ElementsOf(std::span<const StridedDimension> dimensions) {
  uint64_t count = 1;
  for (const StridedDimension& dimension : dimensions) count *= dimension.size;
  return count;
}

void AppendDimensions(std::span<const StridedDimension> dimensions,
                      std::vector<uint32_t>& parameters) {
  CHECK(parameters.size() % 4 == 0 && !dimensions.empty());
  for (const StridedDimension& dimension : dimensions) {
    AppendDivisor(dimension.size, parameters);
    parameters.insert(parameters.end(), dimension.strides.begin(), dimension.strides.end());
  }
}

uint32_t RankConstant(std::span<const StridedDimension> dimensions, size_t unrolled_max) {
  return dimensions.size() <= unrolled_max ? static_cast<uint32_t>(dimensions.size()) : 0;
}

uint32_t PerQuad(webidl::OperandDataType type) { return 128 / webidl::BitsPerElement(type); }

bool QuadsLieInRows(std::span<const StridedDimension> dimensions, uint32_t per_quad) {
  return dimensions.size() == 1 || dimensions.back().size % per_quad == 0;
}

InRows WhatLiesInRows(std::span<const StridedDimension> dimensions, uint32_t per_quad,
                      size_t operands) {
  constexpr uint32_t kQuadsOfTurn = 16;  // Or a part of them.
  const auto strides = std::span(dimensions.back().strides).first(operands);
  const bool has_one = std::find(strides.begin(), strides.end(), 0u) != strides.end();
  if ((dimensions.size() == 1 || has_one) && QuadsLieInRows(dimensions, kQuadsOfTurn * per_quad)) {
    return InRows::kTurns;
  }
  return QuadsLieInRows(dimensions, per_quad) ? InRows::kQuads : InRows::kNothing;
}

QuadAccess AccessByQuads(std::span<const StridedDimension> dimensions, uint32_t per_quad,
                         size_t operand, uint32_t offset) {
  if (!QuadsLieInRows(dimensions, per_quad)) return QuadAccess::kStrided;
  const uint32_t stride = dimensions.back().strides[operand];
  if (stride == 0) return QuadAccess::kOne;
  const bool backwards = stride == 0u - 1;
  // Backwards, its first element is a quad's last.
  bool aligned = (stride == 1 || backwards) && (offset + backwards) % per_quad == 0;
  for (const StridedDimension& dimension : dimensions.first(dimensions.size() - 1)) {
    // Strides are modulo 2^32, of which a quad is a divisor.
    aligned = aligned && dimension.strides[operand] % per_quad == 0;
  }
  if (!aligned) return QuadAccess::kStrided;
  return backwards ? QuadAccess::kBackwards : QuadAccess::kQuad;
}

uint64_t WordCount(const webidl::OperandDescriptor& descriptor) {
  return DivideRoundingUp<uint64_t>(descriptor.byte_length(), 4);
}

uint64_t StoreUnits(const webidl::OperandDescriptor& descriptor) {
  const bool are_parts_of_bytes = webidl::BitsPerElement(descriptor.data_type()) < 8;
  return are_parts_of_bytes ? WordCount(descriptor) : descriptor.element_count();
}

uint64_t StoreQuads(const webidl::OperandDescriptor& descriptor) {
  return DivideRoundingUp<uint64_t>(descriptor.byte_length(), 16);
}

uint32_t FloatBits(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

}  // namespace webnnd::service

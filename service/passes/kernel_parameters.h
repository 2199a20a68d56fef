// What lowerings write into a kernel's parameters and specialisation, in the form that shaders/
// reads.
#ifndef WEBNND_SERVICE_PASSES_KERNEL_PARAMETERS_H_
#define WEBNND_SERVICE_PASSES_KERNEL_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "webidl/generated/types.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::service {

// Values of specialisation constant 1 of the element-wise kernels.
enum class UnaryOperation : uint32_t {
#define UNARY_OPERATION(name, value) k##name = value,
#include "shaders/operations.inc"
#undef UNARY_OPERATION
};
enum class BinaryOperation : uint32_t {
#define BINARY_OPERATION(name, value) k##name = value,
#include "shaders/operations.inc"
#undef BINARY_OPERATION
};

#define DATA_TYPE(name, value) \
  static_assert(static_cast<uint32_t>(webidl::OperandDataType::k##name) == (value));
#include "shaders/data_types.inc"
#undef DATA_TYPE

// The C++ type in which a module calculates (COMPUTE of shaders/tensor.glsl).
enum class ComputeClass : uint8_t { kFloat, kInt, kUint, kInt64, kUint64 };
ComputeClass ComputeClassOf(webidl::OperandDataType type);

// {divisor, multiplier, shift}: how shaders divide (Divide of shaders/tensor.glsl). The divisor is
// not 0; right for dividends below 2^31.
std::array<uint32_t, 3> MakeDivisor(uint32_t divisor);
// Appends a divisor, and the word behind it, which is free for anything: a uvec4 of the shader.
void AppendDivisor(uint32_t divisor, std::vector<uint32_t>& parameters, uint32_t word_behind = 0);

// Strides of a packed tensor, in elements.
std::vector<uint32_t> PackedStrides(std::span<const uint32_t> shape);
// Strides of an operand of shape `shape` walked in the order of `result_shape`, to which it is
// broadcast: 0 where a dimension repeats.
std::vector<uint32_t> BroadcastStrides(std::span<const uint32_t> shape,
                                       std::span<const uint32_t> result_shape);
// The same where the operand has these strides.
std::vector<uint32_t> BroadcastStrides(std::span<const uint32_t> shape,
                                       std::span<const uint32_t> strides,
                                       std::span<const uint32_t> result_shape);

// A dimension of a loop over elements, and the stride in each tensor (at most four) of one step
// along it. Strides are modulo 2^32: 0 - 1 walks backwards.
struct StridedDimension {
  uint32_t size = 1;
  std::array<uint32_t, 4> strides = {};
  friend bool operator==(const StridedDimension&, const StridedDimension&) = default;
};

// Dimensions of `shape` with one list of strides per tensor.
std::vector<StridedDimension> MakeDimensions(std::span<const uint32_t> shape,
                                             std::span<const std::vector<uint32_t>> strides);

// Drops dimensions of size 1 and joins neighbours that every tensor walks evenly, so that the
// common cases (same shape, a scalar, a vector along the last axis) need no division. At least one
// remains.
std::vector<StridedDimension> Coalesce(std::span<const StridedDimension> dimensions);

// Elements that a loop over the dimensions visits.
uint64_t ElementsOf(std::span<const StridedDimension> dimensions);

// Appends dimensions as shaders/strided.glsl reads them; `parameters` must end on a multiple of 4.
void AppendDimensions(std::span<const StridedDimension> dimensions,
                      std::vector<uint32_t>& parameters);

// STRIDED_RANK of shaders/strided.glsl for these dimensions, of a module with that
// STRIDED_UNROLLED_MAX.
uint32_t RankConstant(std::span<const StridedDimension> dimensions, size_t unrolled_max = 4);

// How a kernel reads an operand for the elements of a quad (four words) of its result: the values
// of kAccess... in shaders/strided.glsl.
enum class QuadAccess : uint32_t { kStrided, kQuad, kOne, kQuads, kBackwards };
// Elements of a quad.
uint32_t PerQuad(webidl::OperandDataType type);
// Whether the elements of every quad of a packed result with these dimensions lie in one row of the
// innermost one (beyond the end, nobody writes).
bool QuadsLieInRows(std::span<const StridedDimension> dimensions, uint32_t per_quad);
// What lies so, for kernels that also go by turns of up to 16 quads (shaders/by_words.glsl): in one
// row, or where one of the operands has one element for a row. Others are as fast by quads. The
// value of kTurnsInRows in shaders/strided.glsl is its last.
enum class InRows : uint32_t { kNothing, kQuads, kTurns };
InRows WhatLiesInRows(std::span<const StridedDimension> dimensions, uint32_t per_quad,
                      size_t operands);
// The access to an operand of the result's type whose strides are strides[operand] and that starts
// at element `offset`.
QuadAccess AccessByQuads(std::span<const StridedDimension> dimensions, uint32_t per_quad,
                         size_t operand, uint32_t offset = 0);

// Iterations that one invocation may take in all its loops: lavapipe leaves them, silently, after
// 65535. Iterations of LONG_LOOP (shaders/tensor.glsl) count kLongLoopUnroll at a time.
inline constexpr uint64_t kInvocationIterationsMax = 60000;
inline constexpr uint32_t kLongLoopUnroll = 8;
// Elements for each iteration where a LONG_LOOP takes blocks of 64, as in shaders/reduce.comp and
// moments.comp: eight turns and its end, and one of the loop over blocks.
inline constexpr uint32_t kElementsPerIterationOfBlocks = 6;
// The least number of invocations of a workgroup (specialisation constant 0) on any device whose
// subgroups are not narrow (DeviceTraits), and on those.
inline constexpr uint32_t kLocalSizeMin = 8;
inline constexpr uint32_t LocalSizeMin(bool narrow) { return narrow ? 4 : kLocalSizeMin; }
// Invocations among which loops over a row are divided, at least: a workgroup's, where it shares
// the row. Those of wide devices are more than this says, and leave no loop.
inline constexpr uint64_t SharersMin(bool shares_row, bool wide, bool narrow) {
  constexpr uint64_t kWide = 16;
  if (wide) return kWide;
  return shares_row ? LocalSizeMin(narrow) : 1;
}

// What a row must have for each invocation of the workgroup that takes it, at least: quads, or what
// else kernels go along it by. Of llvmpipe's workgroups, which are small, what `cores_min` says.
inline constexpr uint32_t RowUnitsMin(bool wide, uint32_t cores_min) {
  constexpr uint32_t kWideMin = 96;
  return wide ? kWideMin : cores_min;
}
// Invocations for each unit of work that a subgroup takes: many GPUs' subgroups have as many.
inline constexpr uint64_t kSubgroupInvocations = 32;
// Rows of `length` elements that lie interleaved, from which on an invocation takes each: of fewer,
// a workgroup shares one. On llvmpipe that reads a line of the cache for each element, and is left
// to rows longer than `alone_max`.
inline constexpr uint64_t kAloneMax = 1 << 16;  // What no kernel loops over for too long.
inline constexpr uint64_t InterleavedRowsMin(uint64_t length, bool wide,
                                             uint64_t alone_max = kAloneMax) {
  if (wide) return 1 << 15;
  return length <= alone_max ? 32 : 512;
}

// Words that the elements take, for costs and word-wise kernels.
uint64_t WordCount(const webidl::OperandDescriptor& descriptor);
// Units that STORE_ELEMENTS of shaders/tensor.glsl writes: elements, or words of those of 4 bits.
uint64_t StoreUnits(const webidl::OperandDescriptor& descriptor);

// Units that STORE_QUADS writes: one per four words.
uint64_t StoreQuads(const webidl::OperandDescriptor& descriptor);

// A double-typed attribute as the float that shaders calculate with.
uint32_t FloatBits(double value);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_KERNEL_PARAMETERS_H_

// What the operator families share: type sets, broadcasting, axes, and sizes that cannot overflow.
// For webidl/operators and webidl/operator_table.cc only.
#ifndef WEBNND_WEBIDL_OPERATORS_COMMON_H_
#define WEBNND_WEBIDL_OPERATORS_COMMON_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "base/result.h"
#include "webidl/checks.h"
#include "webidl/operator_table.h"

namespace webnnd::webidl {

// --- Data types and ranks of the draft's tables -------------------------------------------------

inline constexpr DataTypeSet kFloatTypes = {OperandDataType::kFloat32, OperandDataType::kFloat16};
// What has a sign: abs, neg, sign, relu, prelu.
inline constexpr DataTypeSet kSignedTypes =
    kFloatTypes |
    DataTypeSet{OperandDataType::kInt64, OperandDataType::kInt32, OperandDataType::kInt8};
// What sums do not overflow at once: reductions and cumulativeSum.
inline constexpr DataTypeSet kAccumulatingTypes =
    kFloatTypes | DataTypeSet{OperandDataType::kInt32, OperandDataType::kUint32,
                              OperandDataType::kInt64, OperandDataType::kUint64};
// "any" of the draft: the types of its enum.
inline constexpr DataTypeSet kAnyType =
    kAccumulatingTypes | DataTypeSet{OperandDataType::kInt8, OperandDataType::kUint8};
// Our extension: operators that move or convert values also take the packed types.
inline constexpr DataTypeSet kAnyOrPackedType =
    kAnyType | DataTypeSet{OperandDataType::kInt4, OperandDataType::kUint4};
inline constexpr DataTypeSet kQuantizedTypes = {OperandDataType::kUint8,  OperandDataType::kInt8,
                                                OperandDataType::kUint32, OperandDataType::kInt32,
                                                OperandDataType::kInt4,   OperandDataType::kUint4};
inline constexpr DataTypeSet kIndexTypes = {OperandDataType::kInt32, OperandDataType::kUint32,
                                            OperandDataType::kInt64};
inline constexpr DataTypeSet kBooleanType = {OperandDataType::kUint8};

// What most tables require of "any", and of it those that move small integers.
inline constexpr DataTypeSet kRequiredTypes = kFloatTypes | DataTypeSet{OperandDataType::kInt32};
inline constexpr DataTypeSet kRequiredOrByteTypes =
    kRequiredTypes | DataTypeSet{OperandDataType::kInt8, OperandDataType::kUint8};
// What the tables require of "N".
inline constexpr uint32_t kRequiredRankMax = 5;

// A tensor of rank `rank_min` to `rank_max`, without numbers: of any rank ("N"). All its types are
// required, and its ranks up to kRequiredRankMax; Requiring and RequiringRanks say otherwise.
constexpr TensorConstraint Tensor(DataTypeSet types, uint32_t rank_min = 0,
                                  uint32_t rank_max = limits::kRankMax) {
  return {types, rank_min, rank_max, types, rank_min, std::min(rank_max, kRequiredRankMax)};
}
constexpr TensorConstraint TensorOfRank(DataTypeSet types, uint32_t rank) {
  return Tensor(types, rank, rank);
}

// --- Reading arguments --------------------------------------------------------------------------

using Descriptors = std::vector<OperandDescriptor>;

// InferOperator has checked that the alternative is the operator's.
template <class A>
const A& Attributes(const OperatorArguments& arguments) {
  const A* attributes = std::get_if<A>(&arguments.attributes);
  CHECK(attributes != nullptr);
  return *attributes;
}

// A required operand.
inline const OperandDescriptor& Operand(const OperatorArguments& arguments, size_t slot) {
  CHECK(slot < arguments.operands.size() && arguments.operands[slot] != nullptr);
  return *arguments.operands[slot];
}

// An optional operand, or nullptr.
inline const OperandDescriptor* OptionalOperand(const OperatorArguments& arguments, size_t slot) {
  CHECK(slot < arguments.operands.size());
  return arguments.operands[slot];
}

// The IDL name of a slot: "zeroPoint".
std::string_view SlotName(OperatorKind kind, size_t slot);

// --- Rules --------------------------------------------------------------------------------------

// The result is like the first operand.
Result<Descriptors> InferLikeInput(const OperatorArguments& arguments);

// One result.
Result<Descriptors> OneResult(OperandDataType type, std::span<const uint32_t> shape);

// "same as" in a table's column of types: every present slot from `first` to `last` has the type of
// slot `reference`.
Status CheckSameTypes(const OperatorArguments& arguments, size_t reference, size_t first,
                      size_t last);

// "same as" in a table's column of ranks.
Status CheckSameRank(const OperatorArguments& arguments, size_t reference, size_t slot);

// An optional or required operand in `slot`, if it is there, has exactly this shape. 64 bits, so
// that products of attributes fit.
Status CheckShape(const OperatorArguments& arguments, size_t slot,
                  std::span<const uint64_t> expected);
Status CheckShape(const OperatorArguments& arguments, size_t slot,
                  std::initializer_list<uint64_t> expected);

// `axis` is less than the rank of the operand in slot 0.
Status CheckAxis(const OperatorArguments& arguments, uint32_t axis);

// Every item of `axes` is less than `rank`, and none comes twice. `name` is the argument's.
Status CheckAxes(std::string_view name, std::span<const uint32_t> axes, uint32_t rank);

// A list argument has this many items.
Status CheckListSize(std::string_view name, size_t size, size_t expected);

// No item is zero.
Status CheckNoZero(std::string_view name, std::span<const uint32_t> items);

// "bidirectionally broadcasting": the shape of the two in slots `a` and `b` together.
Result<Shape> BroadcastSlots(const OperatorArguments& arguments, size_t a, size_t b);

// The same for any shapes; nullopt is the draft's failure.
std::optional<Shape> BroadcastShapes(std::span<const uint32_t> a, std::span<const uint32_t> b);

// "unidirectionally broadcastable": `from` can be stretched to `to`.
bool BroadcastsTo(std::span<const uint32_t> from, std::span<const uint32_t> to);

// "blockwise broadcastable": of the same rank, and each dimension of `from` divides that of `to`.
bool BroadcastsInBlocks(std::span<const uint32_t> from, std::span<const uint32_t> to);

// "calculating reduction output sizes" for axes that have been checked.
Shape ReducedShape(const Shape& input, std::span<const uint32_t> axes, bool keep_dimensions);

// A computed size as a dimension: a validation error unless it is in [1, kDimensionMax], so that
// nothing is lost by narrowing. Errors call it `name`, followed by `axis` where that is given.
Result<uint32_t> ToDimension(int64_t size, std::string_view name,
                             std::optional<uint32_t> axis = {});

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_COMMON_H_

#include "webidl/operators/common.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "webidl/generated/signatures.h"

namespace webnnd::webidl {

std::string_view SlotName(OperatorKind kind, size_t slot) {
  const OperatorSignature& signature = GetSignature(kind);
  return signature.operand_list ? signature.slots[0].name : signature.slots[slot].name;
}

Result<Descriptors> InferLikeInput(const OperatorArguments& arguments) {
  return Descriptors{Operand(arguments, 0)};
}

Result<Descriptors> OneResult(OperandDataType type, std::span<const uint32_t> shape) {
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, OperandDescriptor::Create(type, shape));
  return Descriptors{std::move(descriptor)};
}

Status CheckSameTypes(const OperatorArguments& arguments, size_t reference, size_t first,
                      size_t last) {
  const OperandDataType expected = Operand(arguments, reference).data_type();
  for (size_t slot = first; slot <= last; ++slot) {
    const OperandDescriptor* operand = OptionalOperand(arguments, slot);
    INVALID_CHECK(CheckOf(21, SlotName(arguments.kind, slot)),
                  operand != nullptr && operand->data_type() != expected,
                  "the data type of {} ({}) is not that of {} ({})", SlotName(arguments.kind, slot),
                  ToString(operand->data_type()), SlotName(arguments.kind, reference),
                  ToString(expected));
  }
  return {};
}

Status CheckSameRank(const OperatorArguments& arguments, size_t reference, size_t slot) {
  INVALID_CHECK(CheckOf(22, SlotName(arguments.kind, slot)),
                Operand(arguments, slot).rank() != Operand(arguments, reference).rank(),
                "the rank of {} ({}) is not that of {} ({})", SlotName(arguments.kind, slot),
                Operand(arguments, slot).rank(), SlotName(arguments.kind, reference),
                Operand(arguments, reference).rank());
  return {};
}

Status CheckShape(const OperatorArguments& arguments, size_t slot,
                  std::span<const uint64_t> expected) {
  const OperandDescriptor* operand = OptionalOperand(arguments, slot);
  if (operand == nullptr) return {};
  const Shape& shape = operand->shape();
  INVALID_CHECK(CheckOf(23, SlotName(arguments.kind, slot)),
                !std::equal(shape.begin(), shape.end(), expected.begin(), expected.end()),
                "the shape of {} ({}) is not the expected one ([{}])",
                SlotName(arguments.kind, slot), ShapeToString(shape),
                fmt::join(expected.begin(), expected.end(), ","));
  return {};
}

Status CheckShape(const OperatorArguments& arguments, size_t slot,
                  std::initializer_list<uint64_t> expected) {
  return CheckShape(arguments, slot, std::span(expected.begin(), expected.size()));
}

Status CheckAxis(const OperatorArguments& arguments, uint32_t axis) {
  INVALID_CHECK(24, axis >= Operand(arguments, 0).rank(),
                "the axis ({}) is not less than the rank of {} ({})", axis,
                SlotName(arguments.kind, 0), Operand(arguments, 0).rank());
  return {};
}

Status CheckAxes(std::string_view name, std::span<const uint32_t> axes, uint32_t rank) {
  uint32_t seen = 0;  // One bit an axis: rank <= kRankMax.
  static_assert(limits::kRankMax < 32);
  for (size_t i = 0; i < axes.size(); ++i) {
    INVALID_CHECK(CheckOf(25, name), axes[i] >= rank,
                  "{}[{}] ({}) is not less than the rank of input ({})", name, i, axes[i], rank);
    INVALID_CHECK(CheckOf(26, name), (seen >> axes[i]) & 1u, "{}[{}] ({}) is a duplicate", name, i,
                  axes[i]);
    seen |= 1u << axes[i];
  }
  return {};
}

Status CheckListSize(std::string_view name, size_t size, size_t expected) {
  INVALID_CHECK(CheckOf(27, name), size != expected,
                "the size of {} ({}) is not the expected one ({})", name, size, expected);
  return {};
}

Status CheckNoZero(std::string_view name, std::span<const uint32_t> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    INVALID_CHECK(CheckOf(28, name), items[i] == 0, "{}[{}] ({}) is not greater than zero", name, i,
                  items[i]);
  }
  return {};
}

Result<Shape> BroadcastSlots(const OperatorArguments& arguments, size_t a, size_t b) {
  const Shape& shape_a = Operand(arguments, a).shape();
  const Shape& shape_b = Operand(arguments, b).shape();
  std::optional<Shape> shape = BroadcastShapes(shape_a, shape_b);
  INVALID_CHECK(29, !shape, "the shapes of {} ({}) and {} ({}) are not broadcastable",
                SlotName(arguments.kind, a), ShapeToString(shape_a), SlotName(arguments.kind, b),
                ShapeToString(shape_b));
  return *std::move(shape);
}

std::optional<Shape> BroadcastShapes(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  const size_t missing = a.size() - b.size();
  Shape shape(a.begin(), a.end());
  for (size_t axis = missing; axis < a.size(); ++axis) {
    const uint32_t dim_b = b[axis - missing];
    if (a[axis] != dim_b && a[axis] != 1 && dim_b != 1) return std::nullopt;
    shape[axis] = std::max(a[axis], dim_b);
  }
  return shape;
}

bool BroadcastsTo(std::span<const uint32_t> from, std::span<const uint32_t> to) {
  if (from.size() > to.size()) return false;
  const std::span<const uint32_t> tail = to.last(from.size());
  return std::equal(from.begin(), from.end(), tail.begin(), tail.end(),
                    [](uint32_t dim, uint32_t target) { return dim == 1 || dim == target; });
}

bool BroadcastsInBlocks(std::span<const uint32_t> from, std::span<const uint32_t> to) {
  return std::equal(from.begin(), from.end(), to.begin(), to.end(),
                    [](uint32_t dim, uint32_t target) { return target % dim == 0; });
}

Shape ReducedShape(const Shape& input, std::span<const uint32_t> axes, bool keep_dimensions) {
  Shape shape;
  for (uint32_t axis = 0; axis < input.size(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      shape.push_back(input[axis]);
    } else if (keep_dimensions) {
      shape.push_back(1);
    }
  }
  return shape;
}

Result<uint32_t> ToDimension(int64_t size, std::string_view name, std::optional<uint32_t> axis) {
  INVALID_CHECK(CheckOf(30, name), size < 1 || size > limits::kDimensionMax,
                "{} ({}) is not a valid dimension (1 to {})",
                axis ? fmt::format("{} {}", name, *axis) : std::string(name), size,
                limits::kDimensionMax);
  return static_cast<uint32_t>(size);
}

}  // namespace webnnd::webidl

#include "webidl/operator_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/limits.h"
#include "tests/webidl/operators/infer_text.h"
#include "webidl/generated/signatures.h"
#include "webidl/operators/row_checks.h"

namespace webnnd::webidl {
namespace {

OperatorKind Kind(uint32_t index) { return static_cast<OperatorKind>(index); }

TEST(OperatorTable, EveryRow_FitsItsSignature) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorRow& row = GetOperatorRow(Kind(i));
    EXPECT_EQ(row.kind, Kind(i));
    if (row.infer == nullptr) continue;
    const OperatorSignature& signature = GetSignature(row.kind);
    EXPECT_EQ(row.slots.size(), signature.slots.size()) << OperatorName(row.kind);
    std::set<uint32_t> outputs;
    for (const LimitMember& member : signature.limits) {
      if (member.role == LimitRole::kOutput) outputs.insert(member.index);
    }
    EXPECT_EQ(row.outputs.size(), outputs.size()) << OperatorName(row.kind);
    for (const auto& constraints : {row.slots, row.outputs}) {
      for (const TensorConstraint& constraint : constraints) {
        EXPECT_NE(constraint.types, DataTypeSet{}) << OperatorName(row.kind);
        EXPECT_LE(constraint.rank_min, constraint.rank_max) << OperatorName(row.kind);
      }
    }
  }
}

// Operands that pass a row's checks of types and ranks, whatever infer says to them.
std::vector<OperandDescriptor> MinimalOperands(const OperatorRow& row) {
  std::vector<OperandDescriptor> operands;
  for (const TensorConstraint& slot : row.slots) {
    const TensorConstraint required = slot.Required();
    uint32_t type = 0;
    while (!required.types.Contains(static_cast<OperandDataType>(type))) ++type;
    operands.push_back(*OperandDescriptor::Create(static_cast<OperandDataType>(type),
                                                  Shape(required.rank_min, 1)));
  }
  return operands;
}

std::vector<const OperandDescriptor*> PointersTo(const std::vector<OperandDescriptor>& operands) {
  std::vector<const OperandDescriptor*> pointers;
  for (const OperandDescriptor& operand : operands) pointers.push_back(&operand);
  return pointers;
}

// The error's message, or nothing.
std::string Refusal(OperatorKind kind, const std::vector<const OperandDescriptor*>& operands,
                    const OperatorAttributes& attributes, LimitSet limits = LimitSet::kAllowed) {
  auto results = InferOperator(kind, operands, attributes, "", limits);
  if (results.ok()) return "";
  EXPECT_EQ(results.error().cause(), Cause::kValidation);
  return results.error().message();
}

// Each family tests what its operators allow; here each slot of each operator meets each type and
// rank, and is refused by name those that its row does not have.
void ExpectRowHolds(const OperatorRow& row, LimitSet limits) {
  const OperatorSignature& signature = GetSignature(row.kind);
  const std::vector<OperandDescriptor> operands = MinimalOperands(row);
  for (size_t slot = 0; slot < row.slots.size(); ++slot) {
    const auto infer = [&](OperandDataType type, uint32_t rank) {
      const OperandDescriptor replacement = *OperandDescriptor::Create(type, Shape(rank, 1));
      std::vector<const OperandDescriptor*> pointers = PointersTo(operands);
      pointers[slot] = &replacement;
      return Refusal(row.kind, pointers, DefaultAttributes(row.kind), limits);
    };
    std::string name{signature.slots[slot].name};
    if (signature.operand_list) name += "[0]";
    const std::string prefix = std::string(OperatorName(row.kind)) + ": the ";
    const TensorConstraint constraint =
        limits == LimitSet::kRequired ? row.slots[slot].Required() : row.slots[slot];
    for (uint32_t type = 0; type < kOperandDataTypeCount; ++type) {
      const auto data_type = static_cast<OperandDataType>(type);
      const std::string message = infer(data_type, constraint.rank_min);
      const std::string refusal = prefix + "data type of " + name + " (" +
                                  std::string(ToString(data_type)) +
                                  ") is not one of its allowed data types (";
      EXPECT_EQ(message.starts_with(refusal), !constraint.types.Contains(data_type)) << message;
    }
    for (uint32_t rank = 0; rank <= limits::kRankMax; ++rank) {
      const std::string message = infer(operands[slot].data_type(), rank);
      const std::string refusal =
          prefix + "rank of " + name + " (" + std::to_string(rank) + ") is not ";
      const bool allowed = rank >= constraint.rank_min && rank <= constraint.rank_max;
      EXPECT_EQ(message.starts_with(refusal + "its allowed rank") ||
                    message.starts_with(refusal + "in its allowed range"),
                !allowed)
          << message;
    }
  }
}

TEST(OperatorTable, TypesAndRanksOutsideTheRow_AreRefusedByName) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    ExpectRowHolds(GetOperatorRow(Kind(i)), LimitSet::kAllowed);
  }
}

TEST(OperatorTable, TypesAndRanksThatTheDraftDoesNotRequire_AreRefusedWhereOnlyThoseAreWanted) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    ExpectRowHolds(GetOperatorRow(Kind(i)), LimitSet::kRequired);
  }
}

TEST(OperatorTable, ResultsThatTheDraftDoesNotRequire_AreRefusedWhereOnlyThoseAreWanted) {
  const auto infer = [](OperatorKind kind, std::string_view operand,
                        const OperatorAttributes& attributes, LimitSet limits) {
    const OperandDescriptor descriptor = Descriptor(operand);
    return Refusal(kind, {&descriptor}, attributes, limits);
  };
  const CastAttributes to_int64{.data_type = OperandDataType::kInt64};
  EXPECT_EQ(infer(OperatorKind::kCast, "float32[2]", to_int64, LimitSet::kAllowed), "");
  EXPECT_EQ(infer(OperatorKind::kCast, "float32[2]", to_int64, LimitSet::kRequired),
            "cast: the data type of output (int64) is not one of its allowed data types (float32, "
            "float16, int32, int8, uint8)");
  const CastAttributes to_int8{.data_type = OperandDataType::kInt8};
  EXPECT_EQ(infer(OperatorKind::kCast, "float32[2]", to_int8, LimitSet::kRequired), "");
  const ExpandAttributes six{.new_shape = {1, 1, 1, 1, 1, 2}};
  EXPECT_EQ(infer(OperatorKind::kExpand, "float32[2]", six, LimitSet::kAllowed), "");
  EXPECT_EQ(infer(OperatorKind::kExpand, "float32[2]", six, LimitSet::kRequired),
            "expand: the rank of output (6) is not in its allowed range (0 to 5)");
  const ExpandAttributes five{.new_shape = {1, 1, 1, 1, 2}};
  EXPECT_EQ(infer(OperatorKind::kExpand, "float32[2]", five, LimitSet::kRequired), "");
}

TEST(OperatorTable, AbsentRequiredOperand_IsRefusedByName) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorSignature& signature = GetSignature(Kind(i));
    const std::vector<OperandDescriptor> operands = MinimalOperands(GetOperatorRow(Kind(i)));
    for (size_t slot = 0; slot < signature.required_slots; ++slot) {
      std::vector<const OperandDescriptor*> pointers = PointersTo(operands);
      pointers[slot] = nullptr;
      EXPECT_EQ(Refusal(Kind(i), pointers, DefaultAttributes(Kind(i))),
                std::string(OperatorName(Kind(i))) + ": the required operand (" +
                    std::string(signature.slots[slot].name) +
                    (signature.operand_list ? "[0]" : "") + ") is absent");
    }
  }
}

TEST(OperatorTable, WrongNumberOfSlots_IsRefused) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const size_t slots = GetSignature(Kind(i)).slots.size();
    if (GetSignature(Kind(i)).operand_list) continue;
    const std::vector<OperandDescriptor> operands = MinimalOperands(GetOperatorRow(Kind(i)));
    for (size_t count : {slots - 1, slots + 1}) {
      // An absent optional operand is a slot too.
      std::vector<const OperandDescriptor*> pointers = PointersTo(operands);
      pointers.resize(count);
      EXPECT_EQ(Refusal(Kind(i), pointers, DefaultAttributes(Kind(i))),
                std::string(OperatorName(Kind(i))) + ": the number of operand slots (" +
                    std::to_string(count) + ") is not that of the signature (" +
                    std::to_string(slots) + ")");
    }
  }
}

TEST(OperatorTable, AttributesOfAnotherOperator_AreRefused) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const std::vector<OperandDescriptor> operands = MinimalOperands(GetOperatorRow(Kind(i)));
    OperatorAttributes other = NoAttributes{};
    if (AttributesMatch(Kind(i), other)) other = SoftmaxAttributes{};
    EXPECT_EQ(Refusal(Kind(i), PointersTo(operands), other),
              std::string(OperatorName(Kind(i))) + ": the attributes (alternative " +
                  std::to_string(other.index()) + ") are those of another operator");
  }
}

TEST(OperatorTable, Label_StandsBeforeTheOperator) {
  EXPECT_EQ(Infer(OperatorKind::kSoftmax, "float32[2]", SoftmaxAttributes{.axis = 3}, "attention"),
            "[attention] softmax: the axis (3) is not less than the rank of input (1)");
  EXPECT_EQ(Infer(OperatorKind::kAdd, "float32[2] float32[2]", NoAttributes{}, "{}"), "float32[2]");
  EXPECT_EQ(Infer(OperatorKind::kAdd, "float32[2] float32[3]", NoAttributes{}, "{}"),
            "[{}] add: the shapes of a ([2]) and b ([3]) are not broadcastable");
  EXPECT_EQ(Infer(OperatorKind::kAdd, "float32[2] float32[3]", NoAttributes{}, "\u202Eevil\n"),
            "[\\u202Eevil\\u000A] add: the shapes of a ([2]) and b ([3]) are not broadcastable");
}

TEST(OperatorTable, RowWithoutMeaning_IsNotSupportedByName) {
  const OperatorRow row{OperatorKind::kRelu, {}, {}, nullptr};
  const OperandDescriptor operand = Descriptor("float32[2]");
  const std::vector<const OperandDescriptor*> operands{&operand};
  auto results = InferRow(row, operands, NoAttributes{}, "", LimitSet::kAllowed, {});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().cause(), Cause::kNotSupported);
  EXPECT_EQ(results.error().message(), "relu is not supported");
  results = InferRow(row, operands, NoAttributes{}, "gate", LimitSet::kAllowed, {});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().message(), "[gate] relu is not supported");
}

TEST(DataTypeSet, ToString_NamesItsTypes) {
  EXPECT_EQ((DataTypeSet{OperandDataType::kUint8, OperandDataType::kFloat32}.ToString()),
            "float32, uint8");
  EXPECT_EQ(DataTypeSet{}.ToString(), "");
}

}  // namespace
}  // namespace webnnd::webidl

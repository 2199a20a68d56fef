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

// Each family tests what its operators allow; here each slot of each operator meets each type and
// rank that its row forbids.
TEST(OperatorTable, TypesAndRanksOutsideTheRow_AreRefusedByName) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const OperatorRow& row = GetOperatorRow(Kind(i));
    if (row.infer == nullptr) continue;
    const OperatorSignature& signature = GetSignature(row.kind);
    // Operands that pass the row's checks, whatever infer says to them.
    std::vector<OperandDescriptor> operands;
    for (const TensorConstraint& slot : row.slots) {
      uint32_t type = 0;
      while (!slot.types.Contains(static_cast<OperandDataType>(type))) ++type;
      operands.push_back(
          *OperandDescriptor::Create(static_cast<OperandDataType>(type), Shape(slot.rank_min, 1)));
    }
    const auto infer = [&](size_t slot, const OperandDescriptor& replacement) {
      std::vector<const OperandDescriptor*> pointers;
      for (const OperandDescriptor& operand : operands) pointers.push_back(&operand);
      pointers[slot] = &replacement;
      auto results = InferOperator(row.kind, pointers, DefaultAttributes(row.kind), "");
      return results.ok() ? "" : results.error().message();
    };
    for (size_t slot = 0; slot < row.slots.size(); ++slot) {
      std::string name{signature.slots[slot].name};
      if (signature.operand_list) name += "[0]";
      const TensorConstraint& constraint = row.slots[slot];
      for (uint32_t type = 0; type < kOperandDataTypeCount; ++type) {
        const auto data_type = static_cast<OperandDataType>(type);
        const auto message =
            infer(slot, *OperandDescriptor::Create(data_type, Shape(constraint.rank_min, 1)));
        const std::string refusal = std::string(OperatorName(row.kind)) + ": the data type of " +
                                    name + " (" + std::string(ToString(data_type)) +
                                    ") is not one of its allowed data types (";
        EXPECT_EQ(message.starts_with(refusal), !constraint.types.Contains(data_type)) << message;
      }
      for (uint32_t rank = 0; rank <= limits::kRankMax; ++rank) {
        const auto message =
            infer(slot, *OperandDescriptor::Create(operands[slot].data_type(), Shape(rank, 1)));
        const std::string refusal = std::string(OperatorName(row.kind)) + ": the rank of " + name +
                                    " (" + std::to_string(rank) + ") is not ";
        const bool allowed = rank >= constraint.rank_min && rank <= constraint.rank_max;
        EXPECT_EQ(message.starts_with(refusal + "its allowed rank") ||
                      message.starts_with(refusal + "in its allowed range"),
                  !allowed)
            << message;
      }
    }
  }
}

TEST(OperatorTable, AbsentRequiredOperand_IsRefusedByName) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    if (GetOperatorRow(Kind(i)).infer == nullptr) continue;
    const OperatorSignature& signature = GetSignature(Kind(i));
    const std::vector<const OperandDescriptor*> absent(signature.slots.size(), nullptr);
    const auto results = InferOperator(Kind(i), absent, DefaultAttributes(Kind(i)), "");
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().cause(), Cause::kValidation);
    EXPECT_EQ(results.error().message(), std::string(OperatorName(Kind(i))) +
                                             ": the required operand (" +
                                             std::string(signature.slots[0].name) +
                                             (signature.operand_list ? "[0]" : "") + ") is absent");
  }
}

TEST(OperatorTable, WrongNumberOfSlots_IsRefused) {
  const OperandDescriptor operand = Descriptor("float32[2,2]");
  const std::vector<const OperandDescriptor*> three(3, &operand);
  auto results = InferOperator(OperatorKind::kAdd, three, NoAttributes{}, "");
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().message(),
            "add: the number of operand slots (3) is not that of the signature (2)");
  // An absent optional operand is a slot too.
  const std::span<const OperandDescriptor* const> two{three.data(), 2};
  results = InferOperator(OperatorKind::kGemm, two, GemmAttributes{}, "");
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().message(),
            "gemm: the number of operand slots (2) is not that of the signature (3)");
}

TEST(OperatorTable, AttributesOfAnotherOperator_AreRefused) {
  EXPECT_EQ(Infer(OperatorKind::kSoftmax, "float32[2]", NoAttributes{}),
            "softmax: the attributes (alternative 0) are those of another operator");
}

TEST(OperatorTable, Label_StandsBeforeTheOperator) {
  EXPECT_EQ(Infer(OperatorKind::kSoftmax, "float32[2]", SoftmaxAttributes{.axis = 3}, "attention"),
            "[attention] softmax: the axis (3) is not less than the rank of input (1)");
  EXPECT_EQ(Infer(OperatorKind::kAdd, "float32[2] float32[2]", NoAttributes{}, "{}"), "float32[2]");
  EXPECT_EQ(Infer(OperatorKind::kAdd, "float32[2] float32[3]", NoAttributes{}, "{}"),
            "[{}] add: the shapes of a ([2]) and b ([3]) are not broadcastable");
}

TEST(OperatorTable, RowWithoutMeaning_IsNotSupportedByName) {
  const OperatorRow row{OperatorKind::kRelu, {}, {}, nullptr};
  const OperandDescriptor operand = Descriptor("float32[2]");
  const std::vector<const OperandDescriptor*> operands{&operand};
  auto results = InferRow(row, operands, NoAttributes{}, "");
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().cause(), Cause::kNotSupported);
  EXPECT_EQ(results.error().message(), "relu is not supported");
  results = InferRow(row, operands, NoAttributes{}, "gate");
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

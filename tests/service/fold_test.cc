#include "service/spirv/fold.h"

#include <vector>

#include "gtest/gtest.h"

namespace webnnd::service::spirv {
namespace {

using spv::Op;

TEST(Fold, TakesNumbersAsTheyAreOfTheirOperation) {
  const auto fold = [](Op op, std::vector<Known> operands) { return Fold(op, operands); };
  EXPECT_EQ(fold(Op::OpISub, {2, 3}), ~0u);
  EXPECT_EQ(fold(Op::OpUDiv, {~0u, 2}), 0x7fffffffu);
  EXPECT_EQ(fold(Op::OpULessThan, {~0u, 2}), 0u);
  EXPECT_EQ(fold(Op::OpSLessThan, {~0u, 2}), 1u);
  EXPECT_EQ(fold(Op::OpShiftRightArithmetic, {~0u, 4}), ~0u);
  EXPECT_EQ(fold(Op::OpShiftRightLogical, {~0u, 4}), 0x0fffffffu);
  EXPECT_EQ(fold(Op::OpLogicalNot, {1}), 0u);
  EXPECT_EQ(fold(Op::OpNot, {0}), ~0u);
  EXPECT_EQ(fold(Op::OpSelect, {0, 5, 6}), 6u);
}

TEST(Fold, GivesWhatOneOperandDecides) {
  const auto fold = [](Op op, std::vector<Known> operands) { return Fold(op, operands); };
  EXPECT_EQ(fold(Op::OpLogicalAnd, {{}, 0}), 0u);
  EXPECT_EQ(fold(Op::OpLogicalOr, {1, {}}), 1u);
  EXPECT_EQ(fold(Op::OpBitwiseAnd, {0, {}}), 0u);
  EXPECT_EQ(fold(Op::OpIMul, {{}, 0}), 0u);
  EXPECT_EQ(fold(Op::OpLogicalAnd, {{}, 1}), Known());
  EXPECT_EQ(fold(Op::OpIAdd, {{}, 0}), Known());
}

TEST(Fold, LeavesWhatIsUndefined) {
  const auto fold = [](Op op, std::vector<Known> operands) { return Fold(op, operands); };
  EXPECT_EQ(fold(Op::OpUDiv, {1, 0}), Known());
  EXPECT_EQ(fold(Op::OpUMod, {1, 0}), Known());
  EXPECT_EQ(fold(Op::OpShiftLeftLogical, {1, 32}), Known());
  EXPECT_EQ(fold(Op::OpShiftRightLogical, {1, 32}), Known());
  EXPECT_EQ(fold(Op::OpShiftRightArithmetic, {1, 32}), Known());
  EXPECT_EQ(fold(Op::OpFAdd, {1, 2}), Known());
}

}  // namespace
}  // namespace webnnd::service::spirv

// What becomes of llvmpipe's loops (base/drivers_llvm): how many turns they may have, and where
// they are left.
#include <gtest/gtest.h>

#include <string>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

// A loop as llvmpipe makes them: `%left` of its lanes are done with it after a turn each. A turn
// calls @work. `after` follows the loop.
std::string Loop(const std::string& body, const std::string& after) {
  const std::string ones = "<i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1>";
  return R"(
declare i32 @work(<8 x i32>)
define i32 @f(<8 x i32> %end) {
entry:
  %limit = alloca i32
  store i32 65535, i32* %limit
  %left = alloca <8 x i32>
  store <8 x i32> )" +
         ones + R"(, <8 x i32>* %left
  %turns = alloca <8 x i32>
  store <8 x i32> zeroinitializer, <8 x i32>* %turns
  br label %header

header:
  %before = load <8 x i32>, <8 x i32>* %left
  %k = load <8 x i32>, <8 x i32>* %turns
  %is_done = icmp uge <8 x i32> %k, %end
  %done = sext <8 x i1> %is_done to <8 x i32>
  %break = xor <8 x i32> %done, )" +
         ones + R"(
  %mask = and <8 x i32> %before, %break
  %full = and <8 x i32> )" +
         ones + R"(, %mask
)" + body +
         R"(
  store <8 x i32> %mask, <8 x i32>* %left
  %turns_left = load i32, i32* %limit
  %fewer = sub i32 %turns_left, 1
  store i32 %fewer, i32* %limit
  %bits = bitcast <8 x i32> %full to i256
  %is_any = icmp ne i256 %bits, 0
  %is_below = icmp sgt i32 %fewer, 0
  %goes_on = and i1 %is_any, %is_below
  br i1 %goes_on, label %header, label %exit

exit:
)" + after +
         "\n}\n";
}

constexpr char kTurn[] = "  %w = call i32 @work(<8 x i32> %full)";
constexpr char kTurnOfBlocks[] =
    "  br label %inner\ninner:\n  %w = call i32 @work(<8 x i32> %full)";
constexpr char kMemoryToRegisters[] = "function(mem2reg,instcombine)";

// The blocks that branch to `label`.
int BranchesTo(const std::string& code, const std::string& label) {
  return CountOf(code, "label %" + label);
}

// `code` with `number` in the place of the driver's limit of turns.
std::string WithLimit(std::string code, const std::string& number) {
  const std::string limit = "65535";
  return code.replace(code.find(limit), limit.size(), number);
}

TEST(LoopLimits, DriversLimit_IsRaised) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  // Whether it optimizes or not.
  for (const char* passes : {kMemoryToRegisters, "mem2reg", "default<O0>"}) {
    const std::string code = llvm.Optimize(Loop(kTurn, "  ret i32 0"), passes);
    EXPECT_EQ(CountOf(code, "2147483647"), 1) << code;
    EXPECT_EQ(CountOf(code, "65535"), 0) << code;
  }
}

TEST(LoopLimits, WhatIsNoLimitOfTheDrivers_StaysAsItIs) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string loop = Loop(kTurn, "  ret i32 0");
  const auto replace = [&](const std::string& what, const std::string& by) {
    std::string code = loop;
    return code.replace(code.find(what), what.size(), by);
  };
  const std::string others[] = {
      WithLimit(loop, "65534"),
      // Counted by another number, compared with one, or otherwise.
      replace("sub i32 %turns_left, 1", "sub i32 %turns_left, 2"),
      replace("icmp sgt i32 %fewer, 0", "icmp sgt i32 %fewer, 1"),
      replace("icmp sgt i32 %fewer, 0", "icmp sge i32 %fewer, 0"),
  };
  for (const std::string& other : others) {
    const std::string code = llvm.Optimize(other, "mem2reg");
    EXPECT_EQ(CountOf(code, "2147483647"), 0) << code;
    EXPECT_EQ(CountOf(code, "6553"), 1) << code;
  }
  // Another variable, which begins with the same number.
  const std::string variable = llvm.Optimize(replace("store i32 %fewer",
                                                     "%o = alloca i32\n  store i32 65535, i32* %o\n"
                                                     "  store i32 %fewer"),
                                             "default<O0>");
  EXPECT_EQ(CountOf(variable, "store i32 65535, i32* %o"), 1) << variable;
  EXPECT_EQ(CountOf(variable, "store i32 2147483647, i32* %limit"), 1) << variable;
}

TEST(LoopExits, LoopsOfNobody_LeaveBeforeTheirTurn) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string code = llvm.Optimize(Loop(kTurn, "  ret i32 0"), kMemoryToRegisters);
  EXPECT_EQ(BranchesTo(code, "exit"), 2) << code;
  // What decides it comes before the call.
  EXPECT_LT(code.find("label %exit"), code.find("call i32 @work")) << code;
  EXPECT_EQ(CountOf(code, "call i32 @work"), 1) << code;
  const std::string blocks = llvm.Optimize(Loop(kTurnOfBlocks, "  ret i32 0"), kMemoryToRegisters);
  EXPECT_EQ(BranchesTo(blocks, "exit"), 2) << blocks;
}

TEST(LoopExits, LoopsWhoseTurnsAreNeeded_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  // What the last turn computed.
  const std::string used = llvm.Optimize(Loop(kTurn, "  ret i32 %w"), kMemoryToRegisters);
  EXPECT_EQ(BranchesTo(used, "exit"), 1) << used;
  // What would have to tell one way out from the other.
  const std::string phi = llvm.Optimize(
      Loop(kTurnOfBlocks, "  %last = phi i32 [ 1, %inner ]\n  ret i32 %last"), kMemoryToRegisters);
  EXPECT_EQ(BranchesTo(phi, "exit"), 1) << phi;
  // What both ways out lead to.
  const std::string two_exits =
      llvm.Optimize(Loop("  %w = call i32 @work(<8 x i32> %full)\n  %stops = icmp eq i32 %w, 0\n"
                         "  br i1 %stops, label %stop, label %inner\ninner:",
                         "  br label %stop\nstop:\n  ret i32 %w"),
                    kMemoryToRegisters);
  EXPECT_EQ(CountOf(two_exits, "call i32 @work"), 1) << two_exits;
  EXPECT_EQ(BranchesTo(two_exits, "turn"), 0) << two_exits;
  // Where it is not to optimize.
  const std::string plain = llvm.Optimize(Loop(kTurn, "  ret i32 0"), "mem2reg");
  EXPECT_EQ(BranchesTo(plain, "exit"), 1) << plain;
}

}  // namespace
}  // namespace webnnd

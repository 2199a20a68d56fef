// Functions of 16 lanes like llvmpipe's, by the program's LLVMRunPasses (base/drivers_llvm) and the
// LLVM that lavapipe uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

constexpr uint32_t kLanes = 16;
using Lanes = std::array<uint32_t, kLanes>;

// What @f reads and writes.
struct alignas(64) Memory {
  Lanes active;  // All ones where a lane counts.
  Lanes numbers;
  Lanes sums;
};

// Nothing before ours.
constexpr char kPasses[] = "verify";

std::string Splat(const std::string& element) {
  std::string text = "<i32 " + element;
  for (uint32_t i = 1; i < kLanes; ++i) text += ", i32 " + element;
  return text + ">";
}

// @f of `code`, which begins in %entry with what is in memory, and with %n in all lanes, %all.
std::string Function(const std::string& code) {
  return R"(
declare <16 x i32> @llvm.umin.v16i32(<16 x i32>, <16 x i32>)
define void @f(<16 x i32>* %memory, i32 %n) {
entry:
  %numbers_at = getelementptr <16 x i32>, <16 x i32>* %memory, i32 1
  %sums_at = getelementptr <16 x i32>, <16 x i32>* %memory, i32 2
  %active = load <16 x i32>, <16 x i32>* %memory
  %numbers = load <16 x i32>, <16 x i32>* %numbers_at
  %sums = load <16 x i32>, <16 x i32>* %sums_at
  %n_first = insertelement <16 x i32> undef, i32 %n, i32 0
  %all = shufflevector <16 x i32> %n_first, <16 x i32> undef, <16 x i32> zeroinitializer
)" + code +
         "\n}\n";
}

// Two loops, one in the other: for y below %n, and x below `end`, lanes of `entering` add x + y.
std::string Loops(const std::string& entering, const std::string& end) {
  const std::string ones = Splat("-1");
  return Function(R"(
  br label %outer

outer:
  %outer_left = phi <16 x i32> [ )" +
                  entering + R"(, %entry ], [ %outer_mask, %outer_latch ]
  %y = phi <16 x i32> [ zeroinitializer, %entry ], [ %y_blend, %outer_latch ]
  %outer_sum = phi <16 x i32> [ %sums, %entry ], [ %sum, %outer_latch ]
  %y_counts = icmp ult <16 x i32> %y, %all
  %outer_mask = select <16 x i1> %y_counts, <16 x i32> %outer_left, <16 x i32> zeroinitializer
  %outer_bits = bitcast <16 x i32> %outer_mask to i512
  %outer_none = icmp eq i512 %outer_bits, 0
  br i1 %outer_none, label %exit, label %inner

inner:
  %left = phi <16 x i32> [ %outer_mask, %outer ], [ %mask, %turn ]
  %x = phi <16 x i32> [ zeroinitializer, %outer ], [ %x_blend, %turn ]
  %sum = phi <16 x i32> [ %outer_sum, %outer ], [ %sum_blend, %turn ]
  %x_counts = icmp ult <16 x i32> %x, )" +
                  end + R"(
  %mask = select <16 x i1> %x_counts, <16 x i32> %left, <16 x i32> zeroinitializer
  %bits = bitcast <16 x i32> %mask to i512
  %none = icmp ne i512 %bits, 0
  br i1 %none, label %turn, label %outer_latch

turn:
  %others = xor <16 x i32> %mask, )" +
                  ones + R"(
  %both = add <16 x i32> %x, %y
  %more = add <16 x i32> %sum, %both
  %sum_taken = and <16 x i32> %mask, %more
  %sum_kept = and <16 x i32> %sum, %others
  %sum_blend = or <16 x i32> %sum_taken, %sum_kept
  %x_next = add <16 x i32> %x, )" +
                  Splat("1") + R"(
  %x_taken = and <16 x i32> %mask, %x_next
  %x_kept = and <16 x i32> %x, %others
  %x_blend = or <16 x i32> %x_taken, %x_kept
  br label %inner

outer_latch:
  %outer_others = xor <16 x i32> %outer_mask, )" +
                  ones + R"(
  %y_next = add <16 x i32> %y, )" +
                  Splat("1") + R"(
  %y_taken = and <16 x i32> %outer_mask, %y_next
  %y_kept = and <16 x i32> %y, %outer_others
  %y_blend = or <16 x i32> %y_taken, %y_kept
  br label %outer

exit:
  store <16 x i32> %outer_sum, <16 x i32>* %sums_at
  ret void)");
}

// `expect` is given a lane's memory, and gives its sum.
template <class Expect>
void ExpectSums(const DriverLlvm& llvm, const std::string& text, Expect expect) {
  llvm.Run(text, kPasses, [&](void* function) {
    auto* f = reinterpret_cast<void (*)(Memory*, uint32_t)>(function);
    for (uint32_t n : {1U, 2U, 5U}) {
      for (uint32_t active : {0xffffU, 0x1U, 0x8000U, 0xa5c2U, 0U}) {
        Memory memory;
        for (uint32_t i = 0; i < kLanes; ++i) {
          memory.active[i] = (active >> i & 1) != 0 ? ~0U : 0;
          memory.numbers[i] = 3 * i % 5;
          memory.sums[i] = 100 + i;
        }
        Lanes expected;
        for (uint32_t i = 0; i < kLanes; ++i) {
          expected[i] = expect(memory.active[i] != 0, memory.numbers[i], memory.sums[i], n);
        }
        f(&memory, n);
        EXPECT_EQ(memory.sums, expected) << "n " << n << " active " << active;
      }
    }
  });
}

uint32_t SumOfLoops(uint32_t sum, uint32_t n, uint32_t end) {
  for (uint32_t y = 0; y < n; ++y) {
    for (uint32_t x = 0; x < end; ++x) sum += x + y;
  }
  return sum;
}

TEST(UniformBranches, LoopsOfAllLanes_CountWithOne) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Loops(Splat("-1"), "%all");
  const std::string code = llvm.Optimize(text, kPasses);
  EXPECT_EQ(CountOf(code, "i512"), 0) << code;
  EXPECT_EQ(CountOf(code, " or <16"), 0) << code;  // Nothing is blended.
  EXPECT_EQ(CountOf(code, " icmp ult <16"), 0) << code;
  ExpectSums(llvm, text,
             [](bool, uint32_t, uint32_t sum, uint32_t n) { return SumOfLoops(sum, n, n); });
}

// The lanes are asked once, before; the sum is still theirs alone.
TEST(UniformBranches, LoopsOfSomeLanes_CountWithOne) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Loops("%active", "%all");
  const std::string code = llvm.Optimize(text, kPasses);
  const size_t loops = code.find("\nouter:");
  ASSERT_NE(loops, std::string::npos);
  EXPECT_EQ(code.find("i512", loops), std::string::npos) << code;
  EXPECT_NE(code.find("i512"), std::string::npos) << code;
  EXPECT_EQ(CountOf(code, "select <16"), 0) << code;
  ExpectSums(llvm, text, [](bool is_active, uint32_t, uint32_t sum, uint32_t n) {
    return is_active ? SumOfLoops(sum, n, n) : sum;
  });
}

TEST(UniformBranches, LanesThatMayLeaveAlone_AreAskedEach) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  for (const std::string& entering : {Splat("-1"), std::string("%active")}) {
    const bool all = entering != "%active";
    const std::string text = Loops(entering, "%numbers");
    const std::string code = llvm.Optimize(text, kPasses);
    const size_t inner = code.find("\ninner:");
    ASSERT_NE(inner, std::string::npos);
    EXPECT_NE(code.find("i512", inner), std::string::npos) << code;
    EXPECT_NE(code.find(" or <16", inner), std::string::npos) << code;
    ExpectSums(llvm, text, [&](bool is_active, uint32_t number, uint32_t sum, uint32_t n) {
      return all || is_active ? SumOfLoops(sum, n, number) : sum;
    });
  }
}

// Not all ones, though all lanes have the same.
TEST(UniformBranches, NumbersThatAreNoMask_StayWhatTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Function(R"(
  %few = call <16 x i32> @llvm.umin.v16i32(<16 x i32> %all, <16 x i32> )" +
                                    Splat("3") + R"()
  %bits = bitcast <16 x i32> %few to i512
  %none = icmp eq i512 %bits, 0
  br i1 %none, label %exit, label %some

some:
  %sum = and <16 x i32> %sums, %few
  store <16 x i32> %sum, <16 x i32>* %sums_at
  br label %exit

exit:
  ret void)");
  EXPECT_EQ(CountOf(llvm.Optimize(text, kPasses), "i512"), 0);
  ExpectSums(llvm, text,
             [](bool, uint32_t, uint32_t sum, uint32_t n) { return sum & std::min(n, 3U); });
}

// What is behind the branch is reached otherwise, too.
TEST(UniformBranches, MasksWhereTheyMayBeEmpty_StayWhatTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Function(R"(
  %is_more = icmp ugt <16 x i32> %all, )" +
                                    Splat("1") +
                                    R"(
  %mask = sext <16 x i1> %is_more to <16 x i32>
  %bits = bitcast <16 x i32> %mask to i512
  %none = icmp eq i512 %bits, 0
  br i1 %none, label %few, label %both

few:
  br label %both

both:
  %sum = and <16 x i32> %sums, %mask
  store <16 x i32> %sum, <16 x i32>* %sums_at
  ret void)");
  ExpectSums(llvm, text, [](bool, uint32_t, uint32_t sum, uint32_t n) { return n > 1 ? sum : 0; });
}

TEST(UniformBranches, DivisionsOfWhatAllLanesHave_AreOne) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string division = R"(
  %few = call <16 x i32> @llvm.umin.v16i32(<16 x i32> %all, <16 x i32> )" +
                               Splat("3") + R"()
  %quotient = udiv <16 x i32> )" +
                               Splat("1000");
  const auto with = [&](const std::string& divisor) {
    return Function(division + ", " + divisor + R"(
  %rest = urem <16 x i32> %quotient, )" +
                    divisor + R"(
  %both = add <16 x i32> %quotient, %rest
  %sum = add <16 x i32> %sums, %both
  store <16 x i32> %sum, <16 x i32>* %sums_at
  ret void)");
  };
  const auto expect_with = [](uint32_t divisor) {
    return 1000 / divisor + 1000 / divisor % divisor;
  };
  const std::string same = llvm.Optimize(with("%few"), kPasses);
  EXPECT_EQ(CountOf(same, "div <16"), 0) << same;
  EXPECT_EQ(CountOf(same, "udiv i32"), 1) << same;
  ExpectSums(llvm, with("%few"), [&](bool, uint32_t, uint32_t sum, uint32_t n) {
    return sum + expect_with(std::min(n, 3U));
  });
  // Lanes of %sums are each another.
  const std::string own = llvm.Optimize(with("%sums"), kPasses);
  EXPECT_EQ(CountOf(own, "udiv i32"), 0) << own;
  EXPECT_EQ(CountOf(own, "fdiv <16"), 2) << own;
  ExpectSums(llvm, with("%sums"),
             [&](bool, uint32_t, uint32_t sum, uint32_t) { return sum + expect_with(sum); });
}

TEST(UniformBranches, LanesThatChangePlaces_HaveStillEachAnother) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  std::string places = "<i32 1";
  for (uint32_t i = 1; i < kLanes; ++i) places += ", i32 " + std::to_string((i + 1) % kLanes);
  const std::string text = Function(R"(
  %next = shufflevector <16 x i32> %sums, <16 x i32> undef, <16 x i32> )" +
                                    places + R"(>
  %sum = udiv <16 x i32> )" + Splat("10000") +
                                    R"(, %next
  store <16 x i32> %sum, <16 x i32>* %sums_at
  ret void)");
  EXPECT_EQ(CountOf(llvm.Optimize(text, kPasses), "fdiv <16"), 1);
  // Sums are 100, and one more from lane to lane.
  ExpectSums(llvm, text, [](bool, uint32_t, uint32_t sum, uint32_t) {
    return 10000 / (100 + (sum - 100 + 1) % kLanes);
  });
}

// A mask that is empty where the condition holds, of lanes that are taken from there.
TEST(UniformBranches, LanesWhereAConditionDoesNotHold_AreThoseThatEntered) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Function(R"(
  br label %ask

ask:
  %few = call <16 x i32> @llvm.umin.v16i32(<16 x i32> %all, <16 x i32> )" +
                                    Splat("3") + R"()
  %is_three = icmp eq <16 x i32> %few, )" +
                                    Splat("3") + R"(
  %is_two = icmp eq <16 x i32> %all, )" +
                                    Splat("2") + R"(
  %is_other = or <16 x i1> %is_two, %is_three
  %mask = select <16 x i1> %is_other, <16 x i32> zeroinitializer, <16 x i32> %active
  %bits = bitcast <16 x i32> %mask to i512
  %none = icmp eq i512 %bits, 0
  br i1 %none, label %exit, label %some

some:
  %sum = or <16 x i32> %sums, %mask
  store <16 x i32> %sum, <16 x i32>* %sums_at
  br label %exit

exit:
  ret void)");
  const std::string code = llvm.Optimize(text, kPasses);
  EXPECT_EQ(code.find("%mask", code.find("\nsome:")), std::string::npos) << code;
  ExpectSums(llvm, text, [](bool is_active, uint32_t, uint32_t sum, uint32_t n) {
    return n == 1 && is_active ? ~0U : sum;
  });
}

// Parameters may be vectors: those of functions that load texels are.
TEST(UniformBranches, LanesOfAParameter_AreTakenFromIt) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string code = llvm.Optimize(R"(
define i32 @f(<16 x i32> %numbers, <16 x i32> %divisors) {
entry:
  %third = shufflevector <16 x i32> %numbers, <16 x i32> undef, <16 x i32> )" +
                                             Splat("3") + R"(
  %divisor = shufflevector <16 x i32> %divisors, <16 x i32> undef, <16 x i32> zeroinitializer
  %quotient = sdiv <16 x i32> %third, %divisor
  %both = add <16 x i32> %quotient, %numbers
  %element = extractelement <16 x i32> %both, i32 5
  ret i32 %element
}
)",
                                         "verify");
  EXPECT_EQ(CountOf(code, "sdiv i32"), 1) << code;
  EXPECT_EQ(CountOf(code, "extractelement <16 x i32> %numbers, i64 3"), 1) << code;
}

}  // namespace
}  // namespace webnnd

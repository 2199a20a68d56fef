// Loops of 16 lanes like llvmpipe's, by the program's LLVMRunPasses (base/drivers_llvm) and the
// LLVM that lavapipe uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

constexpr uint32_t kLanes = 16;
constexpr uint32_t kTurnsMax = 9;
using Lanes = std::array<uint32_t, kLanes>;

// What @f reads and writes.
struct alignas(64) Memory {
  Lanes active;  // All ones where a lane enters.
  Lanes sums;
  Lanes first;  // Of a lane's k.
  Lanes ends;
};

// Parts of a loop over k that adds k to a sum, of at most %limit turns, that a test may replace.
struct Parts {
  std::string entering = "%active";
  std::string first = "zeroinitializer";  // k.
  std::string end = "%all";               // Of all lanes, %n.
  std::string mask = "select <16 x i1> %is_done, <16 x i32> zeroinitializer, <16 x i32> %left";
  std::string left = "%mask";      // For the next turn.
  std::string phis;                // More of them.
  std::string others = "%others";  // Lanes that keep their sum.
  std::string last = "phi <16 x i32> [ %sum, %header ], [ %sum_blend, %turn ]";
};

std::string Splat(const std::string& element) {
  std::string text = "<i32 " + element;
  for (uint32_t i = 1; i < kLanes; ++i) text += ", i32 " + element;
  return text + ">";
}

std::string Loop(const Parts& parts) {
  const std::string ones = Splat("-1");
  return R"(
define void @f(<16 x i32>* %memory, i32 %n, i32 %limit) {
entry:
  %sums_at = getelementptr <16 x i32>, <16 x i32>* %memory, i32 1
  %first_at = getelementptr <16 x i32>, <16 x i32>* %memory, i32 2
  %ends_at = getelementptr <16 x i32>, <16 x i32>* %memory, i32 3
  %active = load <16 x i32>, <16 x i32>* %memory
  %sums = load <16 x i32>, <16 x i32>* %sums_at
  %first = load <16 x i32>, <16 x i32>* %first_at
  %ends = load <16 x i32>, <16 x i32>* %ends_at
  %n_first = insertelement <16 x i32> undef, i32 %n, i32 0
  %all = shufflevector <16 x i32> %n_first, <16 x i32> undef, <16 x i32> zeroinitializer
  %inactive = xor <16 x i32> %active, )" +
         ones + R"(
  %stale = and <16 x i32> %first, %inactive
  %fresh = and <16 x i32> %first, %active
  br label %header

header:
  %left = phi <16 x i32> [ )" +
         parts.entering + ", %entry ], [ " + parts.left + R"(, %turn ]
  %k = phi <16 x i32> [ )" +
         parts.first + R"(, %entry ], [ %k_blend, %turn ]
  %sum = phi <16 x i32> [ %sums, %entry ], [ %sum_blend, %turn ]
  %turns = phi i32 [ %limit, %entry ], [ %fewer, %turn ]
)" + parts.phis +
         "\n  %is_done = icmp uge <16 x i32> %k, " + parts.end + "\n  %mask = " + parts.mask + R"(
  %bits = bitcast <16 x i32> %mask to i512
  %is_none = icmp eq i512 %bits, 0
  br i1 %is_none, label %exit, label %turn

turn:
  %others = xor <16 x i32> %mask, )" +
         ones + R"(
  %more = add <16 x i32> %sum, %k
  %sum_taken = and <16 x i32> %mask, %more
  %sum_kept = and <16 x i32> %sum, )" +
         parts.others + R"(
  %sum_blend = or <16 x i32> %sum_taken, %sum_kept
  %next = add <16 x i32> %k, )" +
         Splat("1") + R"(
  %k_taken = and <16 x i32> %mask, %next
  %k_kept = and <16 x i32> %k, %others
  %k_blend = or <16 x i32> %k_taken, %k_kept
  %fewer = add i32 %turns, -1
  %goes_on = icmp ne i32 %fewer, 0
  br i1 %goes_on, label %header, label %exit

exit:
  %last = )" +
         parts.last + R"(
  store <16 x i32> %last, <16 x i32>* %sums_at
  ret void
}
)";
}

constexpr char kPasses[] = "function(instcombine)";

// Blends within the loop, and behind it.
std::pair<int, int> CountBlends(const std::string& code) {
  const size_t exit = code.find("\nexit:");
  std::pair<int, int> counts;
  for (size_t at = code.find(" = or <16"); at != std::string::npos;
       at = code.find(" = or <16", at + 1)) {
    ++(at < exit ? counts.first : counts.second);
  }
  return counts;
}

// What the loop of `parts` comes to: %first is 0 where `first_counts` is not set, and lanes end
// at %ends where `ends_count` is.
void ExpectSums(const DriverLlvm& llvm, const Parts& parts, bool ends_count = false,
                bool first_counts = false) {
  llvm.Run(Loop(parts), kPasses, [&](void* function) {
    auto* f = reinterpret_cast<void (*)(Memory*, uint32_t, uint32_t)>(function);
    for (uint32_t n : {0U, 1U, 5U, 9U, 20U}) {
      for (uint32_t entering : {0xffffU, 0x1U, 0x8000U, 0xa5c3U, 0U}) {
        Memory memory;
        for (uint32_t i = 0; i < kLanes; ++i) {
          memory.active[i] = (entering >> i & 1) != 0 ? ~0U : 0;
          memory.sums[i] = 100 + i;
          memory.first[i] = 3 * i % 5;
          memory.ends[i] = i % 7;
        }
        Lanes expected = memory.sums;
        for (uint32_t i = 0; i < kLanes; ++i) {
          if (memory.active[i] == 0) continue;
          const uint32_t first = first_counts ? memory.first[i] : 0;
          const uint32_t end = ends_count ? memory.ends[i] : n;
          for (uint32_t k = first; k < end && k < first + kTurnsMax; ++k) expected[i] += k;
        }
        f(&memory, n, kTurnsMax);
        EXPECT_EQ(memory.sums, expected) << "n " << n << " entering " << entering;
      }
    }
  });
}

TEST(LoopBlends, LanesThatLeaveTogether_AreBlendedBehindTheLoop) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::pair<const char*, Parts> loops[] = {
      {"as it is", {}},
      {"0 where lanes enter, whatever it is elsewhere", {.first = "%stale"}},
      {"a mask of its own, and those around",
       {.entering = Splat("-1"),
        .mask = "and <16 x i32> %active, %own",
        .left = "%own",
        .phis =
            "  %is_past = icmp uge <16 x i32> %k, %all\n"
            "  %own = select <16 x i1> %is_past, <16 x i32> zeroinitializer, <16 x i32> %left"}},
  };
  for (const auto& [what, parts] : loops) {
    SCOPED_TRACE(what);
    const std::string code = llvm.Optimize(Loop(parts), kPasses);
    EXPECT_EQ(CountBlends(code), std::pair(0, 1)) << code;
    ExpectSums(llvm, parts);
  }
}

TEST(LoopBlends, WhereAllLanesEnter_NothingIsBlended) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string code = llvm.Optimize(Loop({.entering = Splat("-1")}), kPasses);
  EXPECT_EQ(CountBlends(code), std::pair(0, 0)) << code;
}

TEST(LoopBlends, LanesThatMayLeaveAlone_AreBlendedInEachTurn) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const Parts ends = {.end = "%ends"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(ends), kPasses)), std::pair(2, 0));
  ExpectSums(llvm, ends, /*ends_count=*/true);
  for (const char* first : {"%first", "%fresh"}) {
    const Parts own = {.first = first};
    EXPECT_EQ(CountBlends(llvm.Optimize(Loop(own), kPasses)), std::pair(2, 0));
    ExpectSums(llvm, own, /*ends_count=*/false, /*first_counts=*/true);
  }
  // Some that enter later.
  const Parts later = {.entering = "%ends",
                       .mask = "and <16 x i32> %left, %own",
                       .left = "%active",
                       .phis =
                           "  %is_past = icmp uge <16 x i32> %k, %all\n"
                           "  %own = select <16 x i1> %is_past, <16 x i32> zeroinitializer, "
                           "<16 x i32> %active"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(later), kPasses)), std::pair(2, 0));
  // Some that leave in the middle of a turn.
  const Parts middle = {.left = "%sum_taken"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(middle), kPasses)), std::pair(2, 0));
}

// Which other phis bring to where it counts, or which are used behind the loop as they are.
TEST(LoopBlends, ValuesThatGoOtherWays_StayBlended) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const Parts before = {
      .phis = "  %before = phi <16 x i32> [ zeroinitializer, %entry ], [ %sum_blend, %turn ]",
      .last = "phi <16 x i32> [ %before, %header ], [ %before, %turn ]"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(before), kPasses)), std::pair(1, 0));
  const Parts other = {.last = "phi <16 x i32> [ %sum, %header ], [ %more, %turn ]"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(other), kPasses)), std::pair(1, 0));
  // Lanes that keep their sum are others than those that do not take one.
  const Parts mixed = {.others = "%ends"};
  EXPECT_EQ(CountBlends(llvm.Optimize(Loop(mixed), kPasses)), std::pair(1, 0));
}

}  // namespace
}  // namespace webnnd

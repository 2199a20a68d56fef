// What becomes of divisions of vectors of integers (base/drivers_llvm/lane_divisions.h).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

constexpr char kPasses[] = "function(early-cse,instcombine)";
constexpr size_t kLanes = 16;
using Lanes = std::array<uint32_t, kLanes>;

std::string Vector(size_t lanes) { return "<" + std::to_string(lanes) + " x i32>"; }

// @f writes to %to what `operation` makes of %x and %y, which `prepare` makes of the loaded %a and
// %b.
std::string Division(const std::string& operation, const std::string& prepare,
                     size_t lanes = kLanes) {
  const std::string v = Vector(lanes);
  return "define void @f(" + v + "* %pa, " + v + "* %pb, " + v + "* %to) {\n" +  //
         "  %a = load " + v + ", " + v + "* %pa, align 4\n" +                    //
         "  %b = load " + v + ", " + v + "* %pb, align 4\n" + prepare +          //
         "  %q = " + operation + " " + v + " %x, %y\n" +                         //
         "  store " + v + " %q, " + v + "* %to, align 4\n  ret void\n}\n";
}

std::string First(const std::string& of, const std::string& from) {
  return "  " + of + " = shufflevector <16 x i32> " + from +
         ", <16 x i32> undef, <16 x i32> zeroinitializer\n";
}

std::string Same(const std::string& of, const std::string& from, size_t lanes = kLanes) {
  return "  " + of + " = xor " + Vector(lanes) + " " + from + ", zeroinitializer\n";
}

const std::string kLoaded = Same("%x", "%a") + Same("%y", "%b");

// Quotients that are integers, and those just below and above one.
std::vector<std::pair<uint32_t, uint32_t>> Pairs() {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  const uint32_t edges[] = {1, 2, 3, 7, 65535, 65536, 1U << 31, (1U << 31) - 1, kMost - 1, kMost};
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t a : edges) {
    for (uint32_t b : edges) pairs.emplace_back(a, b);
    pairs.emplace_back(0, a);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t b = (random() >> random() % 31) | 1;
    const uint32_t whole = random() / b * b;
    for (uint32_t a : {whole - 1, whole, whole + 1}) pairs.emplace_back(a, b);
    pairs.emplace_back(random(), b);
  }
  while (pairs.size() % kLanes != 0) pairs.emplace_back(1, 1);
  return pairs;
}

int32_t Signed(uint32_t x) { return static_cast<int32_t>(x); }

uint32_t Divide(const std::string& operation, uint32_t a, uint32_t b) {
  if (operation == "udiv") return a / b;
  if (operation == "urem") return a % b;
  const auto quotient = static_cast<uint32_t>(Signed(a) / Signed(b));
  return operation == "sdiv" ? quotient : a - quotient * b;
}

TEST(LaneDivisions, OfSixteenLanes_AreOfDoublesAndExact) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  for (const std::string operation : {"udiv", "urem", "sdiv", "srem"}) {
    const std::string text = Division(operation, kLoaded);
    const std::string code = llvm.Optimize(text, kPasses);
    EXPECT_EQ(CountOf(code, "fdiv <16 x double>"), 1) << code;
    EXPECT_EQ(CountOf(code, operation), 0) << code;
    const auto pairs = Pairs();
    llvm.Run(text, kPasses, [&](void* code_of_f) {
      auto* divide = reinterpret_cast<void (*)(const Lanes&, const Lanes&, Lanes&)>(code_of_f);
      for (size_t first = 0; first < pairs.size(); first += kLanes) {
        Lanes a, b, result;
        for (size_t i = 0; i < kLanes; ++i) {
          a[i] = pairs[first + i].first;
          b[i] = pairs[first + i].second;
          // Which no int is: LLVM and C++ say nothing of it.
          if (operation[0] == 's' && a[i] == 1U << 31 && b[i] == UINT32_MAX) b[i] = 1;
        }
        divide(a, b, result);
        for (size_t i = 0; i < kLanes; ++i) {
          ASSERT_EQ(result[i], Divide(operation, a[i], b[i]))
              << operation << " " << a[i] << " by " << b[i];
        }
      }
    });
  }
}

TEST(LaneDivisions, OfWhatAllLanesHave_AreOne) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = Division("udiv", First("%x", "%a") + First("%y", "%b"));
  const std::string code = llvm.Optimize(text, kPasses);
  EXPECT_EQ(CountOf(code, "udiv i32"), 1) << code;
  EXPECT_EQ(CountOf(code, "udiv"), 1) << code;
  EXPECT_EQ(CountOf(code, "fdiv"), 0) << code;
  llvm.Run(text, kPasses, [](void* code_of_f) {
    Lanes a{}, b{}, result;
    a[0] = 1000003;
    b[0] = 7;
    reinterpret_cast<void (*)(const Lanes&, const Lanes&, Lanes&)>(code_of_f)(a, b, result);
    for (uint32_t x : result) EXPECT_EQ(x, 1000003U / 7);
  });
}

TEST(LaneDivisions, ByNumbersAndOfFewerLanes_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  std::string sevens = "<i32 7";
  for (size_t i = 1; i < kLanes; ++i) sevens += ", i32 7";
  std::string by_number = Division("udiv", Same("%x", "%a"));
  by_number.replace(by_number.find("%y"), 2, sevens + ">");
  EXPECT_EQ(CountOf(llvm.Optimize(by_number, kPasses), "udiv <16 x i32>"), 1);
  const std::string of_eight = Division("udiv", Same("%x", "%a", 8) + Same("%y", "%b", 8), 8);
  EXPECT_EQ(CountOf(llvm.Optimize(of_eight, kPasses), "udiv <8 x i32>"), 1);
  // One side alone that is the same in all lanes.
  const std::string by_first = Division("udiv", Same("%x", "%a") + First("%y", "%b"));
  EXPECT_EQ(CountOf(llvm.Optimize(by_first, kPasses), "fdiv <16 x double>"), 1);
}

}  // namespace
}  // namespace webnnd

// What becomes of code that is like llvmpipe's, by the program's LLVMRunPasses (base/drivers_llvm)
// and the LLVM that lavapipe uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

// `loads` loads that nothing spares, and a call.
std::string Caller(int loads) {
  std::string text = R"(
define internal i32 @callee(i32 %x) {
  %y = mul i32 %x, %x
  ret i32 %y
}
define i32 @f(i32* %p, i32 %x) {
)";
  for (int i = 0; i < loads; ++i) {
    text += "  %l" + std::to_string(i) + " = load volatile i32, i32* %p\n";
  }
  return text + "  %y = call i32 @callee(i32 %x)\n  ret i32 %y\n}\n";
}

// The bound counts what is left of a module: two instructions of the callee, and besides the loads
// two of the caller.
TEST(Inlining, ModulesOfUpTo12000Instructions_HaveNoCalls) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  EXPECT_EQ(CountOf(llvm.Optimize(Caller(11996), "function(instcombine)"), "call i32"), 0);
  EXPECT_EQ(CountOf(llvm.Optimize(Caller(11997), "function(instcombine)"), "call i32"), 1);
}

// Eight loads as llvmpipe gathers them, of 4-byte words whose index is `index`, which is made of %n
// and %own.
std::string Gather(const std::string& index) {
  std::string text = R"(
define <8 x i32> @f(i32* %words, i32 %n, <8 x i32> %own) {
  %first = insertelement <8 x i32> undef, i32 %n, i32 0
  %size = shufflevector <8 x i32> %first, <8 x i32> undef, <8 x i32> zeroinitializer
)" + index + "\n";
  std::string lanes = "undef";
  for (int lane = 0; lane < 8; ++lane) {
    const std::string i = std::to_string(lane);
    text += "  %i" + i + " = extractelement <8 x i32> %index, i32 " + i + "\n  %p" + i +
            " = getelementptr i32, i32* %words, i32 %i" + i + "\n  %x" + i +
            " = load i32, i32* %p" + i + "\n  %v" + i + " = insertelement <8 x i32> " + lanes +
            ", i32 %x" + i + ", i32 " + i + "\n";
    lanes = "%v" + i;
  }
  return text + "  ret <8 x i32> %v7\n}\n";
}

constexpr char kPasses[] = "function(early-cse,instcombine)";

TEST(UniformLanes, LoadsOfOneIndex_AreOneLoad) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string three = "<i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3>";
  // A constant where it is in bounds.
  const std::string bounded = "  %is_in = icmp ugt <8 x i32> %size, " + three +
                              "\n  %index = select <8 x i1> %is_in, <8 x i32> " + three +
                              ", <8 x i32> zeroinitializer";
  EXPECT_EQ(CountOf(llvm.Optimize(Gather(bounded), kPasses), " load i32"), 1);
  EXPECT_EQ(CountOf(llvm.Optimize(Gather("  %index = add <8 x i32> %size, " + three), kPasses),
                    " load i32"),
            1);
}

TEST(UniformLanes, LoadsOfOwnIndices_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string other = "<i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 4>";
  for (const std::string& index :
       {std::string("%index = add <8 x i32> %size, %own"), "%index = add <8 x i32> %size, " + other,
        std::string("%index = shufflevector <8 x i32> %own, <8 x i32> undef, <8 x i32> <i32 0, i32 "
                    "0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 1>")}) {
    const std::string code = llvm.Optimize(Gather("  " + index), kPasses);
    // A constant of seven equal elements makes two loads of eight.
    const int loads = CountOf(code, " load i32");
    EXPECT_GE(loads, 2) << code;
  }
  // Elements of one number.
  const std::string parts = Gather(
      "  %low = zext i32 %n to i256\n  %bits = shl i256 %low, 40\n"
      "  %index = bitcast i256 %bits to <8 x i32>");
  EXPECT_GE(CountOf(llvm.Optimize(parts, kPasses), " load i32"), 2);
  // Another number of elements, of which pairs are the same.
  const std::string cast = Gather(
      "  %pair = insertelement <4 x i64> undef, i64 4294967298, i32 0\n"
      "  %pairs = shufflevector <4 x i64> %pair, <4 x i64> undef, <4 x i32> zeroinitializer\n"
      "  %index = bitcast <4 x i64> %pairs to <8 x i32>");
  EXPECT_EQ(CountOf(llvm.Optimize(cast, kPasses), " load i32"), 2);
}

// Of eight lanes: @f writes to %to the float16 of each float32 of %from, as llvmpipe computes
// FloatToHalf (shaders/tensor.glsl); `choose` says how it chooses.
constexpr char kRounding[] = R"(
define void @f(<8 x float>* %from, <8 x i32>* %to) {
  %x = load <8 x float>, <8 x float>* %from, align 4
  %bits = bitcast <8 x float> %x to <8 x i32>
  %magnitude = and <8 x i32> %bits, $2147483647
  %rebiased = add <8 x i32> %magnitude, $-939520001
  %shifted = lshr <8 x i32> %magnitude, $13
  %odd = and <8 x i32> %shifted, $1
  %sum = add <8 x i32> %rebiased, %odd
  %normal = lshr <8 x i32> %sum, $13
  %value = bitcast <8 x i32> %magnitude to <8 x float>
  %rounded = fadd <8 x float> %value, <float 0.5, float 0.5, float 0.5, float 0.5,
                                       float 0.5, float 0.5, float 0.5, float 0.5>
  %rounded_bits = bitcast <8 x float> %rounded to <8 x i32>
  %subnormal = add <8 x i32> %rounded_bits, $-1056964608
  %is_subnormal = icmp ult <8 x i32> %magnitude, $947912704
  %is_subnormal_mask = sext <8 x i1> %is_subnormal to <8 x i32>
  %is_subnormal_again = icmp ne <8 x i32> %is_subnormal_mask, zeroinitializer
  %is_nan = icmp ult <8 x i32> $2139095040, %magnitude
  %large = select <8 x i1> %is_nan, <8 x i32> $32256, <8 x i32> $31744
  %is_large = icmp uge <8 x i32> %magnitude, $1199570944
  %is_large_mask = sext <8 x i1> %is_large to <8 x i32>
  %is_large_again = trunc <8 x i32> %is_large_mask to <8 x i1>
@CHOICES@
  %high = lshr <8 x i32> %bits, $16
  %sign = and <8 x i32> %high, $32768
  %half = or <8 x i32> %sign, %result
  store <8 x i32> %half, <8 x i32>* %to, align 4
  ret void
}
declare <8 x float> @llvm.x86.avx.blendv.ps.256(<8 x float>, <8 x float>, <8 x float>)
)";
constexpr char kSelects[] = R"(
  %finite = select <8 x i1> %is_subnormal_again, <8 x i32> %subnormal, <8 x i32> %normal
  %result = select <8 x i1> %is_large_again, <8 x i32> %large, <8 x i32> %finite)";
// What is chosen comes second.
constexpr char kBlends[] = R"(
  %normal_float = bitcast <8 x i32> %normal to <8 x float>
  %subnormal_float = bitcast <8 x i32> %subnormal to <8 x float>
  %is_subnormal_float = bitcast <8 x i32> %is_subnormal_mask to <8 x float>
  %finite_float = call <8 x float> @llvm.x86.avx.blendv.ps.256(<8 x float> %normal_float,
      <8 x float> %subnormal_float, <8 x float> %is_subnormal_float)
  %large_float = bitcast <8 x i32> %large to <8 x float>
  %is_large_float = bitcast <8 x i32> %is_large_mask to <8 x float>
  %result_float = call <8 x float> @llvm.x86.avx.blendv.ps.256(<8 x float> %finite_float,
      <8 x float> %large_float, <8 x float> %is_large_float)
  %result = bitcast <8 x float> %result_float to <8 x i32>)";

std::string Replaced(std::string text, const std::string& part, const std::string& by) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

// With "$n" as eight times that number.
std::string WithVectors(std::string text) {
  for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$')) {
    const size_t end = text.find_first_not_of("-0123456789", at + 1);
    const std::string number = "i32 " + text.substr(at + 1, end - at - 1);
    std::string vector = "<" + number;
    for (int lane = 1; lane < 8; ++lane) vector += ", " + number;
    text.replace(at, end - at, vector + ">");
  }
  return text;
}

TEST(HalfRoundings, FloatToHalf_IsOneOperation) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  for (const char* choices : {kSelects, kBlends}) {
    const std::string text = WithVectors(Replaced(kRounding, "@CHOICES@", choices));
    const std::string code = llvm.Optimize(text, kPasses);
    EXPECT_EQ(CountOf(code, "fptrunc"), 1) << code;
    EXPECT_EQ(CountOf(code, "icmp"), 0) << code;
  }
}

// A part of what is loaded, once for the magnitude and once for the sign.
std::string OfParts(const std::string& of_magnitude, const std::string& of_sign) {
  std::string text = Replaced(kRounding, "@CHOICES@", kSelects);
  text = Replaced(text, "%bits = bitcast <8 x float> %x to",
                  "%other = fneg <8 x float> %x\n"
                  "  %one = insertvalue [2 x <8 x float>] undef, <8 x float> %x, 0\n"
                  "  %parts = insertvalue [2 x <8 x float>] %one, <8 x float> %other, 1\n"
                  "  %others = insertvalue [2 x <8 x float>] undef, <8 x float> %other, 0\n"
                  "  %part = extractvalue [2 x <8 x float>] " +
                      of_magnitude +
                      "\n"
                      "  %sign_part = extractvalue [2 x <8 x float>] " +
                      of_sign +
                      "\n"
                      "  %sign_bits = bitcast <8 x float> %sign_part to <8 x i32>\n"
                      "  %bits = bitcast <8 x float> %part to");
  return WithVectors(
      Replaced(text, "%high = lshr <8 x i32> %bits", "%high = lshr <8 x i32> %sign_bits"));
}

TEST(HalfRoundings, OfThePartsOfALoad_AreRecognised) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  auto count = [&](const char* of_magnitude, const char* of_sign) {
    return CountOf(llvm.Optimize(OfParts(of_magnitude, of_sign), kPasses), "fptrunc");
  };
  EXPECT_EQ(count("%parts, 0", "%parts, 0"), 1);
  EXPECT_EQ(count("%parts, 0", "%parts, 1"), 0);
  EXPECT_EQ(count("%parts, 0", "%others, 0"), 0);
}

// Ties, the bounds of the subnormal and the infinite, and what is beside them.
TEST(HalfRoundings, OneOperation_RoundsToNearestEven) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string text = WithVectors(Replaced(kRounding, "@CHOICES@", kSelects));
  const float inputs[16] = {0.0F,       -0.0F,      1.0F,       -65504.0F,
                            65519.99F,  65520.0F,   1e30F,      -INFINITY,
                            0x1.002p0F, 0x1.006p0F, 0x1p-14F,   0x1.ff8p-15F,
                            0x1p-24F,   -0x1p-25F,  0x1.8p-24F, 0x1.000002p-25F};
  const uint32_t halves[16] = {0x0000, 0x8000, 0x3c00, 0xfbff, 0x7bff, 0x7c00, 0x7c00, 0xfc00,
                               0x3c00, 0x3c02, 0x0400, 0x03ff, 0x0001, 0x8000, 0x0002, 0x0001};
  llvm.Run(text, kPasses, [&](void* code) {
    auto* round = reinterpret_cast<void (*)(const float*, uint32_t*)>(code);
    uint32_t results[16];
    round(inputs, results);
    round(inputs + 8, results + 8);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(results[i], halves[i]) << inputs[i];
  });
}

// With any other number, or operation, it means something else.
TEST(HalfRoundings, WhatIsNotFloatToHalf_StaysAsItIs) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string rounding = Replaced(kRounding, "@CHOICES@", kSelects);
  const std::pair<const char*, const char*> changes[] = {
      {"$2147483647", "$2147483646"},
      {"$-939520001", "$-939520000"},
      {"%magnitude, $13", "%magnitude, $12"},
      {"%shifted, $1", "%shifted, $3"},
      {"%sum, $13", "%sum, $14"},
      {"<float 0.5,", "<float 0.25,"},
      {"float 0.5>", "float 0.25>"},
      {"$-1056964608", "$-1056964607"},
      {"$947912704", "$947912705"},
      {"$2139095040", "$2139095041"},
      {"$32256", "$32257"},
      {"$31744", "$31745"},
      {"$1199570944", "$1199570945"},
      {"$16", "$15"},
      {"$32768", "$32769"},
      {"icmp ult <8 x i32> %magnitude", "icmp ule <8 x i32> %magnitude"},
      {"icmp ult <8 x i32> $", "icmp ule <8 x i32> $"},
      {"icmp uge", "icmp ugt"},
      {"%sum = add", "%sum = sub"},
      {"%rebiased = add", "%rebiased = sub"},
      {"fadd", "fsub"},
      {"%sign = and", "%sign = or"},
      {"%half = or", "%half = add"},
      {"%high = lshr", "%high = ashr"},
      {"%high = lshr <8 x i32> %bits", "%high = lshr <8 x i32> %sum"},
      {"bitcast <8 x i32> %magnitude", "bitcast <8 x i32> %bits"},
      {"%shifted = lshr <8 x i32> %magnitude", "%shifted = lshr <8 x i32> %bits"},
      {"%is_large = icmp uge <8 x i32> %magnitude", "%is_large = icmp uge <8 x i32> %bits"},
      {"$2139095040, %magnitude", "$2139095040, %bits"},
      {"%is_subnormal_again, <8 x i32> %subnormal, <8 x i32> %normal",
       "%is_subnormal_again, <8 x i32> %normal, <8 x i32> %subnormal"},
      {"%is_large_again, <8 x i32> %large, <8 x i32> %finite",
       "%is_large_again, <8 x i32> %finite, <8 x i32> %large"},
  };
  for (const auto& [part, by] : changes) {
    const std::string text = WithVectors(Replaced(rounding, part, by));
    EXPECT_EQ(CountOf(llvm.Optimize(text, kPasses), "fptrunc"), 0) << part << " to " << by;
  }
}

// @f writes to %to what OPERATION says of float32 that were float16.
constexpr char kOfHalves[] = R"(
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
define void @f(<8 x half>* %px, <8 x half>* %py, <8 x i32>* %to) {
  %x_half = load <8 x half>, <8 x half>* %px, align 2
  %y_half = load <8 x half>, <8 x half>* %py, align 2
  %x = fpext <8 x half> %x_half to <8 x float>
  %y = fpext <8 x half> %y_half to <8 x float>
  OPERATION
  store <8 x i32> %result, <8 x i32>* %to, align 4
  ret void
}
)";

std::string ComparisonText(const std::string& predicate, const std::string& other) {
  return Replaced(kOfHalves, "OPERATION",
                  "%is = fcmp " + predicate + " <8 x float> %x, " + other +
                      "\n  %result = zext <8 x i1> %is to <8 x i32>");
}
std::string SignText(const std::string& operation) {
  return Replaced(
      kOfHalves, "OPERATION",
      "%signed = " + operation + "\n  %result = bitcast <8 x float> %signed to <8 x i32>");
}

constexpr uint16_t kSomeHalves[8] = {0x0000, 0x8000, 0x3c00, 0xbc00,
                                     0x7e00, 0x7c00, 0xfc00, 0x8001};
constexpr float kSomeFloats[8] = {0.0F, -0.0F, 1.0F, -1.0F, NAN, INFINITY, -INFINITY, -0x1p-24F};
// Beside those.
constexpr uint16_t kOtherHalves[8] = {0x8000, 0x0001, 0x3c00, 0x3c00,
                                      0x3c00, 0x7bff, 0x7e00, 0x8002};
constexpr float kOtherFloats[8] = {-0.0F, 0x1p-24F, 1.0F, 1.0F, 1.0F, 65504.0F, NAN, -0x1p-23F};

struct OfHalves {
  uint32_t results[8];
};
OfHalves RunOfHalves(const DriverLlvm& llvm, const std::string& text) {
  OfHalves of = {};
  llvm.Run(text, kPasses, [&](void* code) {
    reinterpret_cast<void (*)(const uint16_t*, const uint16_t*, uint32_t*)>(code)(
        kSomeHalves, kOtherHalves, of.results);
  });
  return of;
}

TEST(HalfWidenings, Comparisons_AreOfFloats) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  struct Predicate {
    const char* name;
    bool (*holds)(float x, float y);
  };
  const Predicate predicates[] = {
      {"olt", [](float x, float y) { return x < y; }},
      {"uge", [](float x, float y) { return !(x < y); }},
      {"oeq", [](float x, float y) { return x == y; }},
      {"une", [](float x, float y) { return x != y; }},
  };
  for (const Predicate& predicate : predicates) {
    for (const bool with_zero : {false, true}) {
      const std::string text = ComparisonText(predicate.name, with_zero ? "zeroinitializer" : "%y");
      const std::string code = llvm.Optimize(text, kPasses);
      EXPECT_EQ(CountOf(code, "fcmp"), 1) << code;
      EXPECT_EQ(CountOf(code, std::string("fcmp ") + predicate.name + " <8 x float>"), 1) << code;
      const OfHalves of = RunOfHalves(llvm, text);
      for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(of.results[i] != 0,
                  predicate.holds(kSomeFloats[i], with_zero ? 0.0F : kOtherFloats[i]))
            << predicate.name << " of " << kSomeFloats[i] << (with_zero ? " and 0" : "");
      }
    }
  }
}

TEST(HalfWidenings, Signs_AreBits) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  for (const auto& [operation, changes] :
       {std::pair(
            "fneg <8 x float> %x", +[](uint32_t bits) { return bits ^ 0x80000000U; }),
        std::pair(
            "call <8 x float> @llvm.fabs.v8f32(<8 x float> %x)",
            +[](uint32_t bits) { return bits & 0x7fffffffU; })}) {
    const std::string code = llvm.Optimize(SignText(operation), kPasses);
    EXPECT_EQ(CountOf(code, "fneg <8 x half>"), 0) << code;
    EXPECT_EQ(CountOf(code, "fabs.v8f16(<8 x half> %"), 0) << code;
    const OfHalves of = RunOfHalves(llvm, SignText(operation));
    for (int i = 0; i < 8; ++i) {
      uint32_t bits;
      std::memcpy(&bits, &kSomeFloats[i], sizeof bits);
      EXPECT_EQ(of.results[i], changes(bits)) << operation << " of " << kSomeFloats[i];
    }
  }
}

// @f writes to %to the extreme of either half of %a and %b, or of 3, put together.
constexpr char kHalves[] = R"(
define void @f(<16 x float>* %pa, <16 x float>* %pb, <16 x float>* %to) {
  %a = load <16 x float>, <16 x float>* %pa, align 4
  %b = load <16 x float>, <16 x float>* %pb, align 4
  %a_low = shufflevector <16 x float> %a, <16 x float> undef, <8 x i32> <i32 0, i32 1, i32 2, i32 3,
      i32 4, i32 5, i32 6, i32 7>
  %a_high = shufflevector <16 x float> %a, <16 x float> undef, <8 x i32> <i32 8, i32 9, i32 10,
      i32 11, i32 12, i32 13, i32 14, i32 15>
  %b_low = shufflevector <16 x float> %b, <16 x float> undef, <8 x i32> <i32 0, i32 1, i32 2, i32 3,
      i32 4, i32 5, i32 6, i32 7>
  %b_high = shufflevector <16 x float> %b, <16 x float> undef, <8 x i32> <i32 8, i32 9, i32 10,
      i32 11, i32 12, i32 13, i32 14, i32 15>
  %low = call <8 x float> @llvm.x86.avx.max.ps.256(<8 x float> %a_low, <8 x float> %b_low)
  %high = call <8 x float> @llvm.x86.avx.max.ps.256(<8 x float> %a_high, <8 x float> %b_high)
  %whole = shufflevector <8 x float> %low, <8 x float> %high, <16 x i32> <i32 0, i32 1, i32 2,
      i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store <16 x float> %whole, <16 x float>* %to, align 4
  ret void
}
declare <8 x float> @llvm.x86.avx.max.ps.256(<8 x float>, <8 x float>)
declare <8 x float> @llvm.x86.avx.min.ps.256(<8 x float>, <8 x float>)
)";
constexpr char kThrees[] =
    "<8 x float> <float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, "
    "float 3.0>";

int CountOfExtremes(const std::string& code) {
  return CountOf(code, "call <8 x float> @llvm.x86.avx.");
}

TEST(LaneExtremes, OfHalves_AreJoined) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  std::string of_number = Replaced(kHalves, "<8 x float> %b_low)", kThrees + std::string(")"));
  of_number = Replaced(of_number, "<8 x float> %b_high)", kThrees + std::string(")"));
  std::string of_zero = Replaced(kHalves, "<8 x float> %b_low)", "<8 x float> zeroinitializer)");
  of_zero = Replaced(of_zero, "<8 x float> %b_high)", "<8 x float> zeroinitializer)");
  std::string minima = Replaced(kHalves, "@llvm.x86.avx.max", "@llvm.x86.avx.min");
  minima = Replaced(minima, "@llvm.x86.avx.max", "@llvm.x86.avx.min");
  minima = minima.substr(0, minima.find("declare")) +
           "declare <8 x float> @llvm.x86.avx.min.ps.256(<8 x float>, <8 x float>)\n";
  for (const std::string& text : {std::string(kHalves), of_number, of_zero, minima}) {
    const std::string code = llvm.Optimize(text, kPasses);
    EXPECT_EQ(CountOfExtremes(code), 0) << code;
    EXPECT_EQ(CountOf(code, "shufflevector"), 0) << code;
  }
}

TEST(LaneExtremes, OfOtherLanes_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string whole = "i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>";
  const std::pair<std::string, std::string> changes[] = {
      {"%low, <8 x float> %high", "%high, <8 x float> %low"},
      {whole + "\n  store",
       "i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 15, i32 14>\n  store"},
      {"%high = call <8 x float> @llvm.x86.avx.max", "%high = call <8 x float> @llvm.x86.avx.min"},
      {"%a_high, <8 x float> %b_high", "%b_high, <8 x float> %a_high"},
      {"%a_high, <8 x float> %b_high", "%a_low, <8 x float> %b_high"},
      {"<8 x float> %b_low)", kThrees + std::string(")")},
      {"%b_high = shufflevector <16 x float> %b", "%b_high = shufflevector <16 x float> %a"},
  };
  for (const auto& [part, by] : changes) {
    EXPECT_EQ(CountOfExtremes(llvm.Optimize(Replaced(kHalves, part, by), kPasses)), 2)
        << part << " to " << by;
  }
}

// As the intrinsics: the second where either is NaN, or both are 0.
TEST(LaneExtremes, OfNanAndZero_AreTheSecond) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  float a[16] = {1.0F, 2.0F, NAN, 1.0F, -0.0F, 0.0F, INFINITY, NAN};
  float b[16] = {2.0F, 1.0F, 1.0F, NAN, 0.0F, -0.0F, NAN, INFINITY};
  const float expected[8] = {2.0F, 2.0F, 1.0F, NAN, 0.0F, -0.0F, NAN, INFINITY};
  std::copy_n(a, 8, a + 8);
  std::copy_n(b, 8, b + 8);
  llvm.Run(kHalves, kPasses, [&](void* code) {
    float results[16];
    reinterpret_cast<void (*)(const float*, const float*, float*)>(code)(a, b, results);
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(std::isnan(results[i]), std::isnan(expected[i % 8])) << i;
      EXPECT_EQ(std::signbit(results[i]), std::signbit(expected[i % 8])) << i;
      if (!std::isnan(results[i])) {
        EXPECT_EQ(results[i], expected[i % 8]) << i;
      }
    }
  });
}

// Two loads of a number of what parameter %p points to, with a store between them.
std::string LoadsAroundStore(const std::string& type, const std::string& indices) {
  const std::string number =
      "  %a = getelementptr " + type + ", " + type + "* %p, " + indices + "\n";
  return "define i32 @f(" + type + "* %p, i32 %n, i32* %to) {\n" + number + R"(
  %x = load i32, i32* %a
  store i32 7, i32* %to
  %y = load i32, i32* %a
  %z = mul i32 %x, %y
  ret i32 %z
}
)";
}

TEST(InvariantLoads, NumbersOfTheContext_AreLoadedOnce) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string context = "{ [16 x { i32*, i32 }], [32 x { i32*, i32 }], i32 }";
  for (const char* indices : {"i32 0, i32 2", "i32 0, i32 1, i32 3, i32 1"}) {
    const std::string code = llvm.Optimize(LoadsAroundStore(context, indices), kPasses);
    EXPECT_EQ(CountOf(code, " load i32"), 1) << code;
  }
}

// llvmpipe takes the number of a buffer from a vector, and compares it with how many there are.
TEST(InvariantLoads, NumbersOfAChosenBuffer_AreLoadedOnce) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string context = "{ [16 x { i32*, i32 }], [32 x { i32*, i32 }], i32 }";
  auto code = [&](const std::string& numbers) {
    std::string text = LoadsAroundStore(context, "i32 0, i32 1, i32 %chosen, i32 1");
    const std::string number = R"(  %own = insertelement <4 x i32> zeroinitializer, i32 %n, i32 1
  %number = extractelement <4 x i32> )" +
                               numbers + R"(, i32 1
  %exists = icmp ult i32 %number, 32
  %chosen = select i1 %exists, i32 %number, i32 0
)";
    text.insert(text.find("  %a ="), number);
    // No pass that knows what it comes to is run before.
    return llvm.Optimize(text, kPasses);
  };
  const std::string fixed = code("<i32 3, i32 3, i32 3, i32 3>");
  EXPECT_EQ(CountOf(fixed, " load i32"), 1) << fixed;
  EXPECT_EQ(CountOf(code("zeroinitializer"), " load i32"), 1);
  const std::string other = code("%own");
  EXPECT_EQ(CountOf(other, " load i32"), 2) << other;
}

TEST(InvariantLoads, OtherNumbers_AreLoadedAgain) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::pair<std::string, std::string> others[] = {
      // Of which element, only the kernel knows.
      {"{ [16 x { i32*, i32 }], [32 x { i32*, i32 }], i32 }", "i32 0, i32 1, i32 %n, i32 1"},
      // What a coroutine keeps.
      {"{ i8*, [16 x i32], i32 }", "i32 0, i32 2"},
      {"i32", "i32 2"},
  };
  for (const auto& [type, indices] : others) {
    const std::string code = llvm.Optimize(LoadsAroundStore(type, indices), kPasses);
    EXPECT_EQ(CountOf(code, " load i32"), 2) << code;
  }
}

// `turns` multiply-adds to each of 32 sums of 16 lanes.
std::string Product(int turns) {
  std::string text =
      "declare <16 x float> @llvm.fmuladd.v16f32(<16 x float>, <16 x float>, <16 x float>)\n"
      "define void @f(<16 x float>* %a, <16 x float>* %b, <16 x float>* %c) {\n";
  auto load = [&](const std::string& name, const std::string& of, int at) {
    text += "  %" + name + "p = getelementptr <16 x float>, <16 x float>* %" + of + ", i32 " +
            std::to_string(at) + "\n  %" + name + " = load <16 x float>, <16 x float>* %" + name +
            "p\n";
  };
  constexpr int kSums = 32;
  for (int i = 0; i < kSums; ++i) load("s0_" + std::to_string(i), "c", i);
  for (int turn = 0; turn < turns; ++turn) {
    const std::string t = std::to_string(turn), next = std::to_string(turn + 1);
    load("b" + t, "b", turn);
    for (int i = 0; i < kSums; ++i) {
      const std::string sum = std::to_string(i), factor = "a" + t + "_" + sum;
      load(factor, "a", turn * kSums + i);
      text += "  %s" + next + "_" + sum +
              " = call <16 x float> @llvm.fmuladd.v16f32(<16 x float> %" + factor +
              ", <16 x float> %b" + t + ", <16 x float> %s" + t + "_" + sum + ")\n";
    }
  }
  for (int i = 0; i < kSums; ++i) {
    const std::string sum = std::to_string(i);
    text += "  store <16 x float> %s" + std::to_string(turns) + "_" + sum + ", <16 x float>* %s0_" +
            sum + "p\n";
  }
  return text + "  ret void\n}\n";
}

// That the LLVM at hand knows the option, and that it holds for one module alone.
TEST(Scheduling, LongProducts_HaveAnOrderOfTheirOwn) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  auto code = [&](int turns, bool as_driver) {
    std::string bytes;
    llvm.Run(
        Product(turns), "mem2reg",
        [&](void* function) { bytes.assign(static_cast<const char*>(function), 4096); }, as_driver);
    return bytes;
  };
  for (const auto& [turns, is_own] : {std::pair(8, true), std::pair(7, false)}) {
    const std::string before = code(turns, false);
    EXPECT_EQ(code(turns, true) != before, is_own) << turns;
    EXPECT_EQ(code(turns, false), before) << turns;
  }
}

}  // namespace
}  // namespace webnnd

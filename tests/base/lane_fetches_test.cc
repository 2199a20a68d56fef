// That texels which lanes fetch beside each other are loaded as they lie
// (base/drivers_llvm/lane_fetches.h), and are what they would be: a function like llvmpipe's,
// compiled by the LLVM that lavapipe uses and run beside what it means.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "tests/base/driver_llvm.h"
#include "tests/support/sample.h"

namespace webnnd {
namespace {

constexpr uint32_t kLanes = 8;
constexpr uint32_t kChannels = 4;
constexpr char kPasses[] = "function(sroa,early-cse,simplifycfg,instcombine)";

using Index = std::array<int32_t, kLanes>;
using Texels = std::array<uint32_t, kChannels * kLanes>;

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// void f({base, texels}* buffer, index, results): fetches, and stores channel behind channel. What
// llvmpipe makes of a buffer of RGBA32_UINT (lp_build_fetch_rgba_soa).
std::string FetchFunction() {
  std::string text = R"(
define internal fastcc { <8 x float>, <8 x float>, <8 x float>, <8 x float> } @fetch(
    { i8*, i32 }* noalias %buffer, <8 x i32> %index) {
entry:
  %texels_at = getelementptr { i8*, i32 }, { i8*, i32 }* %buffer, i32 0, i32 1
  %texels = load i32, i32* %texels_at
  %base_at = getelementptr { i8*, i32 }, { i8*, i32 }* %buffer, i32 0, i32 0
  %base = load i8*, i8** %base_at
  %first = insertelement <8 x i32> undef, i32 %texels, i32 0
  %all = shufflevector <8 x i32> %first, <8 x i32> undef, <8 x i32> zeroinitializer
  %is_before = icmp slt <8 x i32> %index, zeroinitializer
  %before = sext <8 x i1> %is_before to <8 x i32>
  %mask_before = or <8 x i32> zeroinitializer, %before
  %is_behind = icmp sge <8 x i32> %index, %all
  %behind = sext <8 x i1> %is_behind to <8 x i32>
  %mask = or <8 x i32> %mask_before, %behind
  %bytes = mul <8 x i32> %index, SPLAT(16)
  %inside = xor <8 x i32> %mask, SPLAT(-1)
  %offsets = and <8 x i32> %bytes, %inside
)";
  for (int lane = 0; lane < 4; ++lane) {
    const std::string k = std::to_string(lane);
    text += "  %two" + k +
            " = shufflevector <8 x i32> %offsets, <8 x i32> %offsets, <2 x i32> <i32 " + k +
            ", i32 " + std::to_string(lane + 4) + ">\n";
    for (const char* part : {"0", "1"}) {
      const std::string name = k + part;
      text += "  %offset" + name + " = extractelement <2 x i32> %two" + k + ", i32 " + part +
              "\n  %byte" + name + " = getelementptr i8, i8* %base, i32 %offset" + name +
              "\n  %at" + name + " = bitcast i8* %byte" + name + " to <4 x i32>*\n  %texel" + name +
              " = load <4 x i32>, <4 x i32>* %at" + name + ", align 16\n";
    }
    text += "  %pair" + k + " = shufflevector <4 x i32> %texel" + k + "0, <4 x i32> %texel" + k +
            "1, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>\n";
  }
  const char* const kHalves[][3] = {
      {"low01", "%pair0, <8 x i32> %pair1", "0, i32 8, i32 1, i32 9, i32 4, i32 12, i32 5, i32 13"},
      {"high01", "%pair0, <8 x i32> %pair1",
       "2, i32 10, i32 3, i32 11, i32 6, i32 14, i32 7, i32 15"},
      {"low23", "%pair2, <8 x i32> %pair3", "0, i32 8, i32 1, i32 9, i32 4, i32 12, i32 5, i32 13"},
      {"high23", "%pair2, <8 x i32> %pair3",
       "2, i32 10, i32 3, i32 11, i32 6, i32 14, i32 7, i32 15"}};
  for (const auto& [name, pairs, mask] : kHalves) {
    text += std::string("  %") + name + " = shufflevector <8 x i32> " + pairs +
            ", <8 x i32> <i32 " + mask + ">\n  %" + name + "q = bitcast <8 x i32> %" + name +
            " to <4 x i64>\n";
  }
  std::string result = "poison";
  for (int channel = 0; channel < 4; ++channel) {
    const std::string k = std::to_string(channel);
    const std::string half = channel < 2 ? "low" : "high";
    text += "  %wide" + k + " = shufflevector <4 x i64> %" + half + "01q, <4 x i64> %" + half +
            "23q, <4 x i32> <i32 " +
            (channel % 2 == 0 ? "0, i32 4, i32 2, i32 6" : "1, i32 5, i32 3, i32 7") +
            ">\n  %words" + k + " = bitcast <4 x i64> %wide" + k + " to <8 x i32>\n  %outside" + k +
            " = and <8 x i32> zeroinitializer, %mask\n  %not" + k +
            " = xor <8 x i32> %mask, SPLAT(-1)\n  %kept" + k + " = and <8 x i32> %words" + k +
            ", %not" + k + "\n  %either" + k + " = or <8 x i32> %outside" + k + ", %kept" + k +
            "\n  %float" + k + " = bitcast <8 x i32> %either" + k + " to <8 x float>\n  %result" +
            k + " = insertvalue { <8 x float>, <8 x float>, <8 x float>, <8 x float> } " + result +
            ", <8 x float> %float" + k + ", " + k + "\n";
    result = "%result" + k;
  }
  text += R"(  ret { <8 x float>, <8 x float>, <8 x float>, <8 x float> } %result3
}

define void @f({ i8*, i32 }* %buffer, <8 x i32>* %index_at, <8 x float>* %results) {
  %index = load <8 x i32>, <8 x i32>* %index_at, align 4
  %all = call fastcc { <8 x float>, <8 x float>, <8 x float>, <8 x float> } @fetch(
      { i8*, i32 }* %buffer, <8 x i32> %index)
)";
  for (const char* k : {"0", "1", "2", "3"}) {
    text += std::string("  %channel") + k +
            " = extractvalue { <8 x float>, <8 x float>, <8 x float>, <8 x float> } %all, " + k +
            "\n  %at" + k + " = getelementptr <8 x float>, <8 x float>* %results, i32 " + k +
            "\n  store <8 x float> %channel" + k + ", <8 x float>* %at" + k + ", align 4\n";
  }
  text += "  ret void\n}\n";
  for (const char* number : {"16", "-1"}) {
    std::string splat = "<i32 " + std::string(number);
    for (int i = 1; i < 8; ++i) splat += ", i32 " + std::string(number);
    const std::string name = "SPLAT(" + std::string(number) + ")";
    while (text.find(name) != std::string::npos) text = Replaced(text, name, splat + ">");
  }
  return text;
}

// Texels that end where memory does.
class Guarded {
 public:
  static constexpr uint32_t kTexels = 256;  // A page.

  Guarded() {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(memory_ + kPage, kPage, PROT_READ | PROT_WRITE), 0);
    for (uint32_t i = 0; i < kChannels * kTexels; ++i) words()[i] = 0x01000000u + i;
  }
  ~Guarded() { munmap(memory_, 3 * kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  uint32_t* words() { return reinterpret_cast<uint32_t*>(memory_ + kPage); }

 private:
  static constexpr size_t kPage = 4096;
  std::byte* memory_;
};

// Of the last `count` texels of `memory`.
void ExpectMeaning(void* function, Guarded& memory, uint32_t count, const Index& index) {
  const uint32_t* words = memory.words() + kChannels * (Guarded::kTexels - count);
  const struct {
    const uint32_t* base;
    int32_t texels;
  } buffer = {words, static_cast<int32_t>(count)};
  Texels results;
  reinterpret_cast<void (*)(const void*, const int32_t*, uint32_t*)>(function)(
      &buffer, index.data(), results.data());
  for (uint32_t channel = 0; channel < kChannels; ++channel) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const int32_t texel = index[lane];
      const bool is_inside = texel >= 0 && texel < static_cast<int32_t>(count);
      const uint32_t expected =
          is_inside ? words[kChannels * static_cast<uint32_t>(texel) + channel] : 0;
      EXPECT_EQ(results[channel * kLanes + lane], expected)
          << "channel " << channel << " of texel " << texel << " of " << count;
    }
  }
}

class LaneFetches : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }
  bool IsShortened(const std::string& text) {
    return llvm_.Optimize(text, kPasses).find("following") != std::string::npos;
  }
  const DriverLlvm llvm_;
};

// An empty buffer has no texel at all: llvmpipe reads its first for lanes beyond it.
TEST_F(LaneFetches, Texels_AreWhatTheyWouldBe) {
  EXPECT_TRUE(IsShortened(FetchFunction()));
  llvm_.Run(FetchFunction(), kPasses, [&](void* function) {
    Guarded memory;
    std::mt19937 random(service::FirstSeed());
    for (int turn = 0; turn < 4000 && !HasFailure(); ++turn) {
      const uint32_t count = 1 + random() % 24;
      Index index;
      // From before the first texel to behind the last one, and where sums wrap.
      int32_t first = static_cast<int32_t>(random() % (count + 12)) - 10;
      if (random() % 16 == 0) first = INT32_MAX - static_cast<int32_t>(random() % 8);
      if (random() % 16 == 0) first = INT32_MIN + static_cast<int32_t>(random() % 8);
      const uint32_t step = random() % 8 < 5 ? 1 : random() % 3;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        index[lane] = static_cast<int32_t>(static_cast<uint32_t>(first) + lane * step);
      }
      if (random() % 4 == 0) std::swap(index[random() % kLanes], index[random() % kLanes]);
      ExpectMeaning(function, memory, count, index);
    }
  });
}

TEST_F(LaneFetches, FunctionsWithOtherMeanings_StayAsTheyAre) {
  const std::string text = FetchFunction();
  // Texels of another size, or not of the lane.
  std::string eights = text;
  for (int i = 0; i < 8; ++i) eights = Replaced(eights, "i32 16", "i32 8");
  EXPECT_FALSE(IsShortened(eights));
  EXPECT_FALSE(IsShortened(Replaced(text, "<2 x i32> <i32 1, i32 5>", "<2 x i32> <i32 1, i32 6>")));
  // Channels in another order.
  EXPECT_FALSE(
      IsShortened(Replaced(text, "i32 0, i32 4, i32 2, i32 6", "i32 1, i32 5, i32 3, i32 7")));
  EXPECT_FALSE(IsShortened(Replaced(text, "%float3, 3", "%float2, 3")));
  // Other lanes masked, or other values for them.
  EXPECT_FALSE(IsShortened(Replaced(text, "icmp sge", "icmp sgt")));
  EXPECT_FALSE(IsShortened(Replaced(text, "icmp slt", "icmp sle")));
  EXPECT_FALSE(IsShortened(
      Replaced(text, "%not2 = xor <8 x i32> %mask,", "%not2 = xor <8 x i32> %before,")));
  EXPECT_FALSE(IsShortened(Replaced(text, "%outside3 = and <8 x i32> zeroinitializer",
                                    "%outside3 = and <8 x i32> %words3")));
  // More than one block.
  EXPECT_FALSE(
      IsShortened(Replaced(text, "  %bytes = mul", "  br label %rest\nrest:\n  %bytes = mul")));
}

}  // namespace
}  // namespace webnnd

// That texels which lanes fetch beside each other are loaded as they lie
// (base/drivers_llvm/lane_fetches.h), and are what they would be: a function like llvmpipe's,
// compiled by the LLVM that lavapipe uses and run beside what it means.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/base/driver_llvm.h"
#include "tests/support/sample.h"

namespace webnnd {
namespace {

constexpr uint32_t kChannels = 4;
// What the index of a call may be: each lane's own, or the first one's.
constexpr char kOwnIndex[] = "%index";
constexpr char kFirstIndex[] = "%first_index";

constexpr char kPasses[] = "function(sroa,early-cse,simplifycfg,instcombine)";

using Index = std::vector<int32_t>;  // Of each lane.

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// The elements of an <n x i32>: of(i) for each i below n.
template <class Of>
std::string List(uint32_t n, Of of) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += (i == 0 ? "i32 " : ", i32 ") + std::to_string(of(i));
  return list;
}

std::string AllReplaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

// The texels of lanes k, k + 4, k + 8, ... as %row_k.
std::string LoadRow(uint32_t lanes, uint32_t k) {
  const std::string row = std::to_string(k);
  const uint32_t count = lanes / 4;
  std::string text = "  %some" + row +
                     " = shufflevector <L x i32> %offsets, <L x i32> %offsets, <" +
                     std::to_string(count) + " x i32> <" +
                     List(count, [&](uint32_t i) { return k + 4 * i; }) + ">\n";
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = row + "_" + std::to_string(i);
    text += "  %offset" + name + " = extractelement <" + std::to_string(count) + " x i32> %some" +
            row + ", i32 " + std::to_string(i) + "\n  %byte" + name +
            " = getelementptr i8, i8* %base, i32 %offset" + name + "\n  %at" + name +
            " = bitcast i8* %byte" + name + " to <4 x i32>*\n  %texel" + name +
            " = load <4 x i32>, <4 x i32>* %at" + name + ", align 16\n";
    parts.push_back("%texel" + name);
  }
  for (uint32_t width = 4; width < lanes; width *= 2) {
    const std::string type = "<" + std::to_string(width) + " x i32>";
    const std::string wide = std::to_string(2 * width);
    std::vector<std::string> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      joined.push_back("%row" + row + "_" + wide + "_" + std::to_string(i));
      text += "  " + joined.back() + " = shufflevector " + type + " " + parts[i] + ", " + type +
              " " + parts[i + 1] + ", <" + wide + " x i32> <" +
              List(2 * width, [](uint32_t e) { return e; }) + ">\n";
    }
    parts = joined;
  }
  return text + "  %row" + row + " = bitcast <L x i32> " + parts[0] + " to <L x i32>\n";
}

// Rows to channels %words0 to %words3, as llvmpipe does: for 8 lanes in halves of 128 bits
// (unpack instructions), else over all of the vector.
std::string Transpose(uint32_t lanes) {
  const bool in_halves = lanes == 8;
  const uint32_t half = lanes / 2;
  std::string text;
  for (uint32_t pair = 0; pair < 2; ++pair) {
    for (uint32_t high = 0; high < 2; ++high) {
      const std::string name = std::to_string(pair) + std::to_string(high);
      const auto element = [&](uint32_t i) {
        const uint32_t from = i % 2 * lanes;
        if (in_halves) return from + i / 4 * 4 + i / 2 % 2 + 2 * high;
        return from + i / 2 % (lanes / 4) * 4 + i / half + 2 * high;
      };
      text += "  %mixed" + name + " = shufflevector <L x i32> %row" + std::to_string(2 * pair) +
              ", <L x i32> %row" + std::to_string(2 * pair + 1) + ", <L x i32> <" +
              List(lanes, element) + ">\n  %wide" + name + " = bitcast <L x i32> %mixed" + name +
              " to <H x i64>\n";
    }
  }
  for (uint32_t channel = 0; channel < kChannels; ++channel) {
    const std::string k = std::to_string(channel);
    const std::string high = std::to_string(channel / 2);
    const auto element = [&](uint32_t i) {
      const uint32_t from = i % 2 * half;
      if (in_halves) return from + i / 2 * 2 + channel % 2;
      return from + i / 2 + channel % 2 * (half / 2);
    };
    text += "  %both" + k + " = shufflevector <H x i64> %wide0" + high + ", <H x i64> %wide1" +
            high + ", <H x i32> <" + List(half, element) + ">\n  %words" + k +
            " = bitcast <H x i64> %both" + k + " to <L x i32>\n";
  }
  return text;
}

// void f({base, texels}* buffer, index, results): fetches, and stores channel behind channel. What
// llvmpipe makes of a buffer of RGBA32_UINT (lp_build_fetch_rgba_soa).
std::string FetchFunction(uint32_t lanes, const char* index = kOwnIndex) {
  std::string text = R"(
define internal fastcc FOUR @fetch({ i8*, i32 }* noalias %buffer, <L x i32> %index) {
entry:
  %texels_at = getelementptr { i8*, i32 }, { i8*, i32 }* %buffer, i32 0, i32 1
  %texels = load i32, i32* %texels_at
  %base_at = getelementptr { i8*, i32 }, { i8*, i32 }* %buffer, i32 0, i32 0
  %base = load i8*, i8** %base_at
  %first = insertelement <L x i32> undef, i32 %texels, i32 0
  %all = shufflevector <L x i32> %first, <L x i32> undef, <L x i32> zeroinitializer
  %is_before = icmp slt <L x i32> %index, zeroinitializer
  %before = sext <L x i1> %is_before to <L x i32>
  %mask_before = or <L x i32> zeroinitializer, %before
  %is_behind = icmp sge <L x i32> %index, %all
  %behind = sext <L x i1> %is_behind to <L x i32>
  %mask = or <L x i32> %mask_before, %behind
  %bytes = mul <L x i32> %index, SPLAT(16)
  %inside = xor <L x i32> %mask, SPLAT(-1)
  %offsets = and <L x i32> %bytes, %inside
)";
  for (uint32_t k = 0; k < 4; ++k) text += LoadRow(lanes, k);
  text += Transpose(lanes);
  std::string result = "poison";
  for (int channel = 0; channel < 4; ++channel) {
    const std::string k = std::to_string(channel);
    text += AllReplaced(R"(  %outside# = and <L x i32> zeroinitializer, %mask
  %not# = xor <L x i32> %mask, SPLAT(-1)
  %kept# = and <L x i32> %words#, %not#
  %either# = or <L x i32> %outside#, %kept#
  %float# = bitcast <L x i32> %either# to <L x float>
  %result# = insertvalue FOUR )" +
                            result + R"(, <L x float> %float#, #
)",
                        "#", k);
    result = "%result" + k;
  }
  text += R"(  ret FOUR %result3
}

define void @f({ i8*, i32 }* %buffer, <L x i32>* %index_at, <L x float>* %results) {
  %index = load <L x i32>, <L x i32>* %index_at, align 4
  %first_index = shufflevector <L x i32> %index, <L x i32> undef, <L x i32> zeroinitializer
  %all = call fastcc FOUR @fetch({ i8*, i32 }* %buffer, <L x i32> INDEX)
)";
  for (const char* k : {"0", "1", "2", "3"}) {
    text += AllReplaced(R"(  %channel# = extractvalue FOUR %all, #
  %at# = getelementptr <L x float>, <L x float>* %results, i32 #
  store <L x float> %channel#, <L x float>* %at#, align 4
)",
                        "#", k);
  }
  text += "  ret void\n}\n";
  for (const int number : {16, -1}) {
    text = AllReplaced(text, "SPLAT(" + std::to_string(number) + ")",
                       "<" + List(lanes, [&](uint32_t) { return number; }) + ">");
  }
  text = AllReplaced(text, "INDEX", index);
  text = AllReplaced(text, "FOUR", "{ <L x float>, <L x float>, <L x float>, <L x float> }");
  text = AllReplaced(text, "<H x", "<" + std::to_string(lanes / 2) + " x");
  return AllReplaced(text, "<L x", "<" + std::to_string(lanes) + " x");
}

// Fetches the first lane's texel + each of `constants`, with `between` before the last.
std::string RunOfFetches(uint32_t lanes, const std::vector<int32_t>& constants,
                         const std::string& between = "") {
  std::string text = FetchFunction(lanes);
  text.erase(text.find("define void @f("));
  text += R"(
@memory = global i32 0
declare void @unknown()
define void @f({ i8*, i32 }* %buffer, <L x i32>* %index_at, <L x float>* %results) {
  %index = load <L x i32>, <L x i32>* %index_at, align 4
  %first_index = shufflevector <L x i32> %index, <L x i32> undef, <L x i32> zeroinitializer
)";
  for (size_t i = 0; i < constants.size(); ++i) {
    if (i + 1 == constants.size()) text += between;
    const std::string call = std::to_string(i);
    text += "  %index" + call + " = add <L x i32> %first_index, <" +
            List(lanes, [&](uint32_t) { return constants[i]; }) + ">\n" +
            AllReplaced(
                "  %all# = call fastcc FOUR @fetch({ i8*, i32 }* %buffer, <L x i32> "
                "%index#)\n",
                "#", call);
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    for (uint32_t k = 0; k < kChannels; ++k) {
      const std::string channel = std::to_string(i) + "_" + std::to_string(k);
      text +=
          "  %channel" + channel + " = extractvalue FOUR %all" + std::to_string(i) + ", " +
          std::to_string(k) + "\n" +
          AllReplaced("  %at# = getelementptr <L x float>, <L x float>* %results, i32 ", "#",
                      channel) +
          std::to_string(kChannels * i + k) + "\n" +
          AllReplaced("  store <L x float> %channel#, <L x float>* %at#, align 4\n", "#", channel);
    }
  }
  text += "  ret void\n}\n";
  text = AllReplaced(text, "FOUR", "{ <L x float>, <L x float>, <L x float>, <L x float> }");
  return AllReplaced(text, "<L x", "<" + std::to_string(lanes) + " x");
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
void ExpectMeaning(void* function, Guarded& memory, uint32_t count, const Index& index,
                   const std::vector<int32_t>& constants = {0}) {
  const uint32_t* words = memory.words() + kChannels * (Guarded::kTexels - count);
  const struct {
    const uint32_t* base;
    int32_t texels;
  } buffer = {words, static_cast<int32_t>(count)};
  const auto lanes = static_cast<uint32_t>(index.size());
  std::vector<uint32_t> results(constants.size() * kChannels * lanes);
  reinterpret_cast<void (*)(const void*, const int32_t*, uint32_t*)>(function)(
      &buffer, index.data(), results.data());
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t row = i / lanes;
    const auto texel = static_cast<int32_t>(static_cast<uint32_t>(index[i % lanes]) +
                                            static_cast<uint32_t>(constants[row / kChannels]));
    const bool is_inside = texel >= 0 && texel < static_cast<int32_t>(count);
    const uint32_t expected =
        is_inside ? words[kChannels * static_cast<uint32_t>(texel) + row % kChannels] : 0;
    EXPECT_EQ(results[i], expected)
        << "channel " << row % kChannels << " of texel " << texel << " of " << count;
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
void ExpectMeaningOfAll(void* function, uint32_t lanes) {
  Guarded memory;
  std::mt19937 random(service::FirstSeed());
  for (int turn = 0; turn < 4000 && !testing::Test::HasFailure(); ++turn) {
    const uint32_t count = 1 + random() % (3 * lanes);
    Index index(lanes);
    // From before the first texel to behind the last one, and where sums wrap.
    int32_t first = static_cast<int32_t>(random() % (count + 12)) - 10;
    if (random() % 16 == 0) first = INT32_MAX - static_cast<int32_t>(random() % 8);
    if (random() % 16 == 0) first = INT32_MIN + static_cast<int32_t>(random() % 8);
    const uint32_t step = random() % 8 < 5 ? 1 : random() % 3;
    // The next run of lanes may fetch elsewhere.
    const uint32_t run = 2u << random() % 3;
    const uint32_t between = random() % 2 == 0 ? 0 : random() % 24 - 12;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      index[lane] =
          static_cast<int32_t>(static_cast<uint32_t>(first) + lane * step + lane / run * between);
    }
    if (random() % 4 == 0) std::swap(index[random() % lanes], index[random() % lanes]);
    ExpectMeaning(function, memory, count, index);
  }
}

TEST_F(LaneFetches, Texels_AreWhatTheyWouldBe) {
  for (const uint32_t lanes : {4, 8, 16}) {
    SCOPED_TRACE(lanes);
    EXPECT_TRUE(IsShortened(FetchFunction(lanes)));
    llvm_.Run(FetchFunction(lanes), kPasses,
              [&](void* function) { ExpectMeaningOfAll(function, lanes); });
  }
}

// Where all lanes fetch the first one's, from before and behind the buffer, too.
TEST_F(LaneFetches, OfOneTexel_AreOneLoad) {
  for (const uint32_t lanes : {4, 8, 16}) {
    SCOPED_TRACE(lanes);
    const std::string text = FetchFunction(lanes, kFirstIndex);
    const std::string code = llvm_.Optimize(text, kPasses);
    EXPECT_NE(code.find("@zeros"), std::string::npos) << code;
    EXPECT_EQ(code.find("call fastcc"), std::string::npos) << code;
    llvm_.Run(text, kPasses, [&](void* function) {
      Guarded memory;
      for (const uint32_t count : {1u, 2u, 7u, Guarded::kTexels}) {
        for (const int32_t texel :
             {0, 1, 6, 7, 255, 256, -1, -2, INT32_MAX, INT32_MIN, INT32_MIN + 1}) {
          Index index(lanes, texel);
          ExpectMeaning(function, memory, count, index);
        }
      }
    });
  }
}

bool IsRun(const std::string& code) { return code.find("\npartly:") != std::string::npos; }

// From before the buffer to behind it, and where sums wrap.
TEST_F(LaneFetches, OfTexelsThatDifferByConstants_AreARun) {
  for (const uint32_t lanes : {4, 8, 16}) {
    for (const std::vector<int32_t>& constants :
         std::vector<std::vector<int32_t>>{{0, 1}, {1, 8, 0, 9}, {-1, 0, 1}, {5, 5}}) {
      SCOPED_TRACE(lanes);
      const std::string text = RunOfFetches(lanes, constants);
      const std::string code = llvm_.Optimize(text, kPasses);
      EXPECT_TRUE(IsRun(code)) << code;
      EXPECT_EQ(code.find("call fastcc"), std::string::npos) << code;
      llvm_.Run(text, kPasses, [&](void* function) {
        Guarded memory;
        for (const uint32_t count : {1u, 2u, 7u, 12u, Guarded::kTexels}) {
          for (int32_t texel = -12; texel < static_cast<int32_t>(count) + 12; ++texel) {
            ExpectMeaning(function, memory, count, Index(lanes, texel), constants);
          }
          for (const int32_t texel : {INT32_MAX, INT32_MIN}) {
            ExpectMeaning(function, memory, count, Index(lanes, texel), constants);
          }
        }
      });
    }
  }
}

TEST_F(LaneFetches, FarApartOrWithWritesBetween_AreApart) {
  for (const uint32_t lanes : {8, 16}) {
    EXPECT_FALSE(IsRun(llvm_.Optimize(RunOfFetches(lanes, {0, 300}), kPasses)));
    for (const char* between :
         {"  store i32 7, i32* @memory\n", "  call void @unknown()\n", "  br label %b\nb:\n"}) {
      const std::string code = llvm_.Optimize(RunOfFetches(lanes, {0, 1}, between), kPasses);
      EXPECT_EQ(IsRun(code), std::string(between).find("br") != std::string::npos) << code;
    }
  }
}

TEST_F(LaneFetches, FunctionsWithOtherMeanings_StayAsTheyAre) {
  const std::string text = FetchFunction(8);
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

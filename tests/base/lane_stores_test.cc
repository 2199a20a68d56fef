// That what lanes store beside each other is stored at once (base/drivers_llvm/lane_stores.h), and
// that memory is then what it would be: loops like llvmpipe's, compiled by the LLVM that lavapipe
// uses and run beside what they mean.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/base/driver_llvm.h"
#include "tests/support/sample.h"

namespace webnnd {
namespace {

constexpr char kPasses[] = "function(sroa,early-cse,simplifycfg,instcombine)";

// How a loop is made, and where it differs from llvmpipe's.
struct Sketch {
  uint32_t lanes = 8;
  uint32_t bits = 32;     // Of an element.
  uint32_t count = 1;     // Of the elements of a lane.
  bool as_float = false;  // Values are of another type than elements.
  std::string buffer = "ONES";
  std::string step = "1";  // From one element to the next.
  std::string after;       // Behind the loop.
};

std::string Splice(std::string text, const std::string& name, const std::string& value) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), value);
    at += value.size();
  }
  return text;
}

// void f({address, bytes}* buffers, int32* mask, int32* offsets, elements* values): values lie lane
// behind lane for each element.
std::string StoreLoop(const Sketch& sketch) {
  const std::string type = "i" + std::to_string(sketch.bits);
  const std::string value_type = sketch.as_float ? "float" : type;
  std::string text = R"(
define i32 @f({ i32*, i32 }* %buffers, <8 x i32>* %mask_at, <8 x i32>* %offsets_at,
              <8 x VALUE>* %values) {
entry:
  %counter = alloca i32
  %mask = load <8 x i32>, <8 x i32>* %mask_at, align 4
  %offsets = load <8 x i32>, <8 x i32>* %offsets_at, align 4
  %own = add <8 x i32> %offsets, %offsets
)";
  for (uint32_t i = 0; i < sketch.count; ++i) {
    text += Splice(R"(  %values_at# = getelementptr <8 x VALUE>, <8 x VALUE>* %values, i32 #
  %values# = load <8 x VALUE>, <8 x VALUE>* %values_at#, align 4
)",
                   "#", std::to_string(i));
  }
  text += R"(  %active = icmp ne <8 x i32> %mask, zeroinitializer
  store i32 0, i32* %counter
  br label %loop

loop:
  %lane = load i32, i32* %counter
  %is_active = extractelement <8 x i1> %active, i32 %lane
  %offset = extractelement <8 x i32> %offsets, i32 %lane
  br i1 %is_active, label %element0, label %latch

element0:
  %buffer = extractelement <8 x i32> BUFFER, i32 %lane
  %size_at = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer, i32 1
  %bytes = load i32, i32* %size_at
  %address_at = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer, i32 0
  %words = load i32*, i32** %address_at
  %size = ashr i32 %bytes, SHIFT
  %address = bitcast i32* %words to ELEMENT*
)";
  for (uint32_t i = 0; i < sketch.count; ++i) {
    std::string element = R"(  %index# = add i32 %offset, PLACE
  %inside# = icmp ult i32 %index#, %size
  %wide# = sext i1 %inside# to i32
  %both# = and i32 -1, %wide#
  %value# = extractelement <8 x VALUE> %values#, i32 %lane
CAST  %stores# = icmp ne i32 %both#, 0
  br i1 %stores#, label %store#, label %NEXT

store#:
  %at# = getelementptr ELEMENT, ELEMENT* %address, i32 %index#
  store ELEMENT %STORED#, ELEMENT* %at#, align 4
  br label %NEXT

NEXT:
)";
    if (i + 1 == sketch.count) element = Splice(element, "\nNEXT:\n", "");
    element = Splice(element, "PLACE", i == 0 ? "0" : sketch.step == "1" ? "#" : sketch.step);
    element = Splice(element, "CAST",
                     sketch.as_float ? "  %cast# = bitcast float %value# to ELEMENT\n" : "");
    element = Splice(element, "STORED", sketch.as_float ? "cast" : "value");
    element = Splice(element, "NEXT",
                     i + 1 == sketch.count ? "latch" : "element" + std::to_string(i + 1));
    text += Splice(element, "#", std::to_string(i));
  }
  text += R"(
latch:
  %next = add i32 %lane, 1
  store i32 %next, i32* %counter
  %is_last = icmp uge i32 %next, 8
  br i1 %is_last, label %exit, label %loop

exit:
AFTER
}
)";
  text = Splice(text, "AFTER", sketch.after.empty() ? "  ret i32 0" : sketch.after);
  text = Splice(text, "BUFFER", sketch.buffer);
  text = Splice(text, "SHIFT", sketch.bits == 64 ? "3" : "2");
  std::string ones = "<i32 1";
  for (uint32_t lane = 1; lane < sketch.lanes; ++lane) ones += ", i32 1";
  text = Splice(text, "ONES", ones + ">");
  text = Splice(text, "<8 x", "<" + std::to_string(sketch.lanes) + " x");
  text = Splice(text, "uge i32 %next, 8", "uge i32 %next, " + std::to_string(sketch.lanes));
  return Splice(Splice(text, "ELEMENT", type), "VALUE", value_type);
}

constexpr uint32_t kRoom = 256;  // Elements behind which guards lie.
constexpr uint32_t kGuards = 64;

template <class Element>
struct Case {
  std::vector<uint32_t> mask;
  std::vector<uint32_t> offsets;
  std::vector<Element> values;
  uint32_t size;  // Of the buffer, in elements.
};

template <class Element>
void ExpectMeaning(void* function, const Case<Element>& c, uint32_t count) {
  struct Buffer {
    void* address;
    int32_t bytes;
  };
  std::vector<Element> memory(kRoom + kGuards);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<Element>(i);
  std::vector<Element> expected = memory;
  const auto lanes = static_cast<uint32_t>(c.mask.size());
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    for (uint32_t i = 0; i < count && c.mask[lane] != 0; ++i) {
      const uint32_t index = c.offsets[lane] + i;
      if (index < c.size) expected[index] = c.values[i * lanes + lane];
    }
  }
  const Buffer buffers[] = {
      {nullptr, 0}, {memory.data(), static_cast<int32_t>(c.size * sizeof(Element))}, {nullptr, 0}};
  reinterpret_cast<int (*)(const Buffer*, const uint32_t*, const uint32_t*, const Element*)>(
      function)(buffers, c.mask.data(), c.offsets.data(), c.values.data());
  EXPECT_EQ(memory, expected) << "offsets from " << c.offsets[0] << ", size " << c.size;
}

// Every way on purpose: elements that follow, that lie apart, with lanes that are idle, and with
// too little room by one element, for one lane, or for all.
template <class Element>
void ExpectMeaningInAllWays(void* function, uint32_t lanes, uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  for (int turn = 0; turn < 4000; ++turn) {
    Case<Element> c;
    c.offsets.resize(lanes);
    c.mask.assign(lanes, 0xffffffffu);
    const uint32_t first = random() % 3 == 0 ? 0 : random() % 64;
    const bool follows = random() % 2 == 0;
    const uint32_t gap = follows ? count : count + random() % 4;
    // What the next run of lanes stores may lie elsewhere.
    const uint32_t run = 2u << random() % 3;
    const uint32_t between = random() % 2 == 0 ? 0 : random() % 24;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      c.offsets[lane] = first + lane * gap + lane / run * between;
    }
    const uint32_t end = c.offsets[lanes - 1] + gap;
    if (random() % 4 == 0) std::swap(c.offsets[random() % lanes], c.offsets[random() % lanes]);
    // What wraps behind the last of all elements, to places of its own: which lane's element stays
    // in one place is open.
    if (first >= 4 && random() % 8 == 0) c.offsets[random() % lanes] = 0u - 1 - random() % 5;
    for (uint32_t& active : c.mask) {
      if (random() % 16 == 0) active = 0;
    }
    if (random() % 16 == 0) c.mask.assign(lanes, 0);
    // All lanes follow the first one, which is idle and before the buffer.
    if (follows && random() % 8 == 0) {
      for (uint32_t lane = 0; lane < lanes; ++lane) c.offsets[lane] = (lane - 1u) * count;
      c.mask[0] = 0;
    }
    const uint32_t sizes[] = {kRoom,
                              end,
                              end - 1,
                              end - static_cast<uint32_t>(random() % 8),
                              static_cast<uint32_t>(random() % 6),
                              0};
    c.size = std::min(kRoom, sizes[random() % 6]);
    c.values.resize(size_t{count} * lanes);
    for (Element& value : c.values) value = static_cast<Element>(random() | 0x01000000u);
    ExpectMeaning(function, c, count);
    if (testing::Test::HasFailure()) return;
  }
}

// What some of the lanes store beside each other is one store, too.
bool StoresMasked() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

bool IsCombined(const std::string& code) { return code.find("following:") != std::string::npos; }

class LaneStores : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }

  // For all numbers of lanes that llvmpipe has on x86.
  template <class Element>
  void ExpectCombinedAndRight(Sketch sketch) {
    for (const uint32_t lanes : {4, 8, 16}) {
      SCOPED_TRACE(lanes);
      sketch.lanes = lanes;
      const std::string text = StoreLoop(sketch);
      const std::string code = llvm_.Optimize(text, kPasses);
      EXPECT_TRUE(IsCombined(code)) << code;
      // Nothing is left of the loop.
      EXPECT_EQ(code.find("latch"), std::string::npos) << code;
      const bool is_masked = code.find("llvm.masked.store") != std::string::npos;
      EXPECT_EQ(is_masked, StoresMasked() && lanes >= 8) << code;
      llvm_.Run(text, kPasses, [&](void* function) {
        ExpectMeaningInAllWays<Element>(function, lanes, sketch.count, service::FirstSeed());
      });
    }
  }

  void ExpectLeftAlone(const Sketch& sketch) {
    const std::string code = llvm_.Optimize(StoreLoop(sketch), kPasses);
    EXPECT_FALSE(IsCombined(code)) << code;
    EXPECT_NE(code.find("latch"), std::string::npos) << code;
  }

  const DriverLlvm llvm_;
};

TEST_F(LaneStores, Words_AreStoredAtOnce) { ExpectCombinedAndRight<uint32_t>({}); }

TEST_F(LaneStores, Pairs_AreStoredAtOnce) { ExpectCombinedAndRight<uint64_t>({.bits = 64}); }

TEST_F(LaneStores, Quads_AreStoredAtOnce) { ExpectCombinedAndRight<uint32_t>({.count = 4}); }

TEST_F(LaneStores, QuadsOfFloats_AreStoredAtOnce) {
  ExpectCombinedAndRight<uint32_t>({.count = 4, .as_float = true});
}

TEST_F(LaneStores, OtherLoops_StayAsTheyAre) {
  ExpectLeftAlone({.count = 2});
  ExpectLeftAlone({.bits = 64, .count = 4});
  // Elements that do not follow each other.
  ExpectLeftAlone({.count = 4, .step = "5"});
  // Buffers that lanes may have one each of.
  ExpectLeftAlone({.buffer = "<i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 2>"});
  ExpectLeftAlone({.buffer = "%own"});
  // What the loop computes, used behind it.
  ExpectLeftAlone({.after = "  ret i32 %next"});
}

// Where it is not to optimize.
TEST_F(LaneStores, LoopsOfPlainCode_StayAsTheyAre) {
  const std::string code = llvm_.Optimize(StoreLoop({}), "mem2reg");
  EXPECT_FALSE(IsCombined(code)) << code;
}

}  // namespace
}  // namespace webnnd

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
#include "tests/base/lane_loop_text.h"
#include "tests/support/sample.h"

namespace webnnd {
namespace {

constexpr uint32_t kStreamed = 0x57ea3ed1;  // Of shaders/stream.glsl.

constexpr char kPasses[] = "function(sroa,early-cse,simplifycfg,instcombine)";

// That what is stored is to go past the caches.
const std::string kStreamedMark = std::string(kMark) + "  %marked = or <8 x i32> %values0, %mark\n";

// Values lie lane behind lane for each element. Stored is %STORED of them, which `marks` make up.
std::string StoreLoop(const LoopSketch& sketch, const std::string& marks = "") {
  std::string before;
  for (uint32_t i = 0; i < sketch.count; ++i) {
    before += Splice(R"(  %values_at# = getelementptr <8 x VALUE>, <8 x VALUE>* %values, i32 #
  %values# = load <8 x VALUE>, <8 x VALUE>* %values_at#, align 4
)",
                     "#", std::to_string(i));
  }
  before += Splice(marks, "MARK", Numbers(sketch.lanes, kStreamed, 0));
  const std::string values = marks.empty() ? "values#" : "marked";
  const std::string element = R"(  %value# = extractelement <8 x VALUE> %VALUES, i32 %lane
CAST  br i1 %stores#, label %store#, label %NEXT

store#:
  %at# = getelementptr ELEMENT, ELEMENT* %address, i32 %index#
  store ELEMENT %STORED#, ELEMENT* %at#, align 4
  br label %NEXT
)";
  const std::string cast = sketch.as_float ? "  %cast# = bitcast float %value# to ELEMENT\n" : "";
  return LoopText(
      sketch, before,
      Splice(Splice(Splice(element, "CAST", cast), "STORED", sketch.as_float ? "cast" : "value"),
             "VALUES", values));
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
  // So that what lies at multiples of a line's elements is a line of a cache.
  constexpr size_t kLineBytes = 64;
  std::vector<Element> memory(kRoom + kGuards + kLineBytes / sizeof(Element));
  const size_t start =
      (kLineBytes - reinterpret_cast<uintptr_t>(memory.data()) % kLineBytes) / sizeof(Element);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<Element>(i);
  std::vector<Element> expected = memory;
  const auto lanes = static_cast<uint32_t>(c.mask.size());
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    for (uint32_t i = 0; i < count && c.mask[lane] != 0; ++i) {
      const uint32_t index = c.offsets[lane] + i;
      if (index < c.size) expected[start + index] = c.values[i * lanes + lane];
    }
  }
  const Buffer buffers[] = {{nullptr, 0},
                            {memory.data() + start, static_cast<int32_t>(c.size * sizeof(Element))},
                            {nullptr, 0}};
  reinterpret_cast<int (*)(const Buffer*, const uint32_t*, const uint32_t*, const Element*)>(
      function)(buffers, c.mask.data(), c.offsets.data(), c.values.data());
  EXPECT_EQ(memory, expected) << "offsets from " << c.offsets[0] << ", size " << c.size;
}

// Every way on purpose: elements that follow, that lie apart, with lanes that are idle, and with
// too little room by one element, for one lane, or for all.
template <class Element>
void ExpectMeaningInAllWays(void* function, uint32_t lanes, uint32_t count, uint32_t seed,
                            bool are_neighbours) {
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
    for (uint32_t lane = 0; are_neighbours && lane < lanes; ++lane) {
      c.offsets[lane] = c.offsets[0] + lane;
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
bool StoresMasked(uint32_t bits) {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         (bits >= 32 || __builtin_cpu_supports("avx512bw") != 0);
}

bool IsCombined(const std::string& code) { return code.find("following:") != std::string::npos; }

class LaneStores : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }

  // For all numbers of lanes that llvmpipe has on x86.
  template <class Element>
  void ExpectCombinedAndRight(LoopSketch sketch, const std::string& marks = "") {
    for (const uint32_t lanes : {4, 8, 16}) {
      SCOPED_TRACE(lanes);
      sketch.lanes = lanes;
      const std::string text = StoreLoop(sketch, marks);
      const std::string code = llvm_.Optimize(text, kPasses);
      EXPECT_TRUE(IsCombined(code)) << code;
      // Nothing is left of the loop.
      EXPECT_EQ(code.find("latch"), std::string::npos) << code;
      const bool is_masked = code.find("llvm.masked.store") != std::string::npos;
      EXPECT_EQ(is_masked, StoresMasked(sketch.bits) && lanes >= 8) << code;
      // Lines of a cache, where they are known to be neighbours.
      ExpectStreamed(code, marks == kStreamedMark && sketch.offsets == kNeighbours &&
                               StoresMasked(sketch.bits) && lanes == 16);
      llvm_.Run(text, kPasses, [&](void* function) {
        ExpectMeaningInAllWays<Element>(function, lanes, sketch.count, service::FirstSeed(),
                                        sketch.offsets == kNeighbours);
      });
    }
  }

  // And waited for before the caller goes on.
  void ExpectStreamed(const std::string& code, bool is_streamed) {
    EXPECT_EQ(code.find(", align 64, !nontemporal") != std::string::npos, is_streamed) << code;
    EXPECT_EQ(code.find("call void @llvm.x86.sse.sfence()\n  ret") != std::string::npos,
              is_streamed)
        << code;
  }

  void ExpectLeftAlone(const LoopSketch& sketch) {
    const std::string code = llvm_.Optimize(StoreLoop(sketch), kPasses);
    EXPECT_FALSE(IsCombined(code)) << code;
    EXPECT_NE(code.find("latch"), std::string::npos) << code;
  }

  const DriverLlvm llvm_;
};

TEST_F(LaneStores, Words_AreStoredAtOnce) { ExpectCombinedAndRight<uint32_t>({}); }

TEST_F(LaneStores, Pairs_AreStoredAtOnce) { ExpectCombinedAndRight<uint64_t>({.bits = 64}); }

TEST_F(LaneStores, HalvesAndBytes_AreStoredAtOnce) {
  ExpectCombinedAndRight<uint16_t>({.bits = 16});
  ExpectCombinedAndRight<uint8_t>({.bits = 8});
  ExpectCombinedAndRight<uint16_t>({.bits = 16, .offsets = kNeighbours});
  ExpectCombinedAndRight<uint8_t>({.bits = 8, .offsets = kNeighbours});
}

TEST_F(LaneStores, Quads_AreStoredAtOnce) { ExpectCombinedAndRight<uint32_t>({.count = 4}); }

TEST_F(LaneStores, QuadsOfFloats_AreStoredAtOnce) {
  ExpectCombinedAndRight<uint32_t>({.count = 4, .as_float = true});
}

TEST_F(LaneStores, Neighbours_AreStoredAtOnce) {
  ExpectCombinedAndRight<uint32_t>({.offsets = kNeighbours});
  ExpectCombinedAndRight<uint64_t>({.bits = 64, .offsets = kNeighbours});
}

// Nor does it compare the places of all lanes, where some can be stored. Where all can, nothing is
// masked: loads wait for masked stores to places that look like theirs.
TEST_F(LaneStores, KnownNeighbours_AreNotLookedAt) {
  for (const auto& [offsets, looks] :
       {std::pair<std::string, bool>(kNeighbours, false), std::pair(LoopSketch().offsets, true)}) {
    const std::string code = llvm_.Optimize(StoreLoop({.offsets = offsets}), kPasses);
    // What stores lane by lane does, behind.
    const std::string body = code.substr(0, code.find("\n}\n"));
    EXPECT_EQ(body.find("icmp eq <8 x i32>") != std::string::npos, looks || !StoresMasked(32))
        << code;
    EXPECT_NE(body.find("store <8 x i32>"), std::string::npos) << code;
  }
}

TEST_F(LaneStores, MarkedLines_GoPastTheCaches) {
  ExpectCombinedAndRight<uint32_t>({.offsets = kNeighbours}, kStreamedMark);
}

// Vectors that may be no lines do not, but lose their mark, too.
TEST_F(LaneStores, MarkedWordsAnywhere_AreStoredAtOnce) {
  ExpectCombinedAndRight<uint32_t>({}, kStreamedMark);
  const std::string code = llvm_.Optimize(StoreLoop({}, kStreamedMark), kPasses);
  EXPECT_EQ(code.find(std::to_string(kStreamed)), std::string::npos) << code;
}

// What is almost the mark is not taken for it.
TEST_F(LaneStores, OtherMarks_AreStored) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"and <", "or <"},
      {"and <", "xor <"},
      {"or <8 x i32> %values0", "add <8 x i32> %values0"},
      {"MARK", Numbers(16, kStreamed + 1, 0)},
      {"MARK", Numbers(16, kStreamed, 1)},
      {"%values0, %mark", "%values0, %zeros"}};
  for (const auto& [part, other] : changes) {
    const std::string marks = Splice(kStreamedMark, part, other);
    ASSERT_NE(marks, kStreamedMark) << part;
    const std::string text = StoreLoop({.lanes = 16, .offsets = kNeighbours}, marks);
    ExpectStreamed(llvm_.Optimize(text, kPasses), false);
  }
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

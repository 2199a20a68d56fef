// That what lanes load is loaded at once (base/drivers_llvm/lane_loads.h), and is then what it
// would be: loops like llvmpipe's, compiled by the LLVM that lavapipe uses and run beside what they
// mean, with nothing to read before and behind the buffer.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/driver_llvm.h"
#include "tests/base/lane_loop_text.h"
#include "tests/support/sample.h"

namespace webnnd {
namespace {

constexpr uint32_t kAsked = 0x0a5ced01;  // Of shaders/stream.glsl.

constexpr char kPasses[] = "function(sroa,early-cse,simplifycfg,instcombine)";

constexpr char kUniform[] =
    "  %offsets = shufflevector <8 x i32> %own_offsets, <8 x i32> undef, <8 x i32> "
    "zeroinitializer\n";

// The same, made up by all that is computed for one lane alone.
constexpr char kUniformSum[] = R"(  %tripled = mul <8 x i32> %own_offsets, THREES
  %frozen = freeze <8 x i32> %tripled
  %doubled = shl <8 x i32> %own_offsets, ONES
  %own_kept = sub <8 x i32> %frozen, %doubled
  %with_bit = shl <8 x i32> %own_kept, ONES
  %or_bit = or <8 x i32> %with_bit, ONES
  %bit_of = and <8 x i32> %or_bit, ONES
  %with_more = add <8 x i32> %or_bit, %bit_of
  %back = sub <8 x i32> %with_more, TWOS
  %sums = sub <8 x i32> %back, %own_kept
  %offset_of_first = extractelement <8 x i32> %sums, i32 0
  %inserted = insertelement <8 x i32> undef, i32 %offset_of_first, i32 0
  %offsets = shufflevector <8 x i32> %inserted, <8 x i32> undef, <8 x i32> zeroinitializer
)";

// As kNeighbours, but two apart.
constexpr char kEverySecond[] =
    R"(  %first = shufflevector <8 x i32> %own_offsets, <8 x i32> undef, <8 x i32> zeroinitializer
  %doubled = shl <8 x i32> NUMBERS, ONES
  %places = add <8 x i32> %doubled, %first
  %bytes = shl <8 x i32> %places, BYTES_LOG2
  %offsets = lshr <8 x i32> %bytes, BYTES_LOG2
)";

// That of another lane than the first.
constexpr char kUniformOfThird[] =
    "  %sums = add <8 x i32> %own_offsets, zeroinitializer\n"
    "  %offsets = shufflevector <8 x i32> %sums, <8 x i32> undef, <8 x i32> TWOS\n";

constexpr char kElement[] = R"(  br i1 %stores#, label %inside#_, label %outside#_

inside#_:
  %at# = getelementptr ELEMENT, ELEMENT* %address, i32 %index#
  %loaded# = load ELEMENT, ELEMENT* %at#, align 4
  %old# = load <8 x VALUE>, <8 x VALUE>* %result#, align 4
  %new# = insertelement <8 x VALUE> %old#, ELEMENT %loaded#, i32 %lane
  store <8 x VALUE> %new#, <8 x VALUE>* %result#, align 4
  br label %NEXT

outside#_:
  %old_outside# = load <8 x VALUE>, <8 x VALUE>* %RESULT#, align 4
  %none# = insertelement <8 x VALUE> %old_outside#, ELEMENT OUTSIDE, i32 %lane
  store <8 x VALUE> %none#, <8 x VALUE>* %RESULT#, align 4
  br label %NEXT
)";

// That what is loaded is asked for alone.
const std::string kAskedMark = std::string(kMark) + "  %marked = and <8 x i32> %final0, %mark\n";

// Loads to %values, or what `marks` make of it, %marked.
std::string LoadLoop(LoopSketch sketch, const std::string& outside = "0",
                     const std::string& result_outside = "result", const std::string& marks = "") {
  std::string before;
  std::string after;
  for (uint32_t i = 0; i < sketch.count; ++i) {
    before += Splice(R"(  %other# = alloca <8 x VALUE>
  %result# = alloca <8 x VALUE>
  store <8 x VALUE> zeroinitializer, <8 x VALUE>* %result#
)",
                     "#", std::to_string(i));
    const std::string stores = R"(  %final# = load <8 x VALUE>, <8 x VALUE>* %result#
MARKS  %values_at# = getelementptr <8 x VALUE>, <8 x VALUE>* %values, i32 #
  store <8 x VALUE> %STORED, <8 x VALUE>* %values_at#, align 4
)";
    after += Splice(Splice(Splice(stores, "STORED", marks.empty() ? "final#" : "marked"), "MARKS",
                           Splice(marks, "MARK", Numbers(sketch.lanes, kAsked, 0))),
                    "#", std::to_string(i));
  }
  sketch.after = after + sketch.after;
  return LoopText(sketch, before,
                  Splice(Splice(kElement, "OUTSIDE", outside), "RESULT", result_outside));
}

// Some loops behind each other, of elements that differ by constants.
struct RunSketch {
  uint32_t lanes = 8;
  uint32_t bits = 32;                          // Of an element.
  uint32_t step = 1;                           // Elements from lane to lane.
  std::vector<int32_t> constants = {0, 1, 2};  // Elements, of each loop.
  int32_t more_bytes = 0;                      // Of the last loop.
  std::string shift = "ashr";
  std::string buffer_of_last = "ONES";
  std::string size_from = "%size_at#";
  std::string before_last = "";
};

constexpr char kLoopOfRun[] = R"(
  %bytes# = add <8 x i32> %root, CONSTANT
  %offsets# = ARITHMETIC <8 x i32> %bytes#, BYTES_LOG2
  store i32 0, i32* %counter#
  br label %loop#

loop#:
  %lane# = load i32, i32* %counter#
  %is_active# = extractelement <8 x i1> %active#, i32 %lane#
  %offset# = extractelement <8 x i32> %offsets#, i32 %lane#
  br i1 %is_active#, label %element#, label %latch#

element#:
  %buffer# = extractelement <8 x i32> BUFFER, i32 %lane#
  %size_at# = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer#, i32 1
  %bytes_of_buffer# = load i32, i32* SIZE_FROM
  %address_at# = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer#, i32 0
  %words# = load i32*, i32** %address_at#
  %size# = ashr i32 %bytes_of_buffer#, SHIFT
  %address# = bitcast i32* %words# to ELEMENT*
  %index# = add i32 %offset#, 0
  %inside# = icmp ult i32 %index#, %size#
  %wide# = sext i1 %inside# to i32
  %both# = and i32 -1, %wide#
  %loads# = icmp ne i32 %both#, 0
  br i1 %loads#, label %inside#_, label %outside#_

inside#_:
  %at# = getelementptr ELEMENT, ELEMENT* %address#, i32 %index#
  %loaded# = load ELEMENT, ELEMENT* %at#, align 4
  %old# = load <8 x ELEMENT>, <8 x ELEMENT>* %result#, align 4
  %new# = insertelement <8 x ELEMENT> %old#, ELEMENT %loaded#, i32 %lane#
  store <8 x ELEMENT> %new#, <8 x ELEMENT>* %result#, align 4
  br label %latch#

outside#_:
  %old_outside# = load <8 x ELEMENT>, <8 x ELEMENT>* %result#, align 4
  %none# = insertelement <8 x ELEMENT> %old_outside#, ELEMENT 0, i32 %lane#
  store <8 x ELEMENT> %none#, <8 x ELEMENT>* %result#, align 4
  br label %latch#

latch#:
  %next# = add i32 %lane#, 1
  store i32 %next#, i32* %counter#
  %is_last# = icmp uge i32 %next#, LANES
  br i1 %is_last#, label %exit#, label %loop#

exit#:
  %final# = load <8 x ELEMENT>, <8 x ELEMENT>* %result#
)";

// i32 f({address, bytes}* buffers, int32* masks, int32* offsets, elements* values), with a mask and
// values for each loop.
std::string RunText(const RunSketch& sketch) {
  std::string text = R"(
@memory = global i32 0
declare void @unknown()
declare i32 @llvm.umin.i32(i32, i32)
define internal i32 @read(i32* %from) {
  %read = load i32, i32* %from
  ret i32 %read
}
define i32 @f({ i32*, i32 }* %buffers, <8 x i32>* %masks, <8 x i32>* %offsets_at,
              <8 x ELEMENT>* %values) {
entry:
  %size_on_stack = alloca i32
  store i32 64, i32* %size_on_stack
  %own_offsets = load <8 x i32>, <8 x i32>* %offsets_at, align 4
  %first = shufflevector <8 x i32> %own_offsets, <8 x i32> undef, <8 x i32> zeroinitializer
  %places = add <8 x i32> STEPS, %first
  %root = shl <8 x i32> %places, BYTES_LOG2
)";
  const auto shift = static_cast<uint32_t>(std::countr_zero(sketch.bits / 8));
  std::string after;
  for (size_t i = 0; i < sketch.constants.size(); ++i) {
    const std::string number = std::to_string(i);
    text += Splice(R"(  %counter# = alloca i32
  %result# = alloca <8 x ELEMENT>
  store <8 x ELEMENT> zeroinitializer, <8 x ELEMENT>* %result#
  %mask_at# = getelementptr <8 x i32>, <8 x i32>* %masks, i32 #
  %mask# = load <8 x i32>, <8 x i32>* %mask_at#, align 4
  %active# = icmp ne <8 x i32> %mask#, zeroinitializer
)",
                   "#", number);
    after += Splice(R"(  %values_at# = getelementptr <8 x ELEMENT>, <8 x ELEMENT>* %values, i32 #
  store <8 x ELEMENT> %final#, <8 x ELEMENT>* %values_at#, align 4
)",
                    "#", number);
  }
  for (size_t i = 0; i < sketch.constants.size(); ++i) {
    const bool is_last = i + 1 == sketch.constants.size();
    const auto bytes = static_cast<uint32_t>(sketch.constants[i] << shift) +
                       static_cast<uint32_t>(is_last ? sketch.more_bytes : 0);
    std::string loop = is_last ? sketch.before_last + kLoopOfRun : kLoopOfRun;
    loop = Splice(loop, "CONSTANT", Numbers(sketch.lanes, bytes, 0));
    loop = Splice(loop, "SIZE_FROM", sketch.size_from);
    loop = Splice(loop, "BUFFER", is_last ? sketch.buffer_of_last : "ONES");
    text += Splice(loop, "#", std::to_string(i));
  }
  text += after + "  ret i32 0\n}\n";
  text = Splice(text, "ARITHMETIC", sketch.shift);
  text = Splice(text, "SHIFT", std::to_string(shift));
  text = Splice(text, "STEPS", Numbers(sketch.lanes, 0, sketch.step));
  text = Splice(text, "ONES", Numbers(sketch.lanes, 1, 0));
  text = Splice(text, "TWOS", Numbers(sketch.lanes, 2, 0));
  text = Splice(text, "BYTES_LOG2", Numbers(sketch.lanes, shift, 0));
  text = Splice(text, "<8 x", "<" + std::to_string(sketch.lanes) + " x");
  text = Splice(text, "LANES", std::to_string(sketch.lanes));
  return Splice(text, "ELEMENT", "i" + std::to_string(sketch.bits));
}

// Elements that begin, or end, where nothing else may be read.
class GuardedRoom {
 public:
  GuardedRoom() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* pages = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    pages_ = static_cast<std::byte*>(pages);
    EXPECT_EQ(mprotect(pages_ + page_, page_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedRoom() { munmap(pages_, 3 * page_); }
  GuardedRoom(const GuardedRoom&) = delete;
  GuardedRoom& operator=(const GuardedRoom&) = delete;

  void* First() const { return pages_ + page_; }
  void* Last(size_t bytes) const { return pages_ + 2 * page_ - bytes; }

 private:
  size_t page_;
  std::byte* pages_ = nullptr;
};

constexpr uint32_t kRoom = 256;  // Elements, which a page has room for.

// They begin with a word, as buffers do.
template <class Element>
Element* Fill(const GuardedRoom& room, uint32_t size, bool at_end) {
  constexpr size_t kWordBytes = 4;
  const size_t bytes = (size * sizeof(Element) + kWordBytes - 1) / kWordBytes * kWordBytes;
  auto* elements = static_cast<Element*>(at_end ? room.Last(bytes) : room.First());
  for (uint32_t i = 0; i < size; ++i) {
    elements[i] = static_cast<Element>(0x9e3779b97f4a7c15u * (i + 1));
  }
  return elements;
}

// kEverySecond: two of a lane behind those of the lane before; kUniform: those of the first lane;
// kThird: of the third one.
enum class Places { kOwn, kNeighbours, kEverySecond, kUniform, kThird };

bool AreUniform(Places places) { return places == Places::kUniform || places == Places::kThird; }

// Every way on purpose: elements that follow, that lie apart, that are the same, with lanes that
// are idle, and with too little room by one element, for one lane, or for all.
template <class Element>
void ExpectMeaningInAllWays(void* function, uint32_t lanes, Places places, bool is_asked = false) {
  struct Buffer {
    void* address;
    int32_t bytes;
  };
  const GuardedRoom room;
  std::mt19937 random(service::FirstSeed());
  for (int turn = 0; turn < 4000; ++turn) {
    std::vector<uint32_t> offsets(lanes);
    std::vector<uint32_t> mask(lanes, 0xffffffffu);
    const uint32_t first = random() % 3 == 0 ? 0 : random() % 64;
    const uint32_t gap = random() % 2 == 0 ? 1 : random() % 4;
    for (uint32_t lane = 0; lane < lanes; ++lane) offsets[lane] = first + lane * gap;
    if (random() % 4 == 0) std::swap(offsets[random() % lanes], offsets[random() % lanes]);
    // Before the first of all elements.
    if (random() % 8 == 0) offsets[random() % lanes] = 0u - 1 - random() % 5;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if (places == Places::kNeighbours) offsets[lane] = offsets[0] + lane;
      if (places == Places::kEverySecond) offsets[lane] = offsets[0] + 2 * lane;
    }
    for (uint32_t& active : mask) {
      if (random() % 16 == 0) active = 0;
    }
    if (random() % 16 == 0) mask.assign(lanes, 0);
    const auto place_of = [&](uint32_t lane) {
      return offsets[places == Places::kUniform ? 0 : places == Places::kThird ? 2 : lane];
    };
    const uint32_t end = place_of(lanes - 1) + 1;
    const uint32_t sizes[] = {kRoom, end, end - 1, end - static_cast<uint32_t>(random() % 8), 1, 0};
    const uint32_t size = std::min(kRoom, sizes[random() % 6]);
    auto* elements = Fill<Element>(room, size, /*at_end=*/random() % 2 != 0);
    const Buffer buffers[] = {
        {nullptr, 0}, {elements, static_cast<int32_t>(size * sizeof(Element))}, {nullptr, 0}};
    std::vector<Element> values(lanes);
    reinterpret_cast<int (*)(const Buffer*, const uint32_t*, const uint32_t*, Element*)>(function)(
        buffers, mask.data(), offsets.data(), values.data());
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if (mask[lane] == 0) continue;  // Anything.
      const bool is_loaded = !is_asked && place_of(lane) < size;
      const Element expected = is_loaded ? elements[place_of(lane)] : 0;
      ASSERT_EQ(values[lane], expected)
          << "lane " << lane << ", at " << place_of(lane) << ", size " << size;
    }
  }
}

// From before the buffer to behind it, with lanes that are idle for some loops alone.
template <class Element>
void ExpectMeaningOfRun(void* function, const RunSketch& sketch) {
  struct Buffer {
    void* address;
    int32_t bytes;
  };
  const GuardedRoom room;
  std::mt19937 random(service::FirstSeed());
  const size_t loops = sketch.constants.size();
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<uint32_t> masks(loops * sketch.lanes, 0xffffffffu);
    for (uint32_t& active : masks) {
      if (random() % 8 == 0) active = 0;
    }
    if (random() % 8 == 0) std::fill_n(masks.begin(), sketch.lanes, 0);
    const uint32_t size = random() % 4 == 0 ? random() % 8 : random() % kRoom;
    std::vector<uint32_t> offsets(sketch.lanes, random() % (size + 80) - 60);
    auto* elements = Fill<Element>(room, size, /*at_end=*/random() % 2 != 0);
    const Buffer buffers[] = {
        {nullptr, 0}, {elements, static_cast<int32_t>(size * sizeof(Element))}, {nullptr, 0}};
    std::vector<Element> values(loops * sketch.lanes);
    reinterpret_cast<int (*)(const Buffer*, const uint32_t*, const uint32_t*, Element*)>(function)(
        buffers, masks.data(), offsets.data(), values.data());
    for (size_t i = 0; i < values.size(); ++i) {
      if (masks[i] == 0) continue;  // Anything.
      const auto lane = static_cast<uint32_t>(i % sketch.lanes);
      const auto constant = static_cast<uint32_t>(sketch.constants[i / sketch.lanes]);
      const uint32_t place = offsets[0] + sketch.step * lane + constant;
      ASSERT_EQ(values[i], place < size ? elements[place] : 0)
          << "loop " << i / sketch.lanes << ", lane " << lane << ", at " << place << ", size "
          << size;
    }
  }
}

bool IsCombined(const std::string& code) { return code.find("following:") != std::string::npos; }

uint32_t CountPrefetches(const std::string& code) {
  uint32_t count = 0;
  const std::string call = "call void @llvm.prefetch";
  for (size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) ++count;
  return count;
}

class LaneLoads : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }

  // For all numbers of lanes that llvmpipe has on x86.
  template <class Element>
  void ExpectCombinedAndRight(LoopSketch sketch, Places places) {
    for (const uint32_t lanes : {4, 8, 16}) {
      SCOPED_TRACE(lanes);
      sketch.lanes = lanes;
      const std::string text = LoadLoop(sketch);
      const std::string code = llvm_.Optimize(text, kPasses);
      // What is one load chooses where from, and branches nowhere.
      EXPECT_EQ(IsCombined(code), !AreUniform(places)) << code;
      EXPECT_EQ(code.find("@zeros") != std::string::npos, AreUniform(places)) << code;
      // Nothing is left of the loop.
      EXPECT_EQ(code.find("latch"), std::string::npos) << code;
      // Whether lanes follow each other is asked where it is not known.
      EXPECT_EQ(code.find("icmp eq <") != std::string::npos, places == Places::kOwn) << code;
      EXPECT_EQ(code.find("llvm.masked.gather") != std::string::npos, !AreUniform(places)) << code;
      llvm_.Run(text, kPasses,
                [&](void* function) { ExpectMeaningInAllWays<Element>(function, lanes, places); });
    }
  }

  void ExpectLeftAlone(const LoopSketch& sketch, const std::string& outside = "0",
                       const std::string& result_outside = "result") {
    const std::string code = llvm_.Optimize(LoadLoop(sketch, outside, result_outside), kPasses);
    EXPECT_FALSE(IsCombined(code)) << code;
    EXPECT_NE(code.find("latch"), std::string::npos) << code;
  }

  // As so many runs; what is none is looked at by itself.
  void ExpectRun(const RunSketch& sketch, int runs) {
    const std::string code = llvm_.Optimize(RunText(sketch), kPasses);
    int found = 0;
    for (size_t at = code.find("\npartly"); at != std::string::npos;
         at = code.find("\npartly", at + 1)) {
      ++found;
    }
    EXPECT_EQ(found, runs) << code;
    EXPECT_EQ(code.find("latch"), std::string::npos) << code;
    EXPECT_EQ(IsCombined(code), runs == 0) << code;
  }

  const DriverLlvm llvm_;
};

TEST_F(LaneLoads, Words_AreLoadedAtOnce) { ExpectCombinedAndRight<uint32_t>({}, Places::kOwn); }

TEST_F(LaneLoads, Pairs_AreLoadedAtOnce) {
  ExpectCombinedAndRight<uint64_t>({.bits = 64}, Places::kOwn);
}

// Gathered as the words that they are in.
TEST_F(LaneLoads, HalvesAndBytes_AreLoadedAtOnce) {
  ExpectCombinedAndRight<uint16_t>({.bits = 16}, Places::kOwn);
  ExpectCombinedAndRight<uint8_t>({.bits = 8}, Places::kOwn);
  ExpectCombinedAndRight<uint16_t>({.bits = 16, .offsets = kNeighbours}, Places::kNeighbours);
  ExpectCombinedAndRight<uint8_t>({.bits = 8, .offsets = kNeighbours}, Places::kNeighbours);
  ExpectCombinedAndRight<uint16_t>({.bits = 16, .offsets = kEverySecond}, Places::kEverySecond);
  ExpectCombinedAndRight<uint16_t>({.bits = 16, .offsets = kUniform}, Places::kUniform);
}

TEST_F(LaneLoads, Neighbours_AreNotLookedAt) {
  // llvmpipe shifts by either.
  for (const char* shift : {"lshr", "ashr"}) {
    const std::string offsets = Splice(kNeighbours, "lshr", shift);
    ExpectCombinedAndRight<uint32_t>({.offsets = offsets}, Places::kNeighbours);
    ExpectCombinedAndRight<uint64_t>({.bits = 64, .offsets = offsets}, Places::kNeighbours);
  }
}

TEST_F(LaneLoads, EverySecond_IsOneOfTwoLoads) {
  ExpectCombinedAndRight<uint32_t>({.offsets = kEverySecond}, Places::kEverySecond);
  ExpectCombinedAndRight<uint64_t>({.bits = 64, .offsets = kEverySecond}, Places::kEverySecond);
}

TEST_F(LaneLoads, OfOnePlace_AreOneLoad) {
  ExpectCombinedAndRight<uint32_t>({.offsets = kUniform}, Places::kUniform);
  ExpectCombinedAndRight<uint64_t>({.bits = 64, .offsets = kUniform}, Places::kUniform);
  ExpectCombinedAndRight<uint32_t>({.offsets = kUniformOfThird}, Places::kThird);
}

TEST_F(LaneLoads, OfOnePlace_AreComputedOnce) {
  ExpectCombinedAndRight<uint32_t>({.offsets = kUniformSum}, Places::kUniform);
  // None of the sums is left as one of vectors.
  const std::string code = llvm_.Optimize(LoadLoop({.offsets = kUniformSum}), kPasses);
  EXPECT_EQ(code.find("mul <8 x i32>"), std::string::npos) << code;
}

// What is almost one of these is not taken for it.
TEST_F(LaneLoads, OtherPlaces_AreLookedAt) {
  const std::string first =
      "  %first = shufflevector <8 x i32> %own_offsets, <8 x i32> undef, <8 x i32> "
      "zeroinitializer\n";
  for (const std::string& places : {
           "%offsets = add <8 x i32> %first, " + Numbers(8, 0, 3),
           std::string("%offsets = add <8 x i32> %first, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 "
                       "5, i32 6, i32 8>"),
           std::string("%offsets = add <8 x i32> %own_offsets, NUMBERS"),
           std::string("%offsets = mul <8 x i32> %first, NUMBERS"),
           std::string("%offsets = shl <8 x i32> NUMBERS, %first"),
           std::string("%offsets = sub <8 x i32> %first, NUMBERS"),
           std::string("%places = add <8 x i32> %first, NUMBERS\n  %offsets = mul <8 x i32> "
                       "%places, THREES"),
           std::string("%places = add <8 x i32> %first, NUMBERS\n  %offsets = shl <8 x i32> "
                       "%places, TWOS"),
           // Bytes of other elements.
           "%places = add <8 x i32> %first, NUMBERS\n  %bytes = shl <8 x i32> %places, " +
               Numbers(8, 4, 0) + "\n  %offsets = lshr <8 x i32> %bytes, " + Numbers(8, 2, 0),
       }) {
    const std::string code =
        llvm_.Optimize(LoadLoop({.offsets = first + "  " + places + "\n"}), kPasses);
    EXPECT_TRUE(IsCombined(code)) << code;
    EXPECT_NE(code.find("icmp eq <8 x i32>"), std::string::npos) << places << "\n" << code;
  }
  // Not the bytes of elements of 64 bits.
  const std::string twos = Numbers(8, 2, 0);
  const std::string words = Splice(kNeighbours, "BYTES_LOG2", twos);
  const std::string code = llvm_.Optimize(LoadLoop({.bits = 64, .offsets = words}), kPasses);
  EXPECT_NE(code.find("icmp eq <8 x i32>"), std::string::npos) << code;
}

TEST_F(LaneLoads, ThatDifferByConstants_AreARun) {
  for (const uint32_t step : {0, 1, 2}) {
    for (const std::vector<int32_t>& constants : std::vector<std::vector<int32_t>>{
             {0, 1, 2}, {-1, 0, 1}, {32, 0, 17}, {40, 40}, {-60, 3, 8, 9}}) {
      for (const uint32_t lanes : {4, 8, 16}) {
        for (const char* shift : {"lshr", "ashr"}) {
          const RunSketch sketch = {
              .lanes = lanes, .step = step, .constants = constants, .shift = shift};
          ExpectRun(sketch, 1);
          llvm_.Run(RunText(sketch), kPasses,
                    [&](void* function) { ExpectMeaningOfRun<uint32_t>(function, sketch); });
        }
      }
      const RunSketch pairs = {.bits = 64, .step = step, .constants = constants};
      ExpectRun(pairs, 1);
      llvm_.Run(RunText(pairs), kPasses,
                [&](void* function) { ExpectMeaningOfRun<uint64_t>(function, pairs); });
    }
  }
}

// One alone, too, whose place is known by what its bytes are the sum of.
TEST_F(LaneLoads, OfASumOfBytes_IsARun) {
  for (const uint32_t step : {1, 2}) {
    const RunSketch sketch = {.step = step, .constants = {7}};
    ExpectRun(sketch, 1);
    llvm_.Run(RunText(sketch), kPasses,
              [&](void* function) { ExpectMeaningOfRun<uint32_t>(function, sketch); });
  }
}

TEST_F(LaneLoads, WithReadsBetweenThem_AreARun) {
  ExpectRun({.constants = {0, 1}, .before_last = R"(
  %read = call i32 @read(i32* @memory)
  %least = call i32 @llvm.umin.i32(i32 %read, i32 1)
  store i32 %least, i32* %counter0
)"},
            1);
}

TEST_F(LaneLoads, OfDifferentBuffersOrPlaces_AreApart) {
  ExpectRun({.constants = {0, 1}, .buffer_of_last = "TWOS"}, 2);
  // Which may be another one by then.
  ExpectRun({.constants = {0, 1}, .size_from = "%size_on_stack"}, 2);
  ExpectRun({.constants = {0, 1}, .more_bytes = 2}, 2);
  ExpectRun({.constants = {0, 1100}}, 2);  // A long copy.
  ExpectRun({.step = 3, .constants = {0, 1}}, 0);
}

// Of what may be written in between, a copy would not know.
TEST_F(LaneLoads, WithWritesBetweenThem_AreApart) {
  for (const char* writes : {
           "  store i32 7, i32* @memory\n",
           "  store <8 x i32> zeroinitializer, <8 x i32>* %masks\n",
           "  call void @unknown()\n",
           "  fence seq_cst\n",
           "  %before = atomicrmw add i32* @memory, i32 1 seq_cst\n",
           "  %pair = cmpxchg i32* @memory, i32 1, i32 2 seq_cst seq_cst\n",
       }) {
    SCOPED_TRACE(writes);
    ExpectRun({.constants = {0, 1}, .before_last = writes}, 2);
  }
}

// On a way that may be left out, too.
TEST_F(LaneLoads, WithADetourBetweenThem_AreARunIfItOnlyReads) {
  const std::string branch = R"(
  %some = load i32, i32* @memory
  %is_some = icmp eq i32 %some, 0
  br i1 %is_some, label %joined, label %detour
detour:
  WHAT
  br label %joined
joined:
)";
  const auto detour = [&](const std::string& what) {
    return RunSketch{.constants = {0, 1}, .before_last = Splice(branch, "WHAT", what)};
  };
  ExpectRun(detour("%more = load i32, i32* @memory"), 1);
  ExpectRun(detour("store i32 7, i32* @memory"), 2);
  ExpectRun(detour("br label %further\nfurther:"), 2);
}

TEST_F(LaneLoads, AskedFor_AreNotLoaded) {
  struct Asked {
    std::string offsets;
    Places places;
    bool is_each;
  };
  for (const Asked& asked : {Asked{LoopSketch().offsets, Places::kOwn, true},
                             Asked{kEverySecond, Places::kEverySecond, true},
                             Asked{kUniform, Places::kUniform, false}}) {
    for (const uint32_t lanes : {4, 8, 16}) {
      const LoopSketch sketch = {.lanes = lanes, .offsets = asked.offsets};
      const std::string text = LoadLoop(sketch, "0", "result", kAskedMark);
      const std::string code = llvm_.Optimize(text, kPasses);
      EXPECT_EQ(CountPrefetches(code), asked.is_each ? lanes : 1) << code;
      EXPECT_EQ(code.find("latch"), std::string::npos) << code;
      EXPECT_FALSE(IsCombined(code)) << code;
      EXPECT_EQ(code.find("gather"), std::string::npos) << code;
      llvm_.Run(text, kPasses, [&](void* function) {
        ExpectMeaningInAllWays<uint32_t>(function, lanes, asked.places, /*is_asked=*/true);
      });
    }
  }
}

// What is almost the mark is not taken for it, nor what is used without it, too.
TEST_F(LaneLoads, WithOtherMarks_AreLoaded) {
  const std::string also = "  %also = getelementptr <8 x i32>, <8 x i32>* %values, i32 1\n";
  const std::string used = also + "  store <8 x i32> %final0, <8 x i32>* %also, align 4\n";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"and <8 x i32> %final0", "or <8 x i32> %final0"},
      {"and <8 x i32> %final0", "xor <8 x i32> %final0"},
      {"and <8 x i32> %zeros", "or <8 x i32> %zeros"},
      {"MARK", Numbers(8, kAsked + 1, 0)},
      {"MARK", Numbers(8, kAsked, 1)},
      {"%final0, %mark", "%final0, %zeros"},
      {"%final0, %mark", "%final0, %final0"},
      {"  %marked", used + "  %marked"}};
  for (const auto& [part, other] : changes) {
    const std::string marks = Splice(kAskedMark, part, other);
    ASSERT_NE(marks, kAskedMark) << part;
    const std::string code = llvm_.Optimize(LoadLoop({}, "0", "result", marks), kPasses);
    EXPECT_EQ(CountPrefetches(code), 0) << code;
    EXPECT_TRUE(IsCombined(code)) << code;
  }
}

TEST_F(LaneLoads, OtherLoops_StayAsTheyAre) {
  ExpectLeftAlone({.bits = 32, .count = 4});
  ExpectLeftAlone({.count = 2});
  // Buffers that lanes may have one each of.
  ExpectLeftAlone({.buffer = "<i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 2>"});
  ExpectLeftAlone({.buffer = "%own"});
  // Lanes that are outside get something else.
  ExpectLeftAlone({}, "7");
  ExpectLeftAlone({}, "0", "other");
  // What the loop computes, used behind it.
  ExpectLeftAlone({.after = "  ret i32 %next"});
}

// Where it is not to optimize.
TEST_F(LaneLoads, LoopsOfPlainCode_StayAsTheyAre) {
  const std::string code = llvm_.Optimize(LoadLoop({}), "mem2reg");
  EXPECT_FALSE(IsCombined(code)) << code;
}

}  // namespace
}  // namespace webnnd

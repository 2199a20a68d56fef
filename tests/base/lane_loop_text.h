// Loops over lanes like llvmpipe's (base/drivers_llvm/lane_loops.h), as text.
#ifndef WEBNND_TESTS_BASE_LANE_LOOP_TEXT_H_
#define WEBNND_TESTS_BASE_LANE_LOOP_TEXT_H_

#include <bit>
#include <cstdint>
#include <string>

namespace webnnd {

// How a loop is made, and where it differs from llvmpipe's.
struct LoopSketch {
  uint32_t lanes = 8;
  uint32_t bits = 32;     // Of an element.
  uint32_t count = 1;     // Of the elements of a lane.
  bool as_float = false;  // Values are of another type than elements.
  std::string buffer = "ONES";
  std::string step = "1";  // From one element to the next.
  std::string offsets = "  %offsets = add <8 x i32> %own_offsets, zeroinitializer\n";
  std::string after = "  ret i32 0";
};

// What makes up the offsets of the first lane's own one: that, and the number of the lane, as a
// kernel says it before llvmpipe counts bytes.
constexpr char kNeighbours[] =
    R"(  %first = shufflevector <8 x i32> %own_offsets, <8 x i32> undef, <8 x i32> zeroinitializer
  %doubled = mul <8 x i32> %first, TWOS
  %less = sub <8 x i32> zeroinitializer, %first
  %single = add <8 x i32> %doubled, %less
  %places = add <8 x i32> NUMBERS, %single
  %bytes = shl <8 x i32> %places, BYTES_LOG2
  %offsets = lshr <8 x i32> %bytes, BYTES_LOG2
)";

// %mark as shaders/stream.glsl has it, MARK & 0: the size of the first buffer.
constexpr char kMark[] =
    R"(  %zero_at = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 0, i32 1
  %zero = load i32, i32* %zero_at
  %first_zero = insertelement <8 x i32> undef, i32 %zero, i32 0
  %zeros = shufflevector <8 x i32> %first_zero, <8 x i32> undef, <8 x i32> zeroinitializer
  %mark = and <8 x i32> %zeros, MARK
)";

inline std::string Splice(std::string text, const std::string& name, const std::string& value) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), value);
    at += value.size();
  }
  return text;
}

// A vector of `first`, `first` + `step`, ...
inline std::string Numbers(uint32_t lanes, uint32_t first, uint32_t step) {
  std::string text = "<";
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    text += (lane == 0 ? "i32 " : ", i32 ") + std::to_string(first + lane * step);
  }
  return text + ">";
}

// i32 f({address, bytes}* buffers, int32* mask, int32* offsets, elements* values), of which
// `before` comes before the loop. In `element`, # is the number of the element, %lane the lane,
// %index# the element's place in the buffer, and %stores# whether it is inside; it ends with a
// branch to NEXT.
inline std::string LoopText(const LoopSketch& sketch, const std::string& before,
                            const std::string& element) {
  std::string text = R"(
define i32 @f({ i32*, i32 }* %buffers, <8 x i32>* %mask_at, <8 x i32>* %offsets_at,
              <8 x VALUE>* %values) {
entry:
  %counter = alloca i32
  %mask = load <8 x i32>, <8 x i32>* %mask_at, align 4
  %own_offsets = load <8 x i32>, <8 x i32>* %offsets_at, align 4
  %own = add <8 x i32> %own_offsets, %own_offsets
OFFSETS  %active = icmp ne <8 x i32> %mask, zeroinitializer
BEFORE  store i32 0, i32* %counter
  br label %loop

loop:
  %lane = load i32, i32* %counter
  %is_active = extractelement <8 x i1> %active, i32 %lane
  %offset = extractelement <8 x i32> %offsets, i32 %lane
  br i1 %is_active, label %element0, label %latch

element0:
  %buffer = extractelement <8 x i32> BUFFER, i32 %lane
  %size_at = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer, i32 1
  %bytes_of_buffer = load i32, i32* %size_at
  %address_at = getelementptr { i32*, i32 }, { i32*, i32 }* %buffers, i32 %buffer, i32 0
  %words = load i32*, i32** %address_at
  %size = ashr i32 %bytes_of_buffer, SHIFT
  %address = bitcast i32* %words to ELEMENT*
)";
  for (uint32_t i = 0; i < sketch.count; ++i) {
    const bool is_last = i + 1 == sketch.count;
    std::string part = R"(  %index# = add i32 %offset, PLACE
  %inside# = icmp ult i32 %index#, %size
  %wide# = sext i1 %inside# to i32
  %both# = and i32 -1, %wide#
  %stores# = icmp ne i32 %both#, 0
)" + element;
    part = Splice(part, "PLACE", i == 0 ? "0" : sketch.step == "1" ? "#" : sketch.step);
    part = Splice(part, "NEXT", is_last ? "latch" : "element" + std::to_string(i + 1));
    text += Splice(part, "#", std::to_string(i));
    if (!is_last) text += "\nelement" + std::to_string(i + 1) + ":\n";
  }
  text += R"(
latch:
  %next = add i32 %lane, 1
  store i32 %next, i32* %counter
  %is_last = icmp uge i32 %next, LANES
  br i1 %is_last, label %exit, label %loop

exit:
AFTER
}
)";
  const auto shift = static_cast<uint32_t>(std::countr_zero(sketch.bits / 8));
  text = Splice(text, "OFFSETS", sketch.offsets);
  text = Splice(text, "BEFORE", before);
  text = Splice(text, "AFTER", sketch.after);
  text = Splice(text, "BUFFER", sketch.buffer);
  text = Splice(text, "SHIFT", std::to_string(shift));
  text = Splice(text, "ONES", Numbers(sketch.lanes, 1, 0));
  text = Splice(text, "TWOS", Numbers(sketch.lanes, 2, 0));
  text = Splice(text, "THREES", Numbers(sketch.lanes, 3, 0));
  text = Splice(text, "NUMBERS", Numbers(sketch.lanes, 0, 1));
  text = Splice(text, "BYTES_LOG2", Numbers(sketch.lanes, shift, 0));
  text = Splice(text, "<8 x", "<" + std::to_string(sketch.lanes) + " x");
  text = Splice(text, "LANES", std::to_string(sketch.lanes));
  const std::string type = "i" + std::to_string(sketch.bits);
  return Splice(Splice(text, "ELEMENT", type), "VALUE", sketch.as_float ? "float" : type);
}

}  // namespace webnnd

#endif  // WEBNND_TESTS_BASE_LANE_LOOP_TEXT_H_

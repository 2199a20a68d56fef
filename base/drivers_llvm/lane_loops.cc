#include "base/drivers_llvm/lane_loops.h"

#include <utility>

namespace webnnd {
namespace {

constexpr unsigned kMaskedLanesMin = 8;
constexpr unsigned kWordBits = 32;

}  // namespace

int LaneLoops::Combine() {
  std::vector<LLVMValueRef> functions;  // Before there are ours.
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    functions.push_back(f);
  }
  int count = 0;
  for (LLVMValueRef function : functions) {
    const std::vector<Loop> loops = FindLoops(function);
    ReplaceAll(function, loops);
    count += static_cast<int>(loops.size());
  }
  return count;
}

void LaneLoops::ReplaceAll(LLVMValueRef /*function*/, const std::vector<Loop>& loops) {
  for (const Loop& loop : loops) Replace(loop);
}

std::vector<LaneLoops::Loop> LaneLoops::FindLoops(LLVMValueRef function) const {
  std::vector<Loop> loops;
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    if (std::optional<Loop> loop = LoopOf(b)) loops.push_back(std::move(*loop));
  }
  // One walk for all of them.
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    LLVMValueRef branch = llvm_.get_terminator(b);
    for (Loop& loop : loops) {
      for (unsigned i = 0; i < llvm_.get_num_successors(branch); ++i) {
        if (llvm_.get_successor(branch, i) != loop.header || loop.blocks.contains(b)) continue;
        // Another way in, or one of two ways out of `b`: none.
        const bool is_only = loop.before == nullptr && llvm_.get_num_successors(branch) == 1;
        loop.before = is_only ? b : loop.header;
      }
    }
  }
  std::erase_if(
      loops, [](const Loop& loop) { return loop.before == nullptr || loop.before == loop.header; });
  return loops;
}

std::optional<LaneLoops::Loop> LaneLoops::LoopOf(LLVMBasicBlockRef latch) const {
  Loop loop = {};
  if (!ReadLatch(latch, loop) || !ReadHeader(latch, loop)) return std::nullopt;
  LLVMBasicBlockRef block = llvm_.get_successor(llvm_.get_terminator(loop.header), 0);
  while (block != latch) {
    // None is visited twice.
    if (loop.blocks.contains(block)) return std::nullopt;
    block = ReadElement(block, loop);
    if (block == nullptr) return std::nullopt;
  }
  if (loop.values.empty() || !HasKnownType(loop) || !CanReplace(loop) ||
      !IsForAllLanes(loop.address, loop) || !IsForAllLanes(loop.size, loop) ||
      !HasOnlyItsOwnUses(loop)) {
    return std::nullopt;
  }
  loop.bytes = BytesOf(loop);
  loop.offsets = Unshifted(loop);
  return loop;
}

LLVMValueRef LaneLoops::BytesOf(const Loop& loop) const {
  const bool is_shifted = Is(loop.offsets, kAShr) || Is(loop.offsets, kLShr);
  if (!is_shifted || CountOf(loop) != 1) return nullptr;  // What follows them may.
  const std::optional<uint32_t> shift = steps_.NumberOf(Operand(loop.offsets, 1));
  return shift && 1u << *shift == BytesPerElement(loop) ? Operand(loop.offsets, 0) : nullptr;
}

// llvmpipe counts bytes first, and thereby takes offsets modulo 2^32 bytes. As they are, none of
// those names an element that it would not name, nor would it be one of the buffer's.
LLVMValueRef LaneLoops::Unshifted(const Loop& loop) const {
  if (loop.bytes == nullptr || !Is(loop.bytes, kShl)) return loop.offsets;
  const bool is_whole =
      steps_.NumberOf(Operand(loop.bytes, 1)) == steps_.NumberOf(Operand(loop.offsets, 1));
  return is_whole ? Operand(loop.bytes, 0) : loop.offsets;
}

// counter = lane + 1; br (icmp uge counter, lanes), exit, header
bool LaneLoops::ReadLatch(LLVMBasicBlockRef latch, Loop& loop) const {
  LLVMValueRef next = llvm_.get_first_instruction(latch);
  if (!Is(next, kAdd) || !Is(Operand(next, 0), kLoad) || !IsNumber(Operand(next, 1), 1)) {
    return false;
  }
  LLVMValueRef store = llvm_.get_next_instruction(next);
  loop.lane = Operand(next, 0);
  loop.counter = Operand(loop.lane, 0);
  loop.header = llvm_.get_block(loop.lane);
  loop.blocks.insert(latch);
  if (!Is(store, kStore) || Operand(store, 0) != next || Operand(store, 1) != loop.counter) {
    return false;
  }
  LLVMValueRef is_last = llvm_.get_next_instruction(store);
  if (!IsComparison(is_last, kUnsignedGreaterOrEqual) || Operand(is_last, 0) != next) return false;
  LLVMValueRef branch = llvm_.get_next_instruction(is_last);
  if (!Is(branch, kBr) || llvm_.get_num_successors(branch) != 2 ||
      llvm_.get_condition(branch) != is_last || llvm_.get_successor(branch, 1) != loop.header) {
    return false;
  }
  loop.exit = llvm_.get_successor(branch, 0);
  return !loop.blocks.contains(loop.header) && loop.exit != loop.header;
}

// lane = load counter; br (extractelement active, lane), ..., latch
bool LaneLoops::ReadHeader(LLVMBasicBlockRef latch, Loop& loop) const {
  LLVMValueRef is_active = llvm_.get_next_instruction(loop.lane);
  if (llvm_.get_first_instruction(loop.header) != loop.lane || !Is(is_active, kExtractElement) ||
      Operand(is_active, 1) != loop.lane) {
    return false;
  }
  loop.offset = llvm_.get_next_instruction(is_active);
  if (!Is(loop.offset, kExtractElement) || Operand(loop.offset, 1) != loop.lane) return false;
  LLVMValueRef branch = llvm_.get_next_instruction(loop.offset);
  if (!Is(branch, kBr) || llvm_.get_num_successors(branch) != 2 ||
      llvm_.get_condition(branch) != is_active || llvm_.get_successor(branch, 1) != latch) {
    return false;
  }
  loop.active = Operand(is_active, 0);
  loop.offsets = Operand(loop.offset, 0);
  loop.blocks.insert(loop.header);
  LLVMValueRef is_last = llvm_.get_condition(llvm_.get_terminator(latch));
  return llvm_.get_vector_size(llvm_.type_of(loop.offsets)) == Lanes(loop) &&
         llvm_.type_of(loop.offset) == build_.int32() && IsNumber(Operand(is_last, 1), Lanes(loop));
}

LLVMBasicBlockRef LaneLoops::ReadElement(LLVMBasicBlockRef block, Loop& loop) const {
  LLVMValueRef branch = llvm_.get_terminator(block);
  if (!Is(branch, kBr) || llvm_.get_num_successors(branch) != 2) return nullptr;
  // What comes before does nothing that could be seen, and what it loads is loaded by every way.
  for (auto* i = llvm_.get_first_instruction(block); i != branch;
       i = llvm_.get_next_instruction(i)) {
    const int opcode = llvm_.get_opcode(i);
    const bool is_address = opcode == kGetElementPtr || opcode == kLoad || opcode == kAShr;
    const bool is_value = opcode == kExtractElement || opcode == kExtractValue;
    const bool is_condition = opcode == kICmp || opcode == kSelect || opcode == kSExt ||
                              opcode == kAdd || opcode == kAnd || opcode == kBitCast;
    if (!is_address && !is_value && !is_condition) return nullptr;
  }
  loop.blocks.insert(block);
  return ReadAccess(block, llvm_.get_condition(branch), loop);
}

bool LaneLoops::ReadPlace(LLVMValueRef place, LLVMValueRef bound, Loop& loop) const {
  if (!Is(place, kGetElementPtr) || llvm_.get_num_operands(place) != 2) return false;
  if (loop.address != nullptr && loop.address != Operand(place, 0)) return false;
  loop.address = Operand(place, 0);
  LLVMValueRef index = Operand(place, 1);
  return IsOffset(index, loop) && ReadBound(bound, index, loop);
}

LLVMBasicBlockRef LaneLoops::NextBehind(LLVMValueRef last) const {
  LLVMValueRef end = llvm_.get_next_instruction(last);
  if (!Is(end, kBr) || llvm_.get_num_successors(end) != 1) return nullptr;
  return llvm_.get_successor(end, 0);
}

// That of the element: offset + its number.
bool LaneLoops::IsOffset(LLVMValueRef index, const Loop& loop) const {
  return Is(index, kAdd) && Operand(index, 0) == loop.offset &&
         IsNumber(Operand(index, 1), loop.values.size());
}

// icmp ne (and -1, (sext (icmp ult index, size))), 0
bool LaneLoops::ReadBound(LLVMValueRef condition, LLVMValueRef index, Loop& loop) const {
  if (!IsComparison(condition, kNotEqual) || llvm_.is_null(Operand(condition, 1)) == 0) {
    return false;
  }
  LLVMValueRef both = Operand(condition, 0);
  if (!Is(both, kAnd) ||
      Operand(both, 0) != llvm_.const_all_ones(llvm_.type_of(Operand(both, 0)))) {
    return false;
  }
  LLVMValueRef wide = Operand(both, 1);
  if (!Is(wide, kSExt) || !IsComparison(Operand(wide, 0), kUnsignedLess)) return false;
  LLVMValueRef comparison = Operand(wide, 0);
  if (Operand(comparison, 0) != index) return false;
  if (loop.size != nullptr && loop.size != Operand(comparison, 1)) return false;
  loop.size = Operand(comparison, 1);
  return true;
}

bool LaneLoops::HasKnownType(const Loop& loop) const {
  return llvm_.get_type_kind(loop.element_type) == kIntegerType &&
         llvm_.type_of(loop.address) == llvm_.pointer_type(loop.element_type, 0);
}

// Whether what a turn computes is the same in each: of lanes, it takes the number of the buffer
// from a vector of equal ones.
bool LaneLoops::IsForAllLanes(LLVMValueRef value, const Loop& loop) const {
  if (value == loop.lane) return false;
  if (llvm_.is_instruction(value) == nullptr || !loop.blocks.contains(llvm_.get_block(value))) {
    return true;
  }
  if (Is(value, kExtractElement) && Operand(value, 1) == loop.lane) {
    return HasOneElement(llvm_, Operand(value, 0));
  }
  for (int i = 0; i < llvm_.get_num_operands(value); ++i) {
    if (!IsForAllLanes(Operand(value, static_cast<unsigned>(i)), loop)) return false;
  }
  return true;
}

// What a turn computes is used by nothing behind it, but through memory.
bool LaneLoops::HasOnlyItsOwnUses(const Loop& loop) const {
  for (LLVMBasicBlockRef block : loop.blocks) {
    for (auto* i = llvm_.get_first_instruction(block); i != nullptr;
         i = llvm_.get_next_instruction(i)) {
      if (Is(i, kPhi)) return false;
      for (auto* use = llvm_.get_first_use(i); use != nullptr; use = llvm_.get_next_use(use)) {
        if (!loop.blocks.contains(llvm_.get_block(llvm_.get_user(use)))) return false;
      }
    }
  }
  return !Is(llvm_.get_first_instruction(loop.exit), kPhi);
}

LLVMValueRef LaneLoops::HaveRoom(LLVMValueRef offsets, unsigned count, LLVMValueRef size) const {
  if (count == 1) {
    return llvm_.build_comparison(build_.get(), kUnsignedLess, offsets,
                                  build_.Splat(size, LanesOf(offsets)), "");
  }
  LLVMValueRef has_some =
      llvm_.build_comparison(build_.get(), kUnsignedGreaterOrEqual, size, build_.Number(count), "");
  LLVMValueRef last = llvm_.build_add(build_.get(), size, build_.Number(0u - count), "");
  LLVMValueRef is_before = llvm_.build_comparison(build_.get(), kUnsignedLessOrEqual, offsets,
                                                  build_.Splat(last, LanesOf(offsets)), "");
  return llvm_.build_and(build_.get(), is_before, build_.Splat(has_some, LanesOf(offsets)), "");
}

LLVMValueRef LaneLoops::FirstOf(LLVMValueRef offsets) const {
  return build_.Scalar(offsets, 0, llvm_.get_terminator(llvm_.get_insert_block(build_.get())));
}

LLVMValueRef LaneLoops::CopyOf(LLVMValueRef value, const Loop& loop) const {
  return build_.Copy(value, [&](LLVMValueRef part) -> LLVMValueRef {
    if (part == loop.lane) return build_.Number(0);
    const bool is_inside =
        llvm_.is_instruction(part) != nullptr && loop.blocks.contains(llvm_.get_block(part));
    return is_inside ? nullptr : part;
  });
}

// As the loop does, with its counter at the end.
void LaneLoops::LeaveFor(const Loop& loop) const {
  llvm_.build_store(build_.get(), build_.Number(Lanes(loop)), loop.counter);
  llvm_.build_jump(build_.get(), loop.exit);
}

LLVMValueRef LaneLoops::CallIntrinsic(std::string_view name, std::vector<LLVMTypeRef> types,
                                      std::vector<LLVMValueRef> arguments) const {
  const unsigned id = llvm_.lookup_intrinsic(name.data(), name.size());
  return llvm_.build_call(build_.get(),
                          llvm_.get_intrinsic_type(context_, id, types.data(), types.size()),
                          llvm_.get_intrinsic(module_, id, types.data(), types.size()),
                          arguments.data(), static_cast<unsigned>(arguments.size()), "");
}

bool LaneLoops::HasMasks(const Loop& loop) const {
  const bool is_narrow = llvm_.get_int_width(loop.element_type) < kWordBits;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         (!is_narrow || __builtin_cpu_supports("avx512bw") != 0) && Lanes(loop) >= kMaskedLanesMin;
}

}  // namespace webnnd

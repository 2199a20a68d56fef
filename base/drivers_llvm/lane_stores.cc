#include "base/drivers_llvm/lane_stores.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace webnnd {
namespace {

constexpr unsigned kQuad = 4;

// How many times as often as the ways behind them these are taken, so that LLVM keeps values in
// registers there and spills them where it calls a function.
constexpr unsigned kFollowing = 16;
constexpr unsigned kQuads = 64;

constexpr unsigned kMaskedLanesMin = 8;
constexpr unsigned kMaskedBitsMin = 32;

// Processors with AVX-512 store some elements of a vector as fast as all of them; with AVX2 alone
// some take dozens of cycles.
bool StoresMasked() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace

LaneStores::LaneStores(const Llvm& llvm, LLVMModuleRef module, const void* caller,
                       SetAttributes* set)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      build_(llvm, module),
      caller_(caller),
      set_attributes_(set) {}

void LaneStores::Combine() {
  std::vector<LLVMValueRef> functions;  // Before there are ours.
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    functions.push_back(f);
  }
  for (LLVMValueRef function : functions) CombineIn(function);
}

void LaneStores::CombineIn(LLVMValueRef function) {
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
  for (const Loop& loop : loops) {
    if (loop.before != nullptr && loop.before != loop.header) Replace(loop);
  }
}

std::optional<LaneStores::Loop> LaneStores::LoopOf(LLVMBasicBlockRef latch) const {
  Loop loop = {};
  if (!ReadLatch(latch, loop) || !ReadHeader(latch, loop)) return std::nullopt;
  LLVMBasicBlockRef block = llvm_.get_successor(llvm_.get_terminator(loop.header), 0);
  while (block != latch) {
    // None is visited twice.
    if (loop.blocks.contains(block)) return std::nullopt;
    block = ReadElement(block, loop);
    if (block == nullptr) return std::nullopt;
  }
  if (loop.values.empty() || !HasKnownType(loop) || !IsForAllLanes(loop.address, loop) ||
      !IsForAllLanes(loop.size, loop) || !HasOnlyItsOwnUses(loop)) {
    return std::nullopt;
  }
  return loop;
}

// counter = lane + 1; br (icmp uge counter, lanes), exit, header
bool LaneStores::ReadLatch(LLVMBasicBlockRef latch, Loop& loop) const {
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
bool LaneStores::ReadHeader(LLVMBasicBlockRef latch, Loop& loop) const {
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

LLVMBasicBlockRef LaneStores::ReadElement(LLVMBasicBlockRef block, Loop& loop) const {
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
  LLVMBasicBlockRef storing = llvm_.get_successor(branch, 0);
  LLVMBasicBlockRef next = llvm_.get_successor(branch, 1);
  LLVMValueRef place = llvm_.get_first_instruction(storing);
  if (!Is(place, kGetElementPtr) || llvm_.get_num_operands(place) != 2) return nullptr;
  LLVMValueRef store = llvm_.get_next_instruction(place);
  if (!Is(store, kStore) || Operand(store, 1) != place) return nullptr;
  LLVMValueRef end = llvm_.get_next_instruction(store);
  if (!Is(end, kBr) || llvm_.get_num_successors(end) != 1 || llvm_.get_successor(end, 0) != next) {
    return nullptr;
  }
  LLVMValueRef value = Operand(store, 0);
  if (loop.element_type == nullptr) loop.element_type = llvm_.type_of(value);
  if (llvm_.type_of(value) != loop.element_type) return nullptr;
  if (Is(value, kBitCast)) value = Operand(value, 0);
  if (!Is(value, kExtractElement) || Operand(value, 1) != loop.lane) return nullptr;
  if (loop.address != nullptr && loop.address != Operand(place, 0)) return nullptr;
  loop.address = Operand(place, 0);
  LLVMValueRef index = Operand(place, 1);
  if (!IsOffset(index, loop) || !ReadBound(llvm_.get_condition(branch), index, loop)) {
    return nullptr;
  }
  loop.values.push_back(Operand(value, 0));
  loop.blocks.insert(block);
  loop.blocks.insert(storing);
  return next;
}

// That of the element: offset + its number.
bool LaneStores::IsOffset(LLVMValueRef index, const Loop& loop) const {
  return Is(index, kAdd) && Operand(index, 0) == loop.offset &&
         IsNumber(Operand(index, 1), loop.values.size());
}

// icmp ne (and -1, (sext (icmp ult index, size))), 0
bool LaneStores::ReadBound(LLVMValueRef condition, LLVMValueRef index, Loop& loop) const {
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

bool LaneStores::HasKnownType(const Loop& loop) const {
  if (llvm_.get_type_kind(loop.element_type) != kIntegerType ||
      llvm_.type_of(loop.address) != llvm_.pointer_type(loop.element_type, 0)) {
    return false;
  }
  if (loop.values.size() == 1) return true;
  return loop.values.size() == kQuad && loop.element_type == build_.int32() &&
         Lanes(loop) % kQuad == 0;
}

// Whether what a turn computes is the same in each: of lanes, it takes the number of the buffer
// from a vector of equal ones.
bool LaneStores::IsForAllLanes(LLVMValueRef value, const Loop& loop) const {
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
bool LaneStores::HasOnlyItsOwnUses(const Loop& loop) const {
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

void LaneStores::Replace(const Loop& loop) {
  const Function& function = StoreFunction(loop);
  LLVMValueRef old_end = llvm_.get_terminator(loop.before);
  llvm_.position_before(build_.get(), old_end);
  LLVMValueRef address = CopyOf(loop.address, loop);
  LLVMValueRef size = CopyOf(loop.size, loop);
  std::vector<LLVMValueRef> values;
  for (LLVMValueRef value : loop.values) {
    values.push_back(llvm_.build_bitcast(build_.get(), CopyOf(value, loop), ValueType(loop), ""));
  }

  LLVMValueRef parent = llvm_.get_function(loop.before);
  LLVMBasicBlockRef following = build_.NewBlock(parent, "following");
  LLVMBasicBlockRef otherwise = build_.NewBlock(parent, "otherwise");
  LLVMValueRef can_store =
      llvm_.build_and(build_.get(), loop.active, HaveRoom(loop.offsets, CountOf(loop), size), "");
  const unsigned run = LaneBuilder::LanesOfRun(Lanes(loop), CountOf(loop));
  LLVMValueRef follow =
      llvm_.build_and(build_.get(), can_store, build_.Follow(loop.offsets, run, CountOf(loop)), "");
  build_.BranchLikely(build_.AreAll(follow), following, otherwise, kFollowing);
  llvm_.erase(old_end);

  llvm_.position_at_end(build_.get(), following);
  const bool is_quad = values.size() == kQuad;
  StoreRuns(address, loop, is_quad ? build_.QuadsOf(values) : values, nullptr);
  LeaveFor(loop);

  llvm_.position_at_end(build_.get(), otherwise);
  if (HasMaskedStores(loop)) {
    LLVMBasicBlockRef some = build_.NewBlock(parent, "some_following");
    otherwise = build_.NewBlock(parent, "not_following");
    LLVMValueRef is_idle = llvm_.build_not(build_.get(), loop.active, "");
    LLVMValueRef all = build_.AreAll(llvm_.build_or(build_.get(), follow, is_idle, ""));
    build_.BranchLikely(all, some, otherwise, kFollowing);
    llvm_.position_at_end(build_.get(), some);
    StoreRuns(address, loop, is_quad ? build_.QuadsOf(values) : values, loop.active);
    LeaveFor(loop);
    llvm_.position_at_end(build_.get(), otherwise);
  }
  if (is_quad) {
    LLVMBasicBlockRef quads = build_.NewBlock(parent, "quads");
    otherwise = build_.NewBlock(parent, "lane_by_lane");
    build_.BranchLikely(build_.AreAll(can_store), quads, otherwise, kQuads);
    llvm_.position_at_end(build_.get(), quads);
    StoreQuads(address, loop.offsets, values, [](unsigned, auto store) { store(); });
    LeaveFor(loop);
    llvm_.position_at_end(build_.get(), otherwise);
  }
  LLVMTypeRef mask = llvm_.vector_type(build_.int32(), Lanes(loop));
  std::vector<LLVMValueRef> arguments = {
      address, size, llvm_.build_sext(build_.get(), loop.active, mask, ""), loop.offsets};
  arguments.insert(arguments.end(), values.begin(), values.end());
  Call(function, arguments);
  LeaveFor(loop);
}

bool LaneStores::HasMaskedStores(const Loop& loop) const {
  return StoresMasked() && Lanes(loop) >= kMaskedLanesMin &&
         llvm_.get_int_width(loop.element_type) >= kMaskedBitsMin;
}

void LaneStores::StoreRuns(LLVMValueRef address, const Loop& loop,
                           const std::vector<LLVMValueRef>& vectors, LLVMValueRef mask) {
  const unsigned run = LaneBuilder::LanesOfRun(Lanes(loop), CountOf(loop));
  const unsigned of_run = CountOf(loop) * run;
  const unsigned of_store = std::min(of_run, Lanes(loop));
  for (unsigned i = 0; i < CountOf(loop) * Lanes(loop); i += of_store) {
    LLVMValueRef vector = vectors[i / Lanes(loop)];
    if (of_store != Lanes(loop)) vector = build_.Part(vector, i % Lanes(loop), of_store);
    LLVMValueRef first = build_.Element(loop.offsets, i / of_run * run);
    LLVMValueRef offset = llvm_.build_add(build_.get(), first, build_.Number(i % of_run), "");
    if (mask == nullptr) {
      StoreTo(address, offset, vector, loop.element_type);
      continue;
    }
    std::vector<unsigned> lanes;
    for (unsigned element = i; element < i + of_store; ++element) {
      lanes.push_back(element / CountOf(loop));
    }
    StoreMasked(address, offset, vector, build_.Shuffle(mask, mask, lanes), loop.element_type);
  }
}

const LaneStores::Function& LaneStores::StoreFunction(const Loop& loop) {
  const bool is_quad = loop.values.size() == kQuad;
  Function& function = is_quad ? quad_function_ : element_functions_[ValueType(loop)];
  if (function.value != nullptr) return function;
  function = NewFunction(loop);
  if (is_quad) {
    Loop of_elements = loop;
    of_elements.values.resize(1);
    StoreFunction(of_elements);
    MakeQuadFunction(function.value);
  } else {
    MakeElementFunction(function.value, loop.element_type);
  }
  return function;
}

LaneStores::Function LaneStores::NewFunction(const Loop& loop) {
  LLVMTypeRef lanes = llvm_.type_of(loop.offsets);
  std::vector<LLVMTypeRef> types = {llvm_.type_of(loop.address), build_.int32(), lanes, lanes};
  types.insert(types.end(), loop.values.size(), ValueType(loop));
  Function function;
  function.type = llvm_.function_type(llvm_.void_type(context_), types.data(),
                                      static_cast<unsigned>(types.size()), 0);
  function.value = llvm_.add_function(module_, "store_lanes", function.type);
  llvm_.set_linkage(function.value, kInternalLinkage);
  set_attributes_(caller_, function.value);
  llvm_.position_at_end(build_.get(), build_.NewBlock(function.value, "entry"));
  return function;
}

void LaneStores::Call(const Function& function, std::vector<LLVMValueRef> arguments) {
  llvm_.build_call(build_.get(), function.type, function.value, arguments.data(),
                   static_cast<unsigned>(arguments.size()), "");
}

void LaneStores::MakeElementFunction(LLVMValueRef function, LLVMTypeRef element_type) {
  LLVMValueRef address = llvm_.get_parameter(function, 0);
  LLVMValueRef size = llvm_.get_parameter(function, 1);
  LLVMValueRef active = llvm_.get_parameter(function, 2);
  LLVMValueRef offsets = llvm_.get_parameter(function, 3);
  LLVMValueRef values = llvm_.get_parameter(function, 4);
  LLVMTypeRef lanes_type = llvm_.type_of(offsets);
  const unsigned lanes = llvm_.get_vector_size(lanes_type);
  LLVMValueRef is_active =
      llvm_.build_comparison(build_.get(), kNotEqual, active, llvm_.const_null(lanes_type), "");
  LLVMValueRef stores = llvm_.build_and(build_.get(), is_active, HaveRoom(offsets, 1, size), "");
  for (unsigned lane = 0; lane < lanes; ++lane) {
    StoreWhere(function, build_.Element(stores, lane), [&] {
      StoreTo(address, build_.Element(offsets, lane), build_.Element(values, lane), element_type);
    });
  }
  llvm_.build_return(build_.get());
}

void LaneStores::MakeQuadFunction(LLVMValueRef function) {
  LLVMValueRef address = llvm_.get_parameter(function, 0);
  LLVMValueRef size = llvm_.get_parameter(function, 1);
  LLVMValueRef active = llvm_.get_parameter(function, 2);
  LLVMValueRef offsets = llvm_.get_parameter(function, 3);
  std::vector<LLVMValueRef> values;
  for (unsigned i = 0; i < kQuad; ++i) values.push_back(llvm_.get_parameter(function, 4 + i));
  LLVMTypeRef lanes_type = llvm_.type_of(offsets);

  llvm_.position_at_end(build_.get(), llvm_.get_first_block(function));
  LLVMBasicBlockRef whole = build_.NewBlock(function, "whole");
  LLVMBasicBlockRef by_elements = build_.NewBlock(function, "by_elements");
  LLVMValueRef is_active =
      llvm_.build_comparison(build_.get(), kNotEqual, active, llvm_.const_null(lanes_type), "");
  LLVMValueRef is_idle = llvm_.build_not(build_.get(), is_active, "");
  LLVMValueRef have_room =
      llvm_.build_or(build_.get(), HaveRoom(offsets, kQuad, size), is_idle, "");
  llvm_.build_branch(build_.get(), build_.AreAll(have_room), whole, by_elements);

  llvm_.position_at_end(build_.get(), by_elements);
  for (unsigned i = 0; i < kQuad; ++i) {
    LLVMValueRef index = llvm_.build_add(build_.get(), offsets,
                                         build_.Splat(build_.Number(i), LanesOf(offsets)), "");
    Call(element_functions_[llvm_.type_of(values[i])], {address, size, active, index, values[i]});
  }
  llvm_.build_return(build_.get());

  llvm_.position_at_end(build_.get(), whole);
  StoreQuads(address, offsets, values, [&](unsigned lane, auto store) {
    StoreWhere(function, build_.Element(is_active, lane), store);
  });
  llvm_.build_return(build_.get());
}

template <class Guard>
void LaneStores::StoreQuads(LLVMValueRef address, LLVMValueRef offsets,
                            const std::vector<LLVMValueRef>& values, Guard guard) {
  const std::vector<LLVMValueRef> quads = build_.QuadsOf(values);
  for (unsigned lane = 0; lane < LanesOf(offsets); ++lane) {
    guard(lane, [&] {
      StoreTo(address, build_.Element(offsets, lane), build_.QuadOf(quads, lane), build_.int32());
    });
  }
}

template <class Store>
void LaneStores::StoreWhere(LLVMValueRef function, LLVMValueRef condition, Store store) {
  LLVMBasicBlockRef storing = build_.NewBlock(function, "store");
  LLVMBasicBlockRef next = build_.NewBlock(function, "next");
  llvm_.build_branch(build_.get(), condition, storing, next);
  llvm_.position_at_end(build_.get(), storing);
  store();
  llvm_.build_jump(build_.get(), next);
  llvm_.position_at_end(build_.get(), next);
}

LLVMValueRef LaneStores::HaveRoom(LLVMValueRef offsets, unsigned count, LLVMValueRef size) {
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

LLVMValueRef LaneStores::CopyOf(LLVMValueRef value, const Loop& loop) {
  return build_.Copy(value, [&](LLVMValueRef part) -> LLVMValueRef {
    if (part == loop.lane) return build_.Number(0);
    const bool is_inside =
        llvm_.is_instruction(part) != nullptr && loop.blocks.contains(llvm_.get_block(part));
    return is_inside ? nullptr : part;
  });
}

// As the loop does, with its counter at the end.
void LaneStores::LeaveFor(const Loop& loop) {
  llvm_.build_store(build_.get(), build_.Number(Lanes(loop)), loop.counter);
  llvm_.build_jump(build_.get(), loop.exit);
}

void LaneStores::StoreMasked(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                             LLVMValueRef mask, LLVMTypeRef element_type) {
  constexpr std::string_view kName = "llvm.masked.store";
  LLVMValueRef place = llvm_.build_address(build_.get(), element_type, address, &offset, 1, "");
  LLVMTypeRef types[] = {llvm_.type_of(vector), llvm_.pointer_type(llvm_.type_of(vector), 0)};
  LLVMValueRef arguments[] = {vector, llvm_.build_bitcast(build_.get(), place, types[1], ""),
                              build_.Number(llvm_.get_int_width(element_type) / 8), mask};
  const unsigned id = llvm_.lookup_intrinsic(kName.data(), kName.size());
  llvm_.build_call(build_.get(), llvm_.get_intrinsic_type(context_, id, types, 2),
                   llvm_.get_intrinsic(module_, id, types, 2), arguments, 4, "");
}

void LaneStores::StoreTo(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                         LLVMTypeRef element_type) {
  LLVMValueRef place = llvm_.build_address(build_.get(), element_type, address, &offset, 1, "");
  LLVMTypeRef pointer = llvm_.pointer_type(llvm_.type_of(vector), 0);
  LLVMValueRef store = llvm_.build_store(build_.get(), vector,
                                         llvm_.build_bitcast(build_.get(), place, pointer, ""));
  llvm_.set_alignment(store, llvm_.get_int_width(element_type) / 8);
}

}  // namespace webnnd

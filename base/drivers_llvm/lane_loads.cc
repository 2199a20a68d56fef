#include "base/drivers_llvm/lane_loads.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/drivers_llvm/access_run.h"

namespace webnnd {
namespace {

constexpr unsigned kFollowing = 16;      // Times as often as not: see LaneBuilder::BranchLikely.
constexpr uint32_t kRunBytesMax = 4096;  // Of a copy on the stack.
constexpr unsigned kWordBytes = 4;

constexpr uint32_t kAsked = 0x0a5ced01;  // Of shaders/stream.glsl.

}  // namespace

LLVMBasicBlockRef LaneLoads::ReadAccess(LLVMBasicBlockRef block, LLVMValueRef bound,
                                        Loop& loop) const {
  LLVMValueRef branch = llvm_.get_terminator(block);
  LLVMBasicBlockRef inside = llvm_.get_successor(branch, 0);
  LLVMBasicBlockRef outside = llvm_.get_successor(branch, 1);
  LLVMValueRef place = llvm_.get_first_instruction(inside);
  if (!ReadPlace(place, bound, loop)) return nullptr;
  LLVMValueRef loaded = llvm_.get_next_instruction(place);
  if (!Is(loaded, kLoad) || Operand(loaded, 0) != place) return nullptr;
  loop.element_type = llvm_.type_of(loaded);
  if (llvm_.get_source_type(place) != loop.element_type) return nullptr;
  const Result result = ReadResult(llvm_.get_next_instruction(loaded), loaded, loop);
  const Result other =
      ReadResult(llvm_.get_first_instruction(outside), llvm_.const_null(loop.element_type), loop);
  if (result.variable == nullptr || result.variable != other.variable ||
      result.next != other.next) {
    return nullptr;
  }
  loop.values.push_back(result.variable);
  loop.blocks.insert({inside, outside});
  return result.next;
}

// old = load variable; store (insertelement old, element, lane), variable; br next
LaneLoads::Result LaneLoads::ReadResult(LLVMValueRef first, LLVMValueRef element,
                                        const Loop& loop) const {
  if (!Is(first, kLoad)) return {};
  LLVMValueRef variable = Operand(first, 0);
  const bool is_inside =
      llvm_.is_instruction(variable) != nullptr && loop.blocks.contains(llvm_.get_block(variable));
  if (is_inside) return {};
  LLVMValueRef changed = llvm_.get_next_instruction(first);
  if (!Is(changed, kInsertElement) || Operand(changed, 0) != first ||
      Operand(changed, 1) != element || Operand(changed, 2) != loop.lane ||
      llvm_.type_of(changed) != ValueType(loop)) {
    return {};
  }
  LLVMValueRef store = llvm_.get_next_instruction(changed);
  if (!Is(store, kStore) || Operand(store, 0) != changed || Operand(store, 1) != variable) {
    return {};
  }
  return {variable, NextBehind(store)};
}

bool LaneLoads::CanReplace(const Loop& loop) const { return CountOf(loop) == 1; }

AccessOrder::Loads LaneLoads::LoadsOf(LLVMValueRef function) const {
  AccessOrder::Loads loads;
  for (const Loop& loop : FindLoops(function)) loads[loop.before] = loop.exit;
  return loads;
}

void LaneLoads::ReplaceAll(LLVMValueRef function, const std::vector<Loop>& loops) {
  std::unordered_set<const Loop*> replaced;
  for (const Run& run : FindRuns(function, loops)) {
    // By itself it needs no copy, where what it loads is known without what is added.
    if (run.size() == 1 && steps_.StepOf(run.front().loop->offsets)) continue;
    ReplaceRun(run);
    for (const Member& member : run) replaced.insert(member.loop);
  }
  for (const Loop& loop : loops) {
    if (!replaced.contains(&loop)) Replace(loop);
  }
}

std::vector<LaneLoads::Run> LaneLoads::FindRuns(LLVMValueRef function,
                                                const std::vector<Loop>& loops) const {
  AccessOrder::Loads loads;
  for (const Loop& loop : loops) loads[loop.before] = loop.exit;
  const AccessOrder order(llvm_, function, loads);
  std::vector<Member> members;
  for (const Loop& loop : loops) {
    if (auto member = MemberOf(loop, order)) members.push_back(*member);
  }
  std::ranges::sort(members, {}, [](const Member& member) { return member.order.number; });
  return JoinRuns(members, [this](const Run& run) { return IsRun(run); });
}

std::optional<LaneLoads::Member> LaneLoads::MemberOf(const Loop& loop,
                                                     const AccessOrder& order) const {
  if (IsAsked(loop)) return std::nullopt;
  const auto at = order.PlaceOf(llvm_.get_terminator(loop.before));
  if (!at || loop.bytes == nullptr) return std::nullopt;
  const LaneSteps::Sum sum = steps_.SumOf(loop.bytes);
  const std::optional<uint32_t> step = steps_.StepOf(sum.root);
  const unsigned bytes = BytesPerElement(loop);
  if (!step || *step % bytes != 0 || *step / bytes > 2) return std::nullopt;
  return Member{&loop, sum.root, sum.number, *step / bytes, *at};
}

bool LaneLoads::IsRun(const Run& run) const {
  const Member& first = run.front();
  const Member& last = run.back();
  if (first.order.run != last.order.run || first.root != last.root ||
      first.loop->element_type != last.loop->element_type ||
      !IsSame(first.loop->address, *first.loop, last.loop->address, *last.loop) ||
      !IsSame(first.loop->size, *first.loop, last.loop->size, *last.loop)) {
    return false;
  }
  const unsigned bytes = BytesPerElement(*first.loop);
  return (last.constant - first.constant) % bytes == 0 && CountOfRun(run) <= kRunBytesMax / bytes;
}

// Whether the loops compute the same for a lane, of what is the same.
bool LaneLoads::IsSame(LLVMValueRef a, const Loop& loop_a, LLVMValueRef b,
                       const Loop& loop_b) const {
  if (a == b || (a == loop_a.lane && b == loop_b.lane)) return true;
  const auto is_inside = [&](LLVMValueRef value, const Loop& loop) {
    return llvm_.is_instruction(value) != nullptr && value != loop.lane &&
           loop.blocks.contains(llvm_.get_block(value));
  };
  if (!is_inside(a, loop_a) || !is_inside(b, loop_b)) return false;
  const int opcode = llvm_.get_opcode(a);
  const int count = llvm_.get_num_operands(a);
  // Of what is on the stack there may be something else by then.
  const bool is_of_stack = opcode == kLoad && Is(Operand(a, 0), kAlloca);
  if (llvm_.get_opcode(b) != opcode || llvm_.get_num_operands(b) != count ||
      llvm_.type_of(a) != llvm_.type_of(b) || opcode == kExtractValue || is_of_stack) {
    return false;
  }
  if (opcode == kICmp && llvm_.get_predicate(a) != llvm_.get_predicate(b)) return false;
  if (opcode == kGetElementPtr && llvm_.get_source_type(a) != llvm_.get_source_type(b)) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    const auto operand = static_cast<unsigned>(i);
    if (!IsSame(Operand(a, operand), loop_a, Operand(b, operand), loop_b)) return false;
  }
  return true;
}

uint32_t LaneLoads::CountOfRun(const Run& run) const {
  const Loop& loop = *run.front().loop;
  return SpanOfConstants(run) / BytesPerElement(loop) + run.front().step * (Lanes(loop) - 1) + 1;
}

std::vector<uint32_t> LaneLoads::PiecesOf(const Run& run, const Member& member) const {
  const uint32_t first = (member.constant - FirstConstant(run)) / BytesPerElement(*member.loop);
  if (member.step < 2) return {first};
  return {first, first + Lanes(*member.loop) - 1};
}

void LaneLoads::ReplaceRun(const Run& run) {
  LLVMBuilderRef builder = build_.get();
  const Loop& loop = *run.front().loop;
  LLVMValueRef function = llvm_.get_function(loop.before);
  LLVMTypeRef pointer = llvm_.type_of(loop.address);
  const uint32_t count = CountOfRun(run);
  LLVMValueRef copies = build_.NewVariables(function, loop.element_type, count);
  LLVMValueRef variable = build_.NewVariables(function, pointer, 1);

  LLVMValueRef old_end = llvm_.get_terminator(loop.before);
  llvm_.position_before(builder, old_end);
  LLVMValueRef address = CopyOf(loop.address, loop);
  LLVMValueRef size = CopyOf(loop.size, loop);
  LLVMValueRef root = FirstOf(run.front().root);
  LLVMValueRef byte = llvm_.build_add(builder, root, build_.Number(FirstConstant(run)), "");
  LLVMValueRef shift = build_.Number(ShiftOf(loop));
  LLVMValueRef first = llvm_.build_binary(builder, kLShr, byte, shift, "");
  first = llvm_.build_zext(builder, first, build_.int64(), "");
  llvm_.build_store(builder, AddressOf(loop, address, first), variable);
  LLVMBasicBlockRef inside = build_.NewBlock(function, "inside");
  LLVMBasicBlockRef partly = build_.NewBlock(function, "partly");
  build_.BranchLikely(build_.IsRunInside(first, count, size), inside, partly, kFollowing);
  llvm_.erase(old_end);

  llvm_.position_at_end(builder, partly);
  CopyRun(run, root, address, size, copies);
  llvm_.build_store(builder, copies, variable);
  llvm_.build_jump(builder, inside);

  llvm_.position_at_end(builder, inside);
  for (const Member& member : run) {
    const Loop& own = *member.loop;
    LLVMValueRef own_end = &member == &run.front() ? nullptr : llvm_.get_terminator(own.before);
    if (own_end != nullptr) llvm_.position_before(builder, own_end);
    LLVMValueRef place = llvm_.build_load(builder, pointer, variable, "");
    LLVMValueRef from = build_.WideNumber(PiecesOf(run, member)[0]);
    LLVMValueRef loaded;
    if (member.step == 0) {
      loaded = LoadElement(own, AddressOf(own, place, from));
    } else {
      loaded = LoadApart(own, place, from, member.step);
    }
    llvm_.build_store(builder, loaded, own.values[0]);
    LeaveFor(own);
    if (own_end != nullptr) llvm_.erase(own_end);
  }
}

void LaneLoads::CopyRun(const Run& run, LLVMValueRef root, LLVMValueRef address, LLVMValueRef size,
                        LLVMValueRef copies) {
  LLVMBuilderRef builder = build_.get();
  const Loop& loop = *run.front().loop;
  const unsigned bytes = BytesPerElement(loop);
  LLVMTypeRef type = ValueType(loop);
  std::set<uint32_t> pieces;
  for (const Member& member : run) {
    for (uint32_t piece : PiecesOf(run, member)) pieces.insert(piece);
  }
  for (uint32_t piece : pieces) {
    std::vector<LLVMValueRef> to_lanes;
    for (unsigned lane = 0; lane < Lanes(loop); ++lane) {
      to_lanes.push_back(build_.Number(FirstConstant(run) + (piece + lane) * bytes));
    }
    LLVMValueRef places = llvm_.build_add(builder, build_.Splat(root, Lanes(loop)),
                                          llvm_.const_vector(to_lanes.data(), Lanes(loop)), "");
    LLVMValueRef shift = build_.Splat(build_.Number(ShiftOf(loop)), Lanes(loop));
    LLVMValueRef offsets = llvm_.build_binary(builder, kLShr, places, shift, "");
    LLVMValueRef copied = Gather(loop, address, offsets, HaveRoom(offsets, 1, size));
    LLVMValueRef to = AddressOf(loop, copies, build_.WideNumber(piece));
    if (run.front().step == 0) {
      copied = build_.Element(copied, 0);
    } else {
      to = llvm_.build_bitcast(builder, to, llvm_.pointer_type(type, 0), "");
    }
    llvm_.set_alignment(llvm_.build_store(builder, copied, to), bytes);
  }
}

// What is loaded for lanes that are not active is used by nobody.
void LaneLoads::Replace(const Loop& loop) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef old_end = llvm_.get_terminator(loop.before);
  llvm_.position_before(builder, old_end);
  LLVMValueRef address = CopyOf(loop.address, loop);
  if (IsAsked(loop)) {
    Ask(loop, address);
    llvm_.erase(old_end);
    return;
  }
  LLVMValueRef size = CopyOf(loop.size, loop);
  const std::optional<uint32_t> step = steps_.StepOf(loop.offsets);
  LLVMValueRef offset = FirstOf(loop.offsets);
  LLVMValueRef first = llvm_.build_zext(builder, offset, build_.int64(), "");
  if (step == 0) {
    LoadOne(loop, AddressOf(loop, address, first), build_.IsRunInside(first, 1, size));
    llvm_.erase(old_end);
    return;
  }
  LLVMValueRef can_load = nullptr;
  LLVMValueRef can_load_all = nullptr;
  const bool is_run = step == 1 || step == 2;
  if (is_run) {
    can_load_all = build_.IsRunInside(first, *step * (Lanes(loop) - 1) + 1, size);
  } else {
    can_load = CanLoad(loop, size);
    can_load_all = build_.AreAll(
        llvm_.build_and(builder, can_load, build_.Follow(loop.offsets, Lanes(loop), 1), ""));
  }
  LLVMValueRef parent = llvm_.get_function(loop.before);
  LLVMBasicBlockRef following = build_.NewBlock(parent, "following");
  LLVMBasicBlockRef apart = build_.NewBlock(parent, "apart");
  build_.BranchLikely(can_load_all, following, apart, kFollowing);
  llvm_.erase(old_end);

  llvm_.position_at_end(builder, following);
  LLVMValueRef loaded = LoadApart(loop, address, first, step == 2 ? 2 : 1);
  llvm_.build_store(builder, loaded, loop.values[0]);
  LeaveFor(loop);

  llvm_.position_at_end(builder, apart);
  LLVMValueRef offsets = loop.offsets;
  if (is_run) {  // Where nothing else needs all lanes' they are made up here alone.
    std::vector<LLVMValueRef> numbers;
    for (unsigned lane = 0; lane < Lanes(loop); ++lane) {
      numbers.push_back(build_.Number(*step * lane));
    }
    LLVMValueRef own = llvm_.const_vector(numbers.data(), Lanes(loop));
    offsets = llvm_.build_add(builder, build_.Splat(offset, Lanes(loop)), own, "");
    can_load = llvm_.build_and(builder, loop.active, HaveRoom(offsets, 1, size), "");
  }
  llvm_.build_store(builder, Gather(loop, address, offsets, can_load), loop.values[0]);
  LeaveFor(loop);
}

// Processors gather words. What is narrower they are taken from: buffers begin with a word, and
// memory ends with one.
LLVMValueRef LaneLoads::Gather(const Loop& loop, LLVMValueRef address, LLVMValueRef offsets,
                               LLVMValueRef can_load) {
  LLVMBuilderRef builder = build_.get();
  const unsigned bytes = BytesPerElement(loop);
  const bool is_narrow = bytes < kWordBytes;
  LLVMTypeRef element = loop.element_type;
  LLVMValueRef words = offsets;
  LLVMValueRef per_word = build_.Splat(build_.Number(kWordBytes / bytes), Lanes(loop));
  if (is_narrow) {
    element = build_.int32();
    address = llvm_.build_bitcast(builder, address, llvm_.pointer_type(element, 0), "");
    words = llvm_.build_binary(builder, kUDiv, offsets, per_word, "");
  }
  LLVMTypeRef type = llvm_.vector_type(element, Lanes(loop));
  LLVMValueRef places = llvm_.build_address(builder, element, address, &words, 1, "");
  LLVMValueRef gathered = CallIntrinsic(
      "llvm.masked.gather", {type, llvm_.type_of(places)},
      {places, build_.Number(std::max(bytes, kWordBytes)), can_load, llvm_.const_null(type)});
  if (!is_narrow) return gathered;
  LLVMValueRef in_word = llvm_.build_binary(builder, kURem, offsets, per_word, "");
  LLVMValueRef bits = build_.Splat(build_.Number(8 * bytes), Lanes(loop));
  LLVMValueRef shift = llvm_.build_mul(builder, in_word, bits, "");
  return llvm_.build_trunc(builder, llvm_.build_binary(builder, kLShr, gathered, shift, ""),
                           ValueType(loop), "");
}

bool LaneLoads::IsAsked(const Loop& loop) const {
  bool is_asked = false;
  for (auto* use = llvm_.get_first_use(loop.values[0]); use != nullptr;
       use = llvm_.get_next_use(use)) {
    LLVMValueRef user = llvm_.get_user(use);
    if (!Is(user, kLoad) || loop.blocks.contains(llvm_.get_block(user))) continue;
    for (auto* of = llvm_.get_first_use(user); of != nullptr; of = llvm_.get_next_use(of)) {
      LLVMValueRef mark = llvm_.get_user(of);
      if (!Is(mark, kAnd) || Operand(mark, 0) == Operand(mark, 1)) return false;
      LLVMValueRef other = Operand(mark, Operand(mark, 0) == user ? 1 : 0);
      if (!steps_.IsMark(other, kAsked)) return false;
      is_asked = true;
    }
  }
  return is_asked;
}

// Of lanes that are not active, or beyond the buffer, too: it changes nothing.
void LaneLoads::Ask(const Loop& loop, LLVMValueRef address) {
  LLVMBuilderRef builder = build_.get();
  LLVMTypeRef pointer = llvm_.pointer_type(llvm_.int_type(context_, 8), 0);
  const unsigned lanes = steps_.StepOf(loop.offsets) == 0 ? 1 : Lanes(loop);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    LLVMValueRef place = AddressOf(loop, address, build_.Element(loop.offsets, lane));
    constexpr uint32_t kRead = 0;
    constexpr uint32_t kInAllCaches = 3;
    constexpr uint32_t kData = 1;
    CallIntrinsic("llvm.prefetch", {pointer},
                  {llvm_.build_bitcast(builder, place, pointer, ""), build_.Number(kRead),
                   build_.Number(kInAllCaches), build_.Number(kData)});
  }
  llvm_.build_store(builder, llvm_.const_null(ValueType(loop)), loop.values[0]);
  LeaveFor(loop);
  ++asked_;
}

LLVMValueRef LaneLoads::LoadApart(const Loop& loop, LLVMValueRef address, LLVMValueRef first,
                                  uint32_t step) {
  LLVMValueRef run = LoadRun(loop, address, first);
  if (step == 1) return run;
  const unsigned to_last = Lanes(loop) - 1;
  LLVMValueRef wide = build_.WideNumber(to_last);
  LLVMValueRef second = LoadRun(loop, address, llvm_.build_add(build_.get(), first, wide, ""));
  std::vector<unsigned> elements;
  for (unsigned lane = 0; lane < Lanes(loop); ++lane) {
    elements.push_back(2 * lane <= to_last ? 2 * lane : 2 * lane + 1);
  }
  return build_.Shuffle(run, second, elements);
}

LLVMValueRef LaneLoads::LoadRun(const Loop& loop, LLVMValueRef address, LLVMValueRef first) const {
  LLVMBuilderRef builder = build_.get();
  LLVMTypeRef type = ValueType(loop);
  LLVMValueRef place = llvm_.build_bitcast(builder, AddressOf(loop, address, first),
                                           llvm_.pointer_type(type, 0), "");
  LLVMValueRef loaded = llvm_.build_load(builder, type, place, "");
  llvm_.set_alignment(loaded, BytesPerElement(loop));
  return loaded;
}

// Without a branch: blocks between multiplications keep LLVM from ordering them, and registers from
// lasting. What is not inside is loaded from where there are zeros.
void LaneLoads::LoadOne(const Loop& loop, LLVMValueRef place, LLVMValueRef is_inside) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef chosen =
      llvm_.build_select(builder, is_inside, place, build_.Zeros(loop.element_type), "");
  llvm_.build_store(builder, LoadElement(loop, chosen), loop.values[0]);
  LeaveFor(loop);
}

LLVMValueRef LaneLoads::LoadElement(const Loop& loop, LLVMValueRef place) {
  LLVMValueRef loaded = llvm_.build_load(build_.get(), loop.element_type, place, "");
  llvm_.set_alignment(loaded, BytesPerElement(loop));
  return build_.Splat(loaded, Lanes(loop));
}

LLVMValueRef LaneLoads::CanLoad(const Loop& loop, LLVMValueRef size) const {
  return llvm_.build_and(build_.get(), loop.active, HaveRoom(loop.offsets, 1, size), "");
}

// Of each lane, where `offset` has one for each.
LLVMValueRef LaneLoads::AddressOf(const Loop& loop, LLVMValueRef address,
                                  LLVMValueRef offset) const {
  return llvm_.build_address(build_.get(), loop.element_type, address, &offset, 1, "");
}

}  // namespace webnnd

#include "base/drivers_llvm/lane_loads.h"

namespace webnnd {
namespace {

constexpr unsigned kFollowing = 16;  // Times as often as not: see LaneBuilder::BranchLikely.

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

// What is loaded for lanes that are not active is used by nobody.
void LaneLoads::Replace(const Loop& loop) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef old_end = llvm_.get_terminator(loop.before);
  llvm_.position_before(builder, old_end);
  LLVMValueRef address = CopyOf(loop.address, loop);
  LLVMValueRef size = CopyOf(loop.size, loop);
  const std::optional<uint32_t> step = steps_.StepOf(loop.offsets);
  LLVMValueRef offset = FirstOf(loop.offsets);
  LLVMValueRef first = llvm_.build_zext(builder, offset, build_.int64(), "");
  if (step == 0) {
    LoadOne(loop, AddressOf(loop, address, first), IsRunInside(first, 1, size));
    llvm_.erase(old_end);
    return;
  }
  LLVMValueRef can_load = nullptr;
  LLVMValueRef can_load_all = nullptr;
  const bool is_run = step == 1 || step == 2;
  if (is_run) {
    can_load_all = IsRunInside(first, *step * (Lanes(loop) - 1) + 1, size);
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
  LLVMValueRef run = LoadRun(loop, address, first);
  if (step == 2) {
    const unsigned to_last = Lanes(loop) - 1;
    LLVMValueRef wide = build_.WideNumber(to_last);
    LLVMValueRef second = LoadRun(loop, address, llvm_.build_add(builder, first, wide, ""));
    std::vector<unsigned> elements;
    for (unsigned lane = 0; lane < Lanes(loop); ++lane) {
      elements.push_back(2 * lane <= to_last ? 2 * lane : 2 * lane + 1);
    }
    run = build_.Shuffle(run, second, elements);
  }
  llvm_.build_store(builder, run, loop.values[0]);
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
  LLVMTypeRef type = ValueType(loop);
  LLVMValueRef places = AddressOf(loop, address, offsets);
  LLVMValueRef gathered = CallIntrinsic(
      "llvm.masked.gather", {type, llvm_.type_of(places)},
      {places, build_.Number(BytesPerElement(loop)), can_load, llvm_.const_null(type)});
  llvm_.build_store(builder, gathered, loop.values[0]);
  LeaveFor(loop);
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
  LLVMValueRef loaded = llvm_.build_load(builder, loop.element_type, chosen, "");
  llvm_.set_alignment(loaded, BytesPerElement(loop));
  llvm_.build_store(builder, build_.Splat(loaded, Lanes(loop)), loop.values[0]);
  LeaveFor(loop);
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

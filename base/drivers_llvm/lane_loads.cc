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
  LLVMValueRef first = llvm_.build_zext(builder, FirstOf(loop.offsets), build_.int64(), "");
  LLVMValueRef can_load = nullptr;
  LLVMValueRef can_load_all = nullptr;
  if (step == 0 || step == 1) {
    can_load_all = IsRunInside(first, step == 0 ? 1 : Lanes(loop), size);
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
  LLVMTypeRef type = ValueType(loop);
  LLVMTypeRef loaded_type = step == 0 ? loop.element_type : type;
  LLVMValueRef place = llvm_.build_bitcast(builder, AddressOf(loop, address, first),
                                           llvm_.pointer_type(loaded_type, 0), "");
  LLVMValueRef loaded = llvm_.build_load(builder, loaded_type, place, "");
  llvm_.set_alignment(loaded, BytesPerElement(loop));
  if (step == 0) loaded = build_.Splat(loaded, Lanes(loop));
  llvm_.build_store(builder, loaded, loop.values[0]);
  LeaveFor(loop);

  llvm_.position_at_end(builder, apart);
  LLVMValueRef apart_value = llvm_.const_null(type);
  if (step != 0) {
    if (can_load == nullptr) can_load = CanLoad(loop, size);
    LLVMValueRef places = AddressOf(loop, address, loop.offsets);
    apart_value =
        CallIntrinsic("llvm.masked.gather", {type, llvm_.type_of(places)},
                      {places, build_.Number(BytesPerElement(loop)), can_load, apart_value});
  }
  llvm_.build_store(builder, apart_value, loop.values[0]);
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

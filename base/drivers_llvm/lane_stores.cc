#include "base/drivers_llvm/lane_stores.h"

#include <algorithm>
#include <string_view>

namespace webnnd {
namespace {

constexpr unsigned kQuad = 4;
constexpr unsigned kWordBytes = 4;

// How many times as often as the ways behind them these are taken, so that LLVM keeps values in
// registers there and spills them where it calls a function.
constexpr unsigned kFollowing = 16;
constexpr unsigned kQuads = 64;

constexpr uint32_t kStreamed = 0x57ea3ed1;  // Of shaders/stream.glsl.
constexpr unsigned kLineBytes = 64;

}  // namespace

LaneStores::LaneStores(const Llvm& llvm, LLVMModuleRef module, const void* caller,
                       SetAttributes* set)
    : LaneLoops(llvm, module), caller_(caller), set_attributes_(set) {}

LLVMBasicBlockRef LaneStores::ReadAccess(LLVMBasicBlockRef block, LLVMValueRef bound,
                                         Loop& loop) const {
  LLVMValueRef branch = llvm_.get_terminator(block);
  LLVMBasicBlockRef storing = llvm_.get_successor(branch, 0);
  LLVMBasicBlockRef next = llvm_.get_successor(branch, 1);
  LLVMValueRef place = llvm_.get_first_instruction(storing);
  if (!ReadPlace(place, bound, loop)) return nullptr;
  LLVMValueRef store = llvm_.get_next_instruction(place);
  if (!Is(store, kStore) || Operand(store, 1) != place || NextBehind(store) != next) {
    return nullptr;
  }
  LLVMValueRef value = Operand(store, 0);
  if (loop.element_type == nullptr) loop.element_type = llvm_.type_of(value);
  if (llvm_.type_of(value) != loop.element_type ||
      llvm_.get_source_type(place) != loop.element_type) {
    return nullptr;
  }
  if (Is(value, kBitCast)) value = Operand(value, 0);
  if (!Is(value, kExtractElement) || Operand(value, 1) != loop.lane) return nullptr;
  loop.values.push_back(Operand(value, 0));
  loop.blocks.insert(storing);
  return next;
}

bool LaneStores::CanReplace(const Loop& loop) const {
  if (loop.values.size() == 1) return true;
  return loop.values.size() == kQuad && loop.element_type == build_.int32() &&
         Lanes(loop) % kQuad == 0;
}

void LaneStores::ReplaceAll(LLVMValueRef function, const std::vector<Loop>& loops) {
  const int streamed_before = streamed_;
  LaneLoops::ReplaceAll(function, loops);
  if (streamed_ > streamed_before) AddFences(function);
}

void LaneStores::Replace(const Loop& loop) {
  const Function* function = Scatters(loop) ? nullptr : &StoreFunction(loop);
  LLVMValueRef old_end = llvm_.get_terminator(loop.before);
  llvm_.position_before(build_.get(), old_end);
  LLVMValueRef address = CopyOf(loop.address, loop);
  LLVMValueRef size = CopyOf(loop.size, loop);
  std::vector<LLVMValueRef> values;
  LLVMValueRef streamed = CountOf(loop) == 1 ? StreamedOf(loop.values[0]) : nullptr;
  for (LLVMValueRef value : loop.values) {
    if (streamed != nullptr) value = streamed;
    values.push_back(llvm_.build_bitcast(build_.get(), CopyOf(value, loop), ValueType(loop), ""));
  }

  LLVMValueRef parent = llvm_.get_function(loop.before);
  LLVMBasicBlockRef following = build_.NewBlock(parent, "following");
  LLVMBasicBlockRef otherwise = build_.NewBlock(parent, "otherwise");
  if (CountOf(loop) == 1 && HasMasks(loop) && steps_.StepOf(loop.offsets) == 1) {
    LLVMValueRef first = llvm_.build_zext(build_.get(), FirstOf(loop.offsets), build_.int64(), "");
    build_.BranchLikely(build_.IsRunInside(first, Lanes(loop), size), following, otherwise,
                        kFollowing);
    llvm_.erase(old_end);
    llvm_.position_at_end(build_.get(), following);
    LLVMBasicBlockRef all = build_.NewBlock(parent, "all_following");
    LLVMBasicBlockRef some = build_.NewBlock(parent, "some_following");
    const bool is_streamed =
        streamed != nullptr && Lanes(loop) * BytesPerElement(loop) == kLineBytes;
    LLVMValueRef are_all = build_.AreAll(loop.active);
    if (is_streamed) {
      LLVMValueRef is_line = IsLine(address, first, loop.element_type);
      are_all = llvm_.build_and(build_.get(), are_all, is_line, "");
    }
    build_.BranchLikely(are_all, all, some, kFollowing);
    llvm_.position_at_end(build_.get(), all);
    if (is_streamed) {
      StoreLine(address, first, values[0], loop.element_type);
    } else {
      StoreTo(address, first, values[0], loop.element_type);
    }
    LeaveFor(loop);
    llvm_.position_at_end(build_.get(), some);
    StoreMasked(address, first, values[0], loop.active, loop.element_type);
    LeaveFor(loop);
    llvm_.position_at_end(build_.get(), otherwise);
    StoreApart(loop, function, address, size, values);
    return;
  }
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
  if (HasMasks(loop)) {
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
  StoreApart(loop, function, address, size, values);
}

LLVMValueRef LaneStores::StreamedOf(LLVMValueRef value) const {
  while (Is(value, kBitCast)) value = Operand(value, 0);
  if (!Is(value, kOr)) return nullptr;
  if (steps_.IsMark(Operand(value, 0), kStreamed)) return Operand(value, 1);
  return steps_.IsMark(Operand(value, 1), kStreamed) ? Operand(value, 0) : nullptr;
}

LLVMValueRef LaneStores::IsLine(LLVMValueRef address, LLVMValueRef first,
                                LLVMTypeRef element_type) const {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef place = llvm_.build_address(builder, element_type, address, &first, 1, "");
  LLVMValueRef number = llvm_.build_pointer_as_int(builder, place, build_.int64(), "");
  LLVMValueRef in_line = llvm_.build_and(builder, number, build_.WideNumber(kLineBytes - 1), "");
  return llvm_.build_comparison(builder, kEqual, in_line, build_.WideNumber(0), "");
}

void LaneStores::StoreLine(LLVMValueRef address, LLVMValueRef first, LLVMValueRef vector,
                           LLVMTypeRef element_type) {
  constexpr std::string_view kName = "nontemporal";
  LLVMValueRef store = StoreTo(address, first, vector, element_type);
  llvm_.set_alignment(store, kLineBytes);
  LLVMMetadataRef one = llvm_.metadata_of(build_.Number(1));
  llvm_.set_metadata(store, llvm_.get_metadata_kind(context_, kName.data(), kName.size()),
                     llvm_.metadata_as_value(context_, llvm_.metadata_node(context_, &one, 1)));
  ++streamed_;
}

void LaneStores::AddFences(LLVMValueRef function) const {
  for (auto* b = llvm_.get_first_block(function); b != nullptr; b = llvm_.get_next_block(b)) {
    LLVMValueRef end = llvm_.get_terminator(b);
    if (!Is(end, kRet)) continue;
    llvm_.position_before(build_.get(), end);
    CallIntrinsic("llvm.x86.sse.sfence", {}, {});
  }
}

bool LaneStores::Scatters(const Loop& loop) const {
  return CountOf(loop) == 1 && HasMasks(loop) && BytesPerElement(loop) >= kWordBytes;
}

void LaneStores::StoreApart(const Loop& loop, const Function* function, LLVMValueRef address,
                            LLVMValueRef size, const std::vector<LLVMValueRef>& values) {
  if (function == nullptr) {
    Scatter(loop, address, size, values[0]);
  } else {
    CallFor(loop, *function, address, size, values);
  }
  LeaveFor(loop);
}

// Later lanes after earlier ones, which is what the intrinsic promises.
void LaneStores::Scatter(const Loop& loop, LLVMValueRef address, LLVMValueRef size,
                         LLVMValueRef value) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef stores = llvm_.build_and(builder, loop.active, HaveRoom(loop.offsets, 1, size), "");
  LLVMValueRef offsets = loop.offsets;
  LLVMValueRef places = llvm_.build_address(builder, loop.element_type, address, &offsets, 1, "");
  CallIntrinsic("llvm.masked.scatter", {llvm_.type_of(value), llvm_.type_of(places)},
                {value, places, build_.Number(BytesPerElement(loop)), stores});
}

void LaneStores::CallFor(const Loop& loop, const Function& function, LLVMValueRef address,
                         LLVMValueRef size, const std::vector<LLVMValueRef>& values) {
  LLVMTypeRef mask = llvm_.vector_type(build_.int32(), Lanes(loop));
  std::vector<LLVMValueRef> arguments = {
      address, size, llvm_.build_sext(build_.get(), loop.active, mask, ""), loop.offsets};
  arguments.insert(arguments.end(), values.begin(), values.end());
  Call(function, arguments);
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

void LaneStores::StoreMasked(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                             LLVMValueRef mask, LLVMTypeRef element_type) {
  LLVMValueRef place = llvm_.build_address(build_.get(), element_type, address, &offset, 1, "");
  LLVMTypeRef type = llvm_.type_of(vector);
  LLVMTypeRef pointer = llvm_.pointer_type(type, 0);
  CallIntrinsic("llvm.masked.store", {type, pointer},
                {vector, llvm_.build_bitcast(build_.get(), place, pointer, ""),
                 build_.Number(llvm_.get_int_width(element_type) / 8), mask});
}

LLVMValueRef LaneStores::StoreTo(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                                 LLVMTypeRef element_type) {
  LLVMValueRef place = llvm_.build_address(build_.get(), element_type, address, &offset, 1, "");
  LLVMTypeRef pointer = llvm_.pointer_type(llvm_.type_of(vector), 0);
  LLVMValueRef store = llvm_.build_store(build_.get(), vector,
                                         llvm_.build_bitcast(build_.get(), place, pointer, ""));
  llvm_.set_alignment(store, llvm_.get_int_width(element_type) / 8);
  return store;
}

}  // namespace webnnd

#include "base/drivers_llvm/lane_fetches.h"

#include <algorithm>
#include <string_view>

#include "base/drivers_llvm/access_run.h"
#include "base/drivers_llvm/lane_loads.h"

namespace webnnd {
namespace {

constexpr unsigned kChannels = 4;
constexpr unsigned kTexelBytes = 16;
constexpr unsigned kWordBytes = 4;
constexpr unsigned kWordBits = 32;
constexpr uint32_t kRunTexelsMax = 256;  // Of a copy on the stack.
constexpr unsigned kFollowing = 16;      // Times as often as not: see LaneBuilder::BranchLikely.

}  // namespace

void LaneFetches::Shorten() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    Fetch fetch = {};
    if (!Read(f, fetch)) continue;
    for (const Run& run : FindRuns(f, fetch)) {
      if (run.size() == 1) {
        LoadOne(run.front().call, f, fetch);
      } else {
        LoadRun(run, f, fetch);
      }
    }
    Shorten(f, fetch);
  }
}

// ret {channel 0, channel 1, channel 2, channel 3}
bool LaneFetches::Read(LLVMValueRef function, Fetch& fetch) const {
  fetch.block = llvm_.get_first_block(function);
  if (fetch.block == nullptr || llvm_.get_next_block(fetch.block) != nullptr) return false;
  LLVMValueRef end = llvm_.get_terminator(fetch.block);
  if (!Is(end, kRet) || llvm_.get_num_operands(end) != 1) return false;
  LLVMValueRef result = Operand(end, 0);
  for (unsigned channel = kChannels; channel-- > 0;) {
    if (!Is(result, kInsertValue) || llvm_.get_num_indices(result) != 1 ||
        llvm_.get_indices(result)[0] != channel) {
      return false;
    }
    if (!IsChannel(Operand(result, 1), channel, fetch)) return false;
    result = Operand(result, 0);
  }
  return llvm_.is_instruction(result) == nullptr;
}

// or (and 0, mask), (and channel, (not mask))
bool LaneFetches::IsChannel(LLVMValueRef value, unsigned channel, Fetch& fetch) const {
  value = Uncast(value);
  if (!Is(value, kOr) || !Is(Operand(value, 0), kAnd) || !Is(Operand(value, 1), kAnd)) return false;
  if (llvm_.is_null(Operand(Operand(value, 0), 0)) == 0) return false;
  LLVMValueRef inside = Operand(value, 1);
  for (unsigned lane = 0; lane < LanesOf(inside); ++lane) {
    const Word word = SourceOf(Operand(inside, 0), lane);
    if (word.vector == nullptr || word.place != channel || !IsTexel(word.vector, lane, fetch)) {
      return false;
    }
  }
  return LanesOf(inside) == LanesOf(fetch.index) && IsNot(Operand(inside, 1), fetch.mask);
}

// load <4 x i32>, base + offset
bool LaneFetches::IsTexel(LLVMValueRef value, unsigned lane, Fetch& fetch) const {
  if (!Is(value, kLoad)) return false;
  LLVMTypeRef type = llvm_.type_of(value);
  if (llvm_.get_type_kind(type) != kVectorType || llvm_.get_vector_size(type) != kChannels ||
      llvm_.get_element_type(type) != build_.int32()) {
    return false;
  }
  LLVMValueRef address = Uncast(Operand(value, 0));
  return Is(address, kGetElementPtr) && llvm_.get_num_operands(address) == 2 &&
         IsSame(fetch.base, Operand(address, 0)) && IsOffset(Operand(address, 1), lane, fetch);
}

bool LaneFetches::IsOffset(LLVMValueRef value, unsigned lane, Fetch& fetch) const {
  if (!Is(value, kExtractElement) || llvm_.type_of(value) != build_.int32() ||
      llvm_.is_constant_int(Operand(value, 1)) == nullptr) {
    return false;
  }
  const auto place = llvm_.get_int_value(Operand(value, 1));
  if (place >= LanesOf(Operand(value, 0))) return false;
  const Word word = SourceOf(Operand(value, 0), static_cast<unsigned>(place));
  return word.vector != nullptr && word.place == lane && IsOffsets(word.vector, fetch);
}

// and (mul index, 16), (not mask)
bool LaneFetches::IsOffsets(LLVMValueRef value, Fetch& fetch) const {
  if (!Is(value, kAnd) || !Is(Operand(value, 0), kMul)) return false;
  LLVMValueRef product = Operand(value, 0);
  LLVMValueRef factor = Operand(product, 1);
  if (!HasOneElement(llvm_, factor) || llvm_.is_null(factor) != 0 ||
      llvm_.get_int_value(llvm_.get_element_as_constant(factor, 0)) != kTexelBytes) {
    return false;
  }
  if (!IsSame(fetch.index, Operand(product, 0))) return false;
  LLVMValueRef inside = Operand(value, 1);
  if (!Is(inside, kXor) || !IsSame(fetch.mask, Operand(inside, 0))) return false;
  return IsNot(inside, fetch.mask) && IsMask(fetch.mask, fetch);
}

// or (or 0, (sext (icmp slt index, 0))), (sext (icmp sge index, (splat texels)))
bool LaneFetches::IsMask(LLVMValueRef value, Fetch& fetch) const {
  if (!Is(value, kOr) || !Is(Operand(value, 0), kOr) || !Is(Operand(value, 1), kSExt)) return false;
  LLVMValueRef before = Operand(Operand(value, 0), 1);
  if (llvm_.is_null(Operand(Operand(value, 0), 0)) == 0 || !Is(before, kSExt)) return false;
  LLVMValueRef is_before = Operand(before, 0);
  LLVMValueRef is_behind = Operand(Operand(value, 1), 0);
  if (!Is(is_before, kICmp) || llvm_.get_predicate(is_before) != kSignedLess ||
      Operand(is_before, 0) != fetch.index || llvm_.is_null(Operand(is_before, 1)) == 0) {
    return false;
  }
  if (!Is(is_behind, kICmp) || llvm_.get_predicate(is_behind) != kSignedGreaterOrEqual ||
      Operand(is_behind, 0) != fetch.index) {
    return false;
  }
  LLVMValueRef texels = Operand(is_behind, 1);
  if (!Is(texels, kShuffleVector)) return false;
  for (unsigned lane = 0; lane < LanesOf(texels); ++lane) {
    if (llvm_.get_mask_value(texels, lane) != 0) return false;
  }
  LLVMValueRef first = Operand(texels, 0);
  return Is(first, kInsertElement) && llvm_.is_null(Operand(first, 2)) != 0 &&
         IsSame(fetch.texels, Operand(first, 1));
}

bool LaneFetches::IsNot(LLVMValueRef value, LLVMValueRef mask) const {
  return Is(value, kXor) && Operand(value, 0) == mask &&
         Operand(value, 1) == llvm_.const_all_ones(llvm_.type_of(mask));
}

LaneFetches::Word LaneFetches::SourceOf(LLVMValueRef value, unsigned place) const {
  value = Uncast(value);
  while (Is(value, kShuffleVector)) {
    const unsigned words = WordsOfElement(llvm_.type_of(value));
    if (words == 0) return {};
    const int element = llvm_.get_mask_value(value, place / words);
    if (element < 0) return {};
    const auto from = static_cast<unsigned>(element);
    const unsigned count = LanesOf(Operand(value, 0));
    place = from % count * words + place % words;
    value = Uncast(Operand(value, from / count));
  }
  return {value, place};
}

unsigned LaneFetches::WordsOfElement(LLVMTypeRef vector) const {
  LLVMTypeRef element = llvm_.get_element_type(vector);
  if (llvm_.get_type_kind(element) != kIntegerType) return 0;
  return llvm_.get_int_width(element) % kWordBits == 0 ? llvm_.get_int_width(element) / kWordBits
                                                       : 0;
}

void LaneFetches::Shorten(LLVMValueRef function, const Fetch& fetch) {
  LLVMBasicBlockRef entry = llvm_.insert_block(context_, fetch.block, "look");
  LLVMBasicBlockRef following = build_.NewBlock(function, "following");
  LLVMBuilderRef builder = build_.get();
  llvm_.position_at_end(builder, entry);
  LLVMValueRef base = CopyOf(fetch.base, fetch);
  LLVMValueRef beyond = CopyOf(fetch.mask, fetch);
  LLVMValueRef are_inside =
      llvm_.build_comparison(builder, kEqual, beyond, llvm_.const_null(llvm_.type_of(beyond)), "");
  const unsigned run = LaneBuilder::LanesOfRun(LanesOf(fetch.index), kChannels);
  LLVMValueRef follow =
      llvm_.build_and(builder, build_.Follow(fetch.index, run, 1), are_inside, "");
  build_.BranchLikely(build_.AreAll(follow), following, fetch.block, kFollowing);

  llvm_.position_at_end(builder, following);
  const std::vector<LLVMValueRef> channels = LoadChannels(base, fetch.index);
  LLVMTypeRef type = llvm_.type_of(Operand(llvm_.get_terminator(fetch.block), 0));
  llvm_.build_value_return(builder, ResultOf(channels, type));

  constexpr std::string_view kAlways = "alwaysinline";
  const unsigned kind = llvm_.get_attribute_kind(kAlways.data(), kAlways.size());
  constexpr unsigned kOfTheFunction = 0xffffffff;
  llvm_.add_attribute(function, kOfTheFunction, llvm_.create_attribute(context_, kind, 0));
}

std::vector<LLVMValueRef> LaneFetches::FindUniformCalls(LLVMValueRef function,
                                                        const Fetch& fetch) const {
  std::vector<LLVMValueRef> calls;
  const unsigned index = IndexOf(fetch.index, function);
  if (index == llvm_.count_parameters(function)) return calls;
  for (auto* use = llvm_.get_first_use(function); use != nullptr; use = llvm_.get_next_use(use)) {
    LLVMValueRef call = llvm_.get_user(use);
    const bool calls_it = Is(call, kCall) && llvm_.get_called(call) == function;
    if (calls_it && steps_.IsUniform(Operand(call, index))) calls.push_back(call);
  }
  return calls;
}

unsigned LaneFetches::IndexOf(LLVMValueRef parameter, LLVMValueRef function) const {
  const unsigned count = llvm_.count_parameters(function);
  unsigned index = 0;
  while (index < count && llvm_.get_parameter(function, index) != parameter) ++index;
  return index;
}

std::vector<LaneFetches::Run> LaneFetches::FindRuns(LLVMValueRef function, const Fetch& fetch) {
  const unsigned index = IndexOf(fetch.index, function);
  std::vector<Member> members;
  for (LLVMValueRef call : FindUniformCalls(function, fetch)) {
    const LaneSteps::Sum sum = steps_.SumOf(Operand(call, index));
    LLVMValueRef caller = llvm_.get_function(llvm_.get_block(call));
    members.push_back({call, sum.root, sum.number, OrderIn(caller).PlaceOf(call)});
  }
  std::ranges::sort(members, {},
                    [](const Member& member) { return member.order ? member.order->number : 0; });
  return JoinRuns(members, [&](const Run& run) { return IsRun(run, index); });
}

const AccessOrder& LaneFetches::OrderIn(LLVMValueRef function) {
  const auto found = orders_.find(function);
  if (found != orders_.end()) return found->second;
  const AccessOrder::Loads loads = LaneLoads(llvm_, module_).LoadsOf(function);
  return orders_.emplace(function, AccessOrder(llvm_, function, loads)).first->second;
}

bool LaneFetches::IsRun(const Run& run, unsigned index) const {
  const Member& first = run.front();
  const Member& last = run.back();
  const bool is_behind = first.order && last.order && first.order->run == last.order->run;
  if (!is_behind || first.root != last.root ||
      llvm_.get_function(llvm_.get_block(first.call)) !=
          llvm_.get_function(llvm_.get_block(last.call))) {
    return false;
  }
  for (int i = 0; i < llvm_.get_num_operands(last.call); ++i) {
    const auto operand = static_cast<unsigned>(i);
    if (operand != index && Operand(first.call, operand) != Operand(last.call, operand)) {
      return false;
    }
  }
  return SpanOfConstants(run) < kRunTexelsMax;
}

void LaneFetches::LoadOne(LLVMValueRef call, LLVMValueRef function, const Fetch& fetch) {
  LLVMValueRef index = build_.Scalar(Operand(call, IndexOf(fetch.index, function)), 0, call);
  LLVMValueRef base = CopyFor(call, fetch.base, function);
  LLVMValueRef texels = CopyFor(call, fetch.texels, function);
  ReplaceByTexel(call, AddressInside(base, texels, index), fetch);
}

void LaneFetches::LoadRun(const Run& run, LLVMValueRef function, const Fetch& fetch) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef call = run.front().call;
  LLVMValueRef caller = llvm_.get_function(llvm_.get_block(call));
  LLVMTypeRef pointer = llvm_.pointer_type(build_.int32(), 0);
  const uint32_t count = SpanOfConstants(run) + 1;
  LLVMValueRef copies = build_.NewVariables(caller, build_.int32(), kChannels * count);
  LLVMValueRef variable = build_.NewVariables(caller, pointer, 1);

  LLVMBasicBlockRef before = llvm_.get_block(call);
  LLVMValueRef root = build_.Scalar(run.front().root, 0, call);
  LLVMBasicBlockRef inside = SplitBefore(call);
  LLVMBasicBlockRef partly = build_.NewBlock(caller, "partly");
  llvm_.position_at_end(builder, before);
  LLVMValueRef base = CopyFor(call, fetch.base, function);
  LLVMValueRef texels = CopyFor(call, fetch.texels, function);
  LLVMValueRef first = llvm_.build_add(builder, root, build_.Number(FirstConstant(run)), "");
  first = llvm_.build_zext(builder, first, build_.int64(), "");
  llvm_.build_store(builder, AddressOf(base, first), variable);
  build_.BranchLikely(build_.IsRunInside(first, count, texels), inside, partly, kFollowing);

  llvm_.position_at_end(builder, partly);
  LLVMTypeRef texel = llvm_.vector_type(build_.int32(), kChannels);
  const auto as_texel = [&](LLVMValueRef address) {
    return llvm_.build_bitcast(builder, address, llvm_.pointer_type(texel, 0), "");
  };
  for (const Member& member : run) {
    LLVMValueRef index = llvm_.build_add(builder, root, build_.Number(member.constant), "");
    LLVMValueRef from = as_texel(AddressInside(base, texels, index));
    LLVMValueRef loaded = llvm_.build_load(builder, texel, from, "");
    llvm_.set_alignment(loaded, kWordBytes);
    LLVMValueRef to =
        as_texel(AddressOf(copies, build_.WideNumber(member.constant - FirstConstant(run))));
    llvm_.set_alignment(llvm_.build_store(builder, loaded, to), kWordBytes);
  }
  llvm_.build_store(builder, copies, variable);
  llvm_.build_jump(builder, inside);

  for (const Member& member : run) {
    llvm_.position_before(builder, member.call);
    LLVMValueRef start = llvm_.build_load(builder, pointer, variable, "");
    LLVMValueRef place = build_.WideNumber(member.constant - FirstConstant(run));
    ReplaceByTexel(member.call, AddressOf(start, place), fetch);
  }
}

LLVMValueRef LaneFetches::AddressOf(LLVMValueRef base, LLVMValueRef index) {
  LLVMBuilderRef builder = build_.get();
  LLVMTypeRef byte = llvm_.int_type(context_, 8);
  LLVMValueRef bytes = llvm_.build_bitcast(builder, base, llvm_.pointer_type(byte, 0), "");
  LLVMValueRef offset = llvm_.build_mul(builder, index, build_.WideNumber(kTexelBytes), "");
  LLVMValueRef texel = llvm_.build_address(builder, byte, bytes, &offset, 1, "");
  return llvm_.build_bitcast(builder, texel, llvm_.pointer_type(build_.int32(), 0), "");
}

LLVMValueRef LaneFetches::AddressInside(LLVMValueRef base, LLVMValueRef texels,
                                        LLVMValueRef index) {
  LLVMBuilderRef builder = build_.get();
  LLVMValueRef is_inside = llvm_.build_comparison(builder, kUnsignedLess, index, texels, "");
  LLVMValueRef texel = AddressOf(base, llvm_.build_zext(builder, index, build_.int64(), ""));
  return llvm_.build_select(builder, is_inside, texel, build_.Zeros(build_.int32()), "");
}

void LaneFetches::ReplaceByTexel(LLVMValueRef call, LLVMValueRef address, const Fetch& fetch) {
  LLVMBuilderRef builder = build_.get();
  std::vector<LLVMValueRef> channels;
  for (unsigned channel = 0; channel < kChannels; ++channel) {
    LLVMValueRef number = build_.Number(channel);
    LLVMValueRef place = llvm_.build_address(builder, build_.int32(), address, &number, 1, "");
    LLVMValueRef word = llvm_.build_load(builder, build_.int32(), place, "");
    channels.push_back(build_.Splat(word, LanesOf(fetch.index)));
  }
  LLVMTypeRef type = llvm_.type_of(Operand(llvm_.get_terminator(fetch.block), 0));
  llvm_.replace_all_uses(call, ResultOf(channels, type));
  llvm_.erase(call);
}

LLVMValueRef LaneFetches::CopyFor(LLVMValueRef call, LLVMValueRef value, LLVMValueRef function) {
  return build_.Copy(value, [&](LLVMValueRef part) -> LLVMValueRef {
    if (llvm_.is_instruction(part) != nullptr) return nullptr;
    for (unsigned i = 0; i < llvm_.count_parameters(function); ++i) {
      if (part == llvm_.get_parameter(function, i)) return Operand(call, i);
    }
    return part;
  });
}

LLVMBasicBlockRef LaneFetches::SplitBefore(LLVMValueRef instruction) {
  LLVMBasicBlockRef rest =
      build_.NewBlock(llvm_.get_function(llvm_.get_block(instruction)), "inside");
  llvm_.position_at_end(build_.get(), rest);
  while (instruction != nullptr) {
    LLVMValueRef next = llvm_.get_next_instruction(instruction);
    llvm_.remove(instruction);
    llvm_.insert(build_.get(), instruction);
    instruction = next;
  }
  return rest;
}

LLVMValueRef LaneFetches::ResultOf(const std::vector<LLVMValueRef>& channels, LLVMTypeRef type) {
  LLVMBuilderRef builder = build_.get();
  LLVMTypeRef channel_type = llvm_.get_struct_element(type, 0);
  LLVMValueRef result = llvm_.get_undef(type);
  for (unsigned channel = 0; channel < kChannels; ++channel) {
    LLVMValueRef value = llvm_.build_bitcast(builder, channels[channel], channel_type, "");
    result = llvm_.build_insert_value(builder, result, value, channel, "");
  }
  return result;
}

std::vector<LLVMValueRef> LaneFetches::LoadChannels(LLVMValueRef base, LLVMValueRef index) {
  LLVMBuilderRef builder = build_.get();
  const unsigned lanes = LanesOf(index);
  const unsigned run = LaneBuilder::LanesOfRun(lanes, kChannels);
  LLVMTypeRef some = llvm_.vector_type(build_.int32(), lanes);
  const unsigned vectors = kChannels * run / lanes;
  std::vector<LLVMValueRef> quads;
  for (unsigned lane = 0; lane < lanes; lane += run) {
    LLVMValueRef first = llvm_.build_zext(builder, build_.Element(index, lane), build_.int64(), "");
    LLVMValueRef offset = llvm_.build_mul(builder, first, build_.WideNumber(kTexelBytes), "");
    LLVMTypeRef byte = llvm_.int_type(context_, 8);
    LLVMValueRef address = llvm_.build_address(builder, byte, base, &offset, 1, "");
    address = llvm_.build_bitcast(builder, address, llvm_.pointer_type(some, 0), "");
    for (unsigned i = 0; i < vectors; ++i) {
      LLVMValueRef number = build_.Number(i);
      LLVMValueRef place = llvm_.build_address(builder, some, address, &number, 1, "");
      quads.push_back(llvm_.build_load(builder, some, place, ""));
      llvm_.set_alignment(quads.back(), kTexelBytes);
    }
  }
  return build_.ElementsOf(quads);
}

LLVMValueRef LaneFetches::CopyOf(LLVMValueRef value, const Fetch& fetch) {
  return build_.Copy(value, [&](LLVMValueRef part) -> LLVMValueRef {
    const bool is_inside =
        llvm_.is_instruction(part) != nullptr && llvm_.get_block(part) == fetch.block;
    return is_inside ? nullptr : part;
  });
}

}  // namespace webnnd

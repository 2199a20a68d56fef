#include "base/drivers_llvm/lane_fetches.h"

#include <string_view>

namespace webnnd {
namespace {

constexpr unsigned kLanes = 8;
constexpr unsigned kChannels = 4;
constexpr unsigned kTexelBytes = 16;
constexpr unsigned kFollowing = 16;  // Times as often as not: see LaneBuilder::BranchLikely.

}  // namespace

void LaneFetches::Shorten() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    Fetch fetch = {};
    if (Read(f, fetch)) Shorten(f, fetch);
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
  LLVMValueRef all = Uncast(Operand(inside, 0));
  if (!Is(all, kShuffleVector)) return false;
  const bool is_even = channel % 2 == 0;
  if (is_even ? !HasMask(all, {0, 4, 2, 6}) : !HasMask(all, {1, 5, 3, 7})) return false;
  return IsHalf(Uncast(Operand(all, 0)), 0, channel, fetch) &&
         IsHalf(Uncast(Operand(all, 1)), 2, channel, fetch) &&
         IsNot(Operand(inside, 1), fetch.mask);
}

// Two channels of lanes `lane`, `lane` + 1, and of the fourth behind each.
bool LaneFetches::IsHalf(LLVMValueRef value, unsigned lane, unsigned channel, Fetch& fetch) const {
  if (!Is(value, kShuffleVector)) return false;
  const bool is_low = channel < 2;
  if (is_low ? !HasMask(value, {0, 8, 1, 9, 4, 12, 5, 13})
             : !HasMask(value, {2, 10, 3, 11, 6, 14, 7, 15})) {
    return false;
  }
  return IsPair(Operand(value, 0), lane, fetch) && IsPair(Operand(value, 1), lane + 1, fetch);
}

// The texels of a lane and of the fourth behind it.
bool LaneFetches::IsPair(LLVMValueRef value, unsigned lane, Fetch& fetch) const {
  return Is(value, kShuffleVector) && HasMask(value, {0, 1, 2, 3, 4, 5, 6, 7}) &&
         IsTexel(Operand(value, 0), lane, fetch) &&
         IsTexel(Operand(value, 1), lane + kLanes / 2, fetch);
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

// Element of (and (mul index, 16), (not mask)), by way of a shuffle.
bool LaneFetches::IsOffset(LLVMValueRef value, unsigned lane, Fetch& fetch) const {
  if (!Is(value, kExtractElement) || llvm_.is_constant_int(Operand(value, 1)) == nullptr) {
    return false;
  }
  LLVMValueRef some = Operand(value, 0);
  const auto place = static_cast<unsigned>(llvm_.get_int_value(Operand(value, 1)));
  if (!Is(some, kShuffleVector) || place >= llvm_.get_num_mask_elements(some) ||
      llvm_.get_mask_value(some, place) != static_cast<int>(lane)) {
    return false;
  }
  LLVMValueRef offsets = Operand(some, 0);
  if (!Is(offsets, kAnd) || !Is(Operand(offsets, 0), kMul)) return false;
  LLVMValueRef product = Operand(offsets, 0);
  LLVMValueRef factor = Operand(product, 1);
  if (!HasOneElement(llvm_, factor) || llvm_.is_null(factor) != 0 ||
      llvm_.get_int_value(llvm_.get_element_as_constant(factor, 0)) != kTexelBytes) {
    return false;
  }
  if (!IsSame(fetch.index, Operand(product, 0))) return false;
  LLVMValueRef inside = Operand(offsets, 1);
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
  if (!Is(texels, kShuffleVector) || !HasMask(texels, {0, 0, 0, 0, 0, 0, 0, 0})) return false;
  LLVMValueRef first = Operand(texels, 0);
  return Is(first, kInsertElement) && llvm_.is_null(Operand(first, 2)) != 0 &&
         IsSame(fetch.texels, Operand(first, 1));
}

bool LaneFetches::HasMask(LLVMValueRef shuffle, std::initializer_list<int> mask) const {
  if (llvm_.get_num_mask_elements(shuffle) != mask.size()) return false;
  unsigned place = 0;
  for (int element : mask) {
    if (llvm_.get_mask_value(shuffle, place++) != element) return false;
  }
  return true;
}

bool LaneFetches::IsNot(LLVMValueRef value, LLVMValueRef mask) const {
  return Is(value, kXor) && Operand(value, 0) == mask &&
         Operand(value, 1) == llvm_.const_all_ones(llvm_.type_of(mask));
}

void LaneFetches::Shorten(LLVMValueRef function, const Fetch& fetch) {
  LLVMBasicBlockRef entry = llvm_.insert_block(context_, fetch.block, "look");
  LLVMBasicBlockRef following = build_.NewBlock(function, "following");
  LLVMBuilderRef builder = build_.get();
  llvm_.position_at_end(builder, entry);
  LLVMValueRef texels = CopyOf(fetch.texels, fetch);
  LLVMValueRef base = CopyOf(fetch.base, fetch);
  // In 64 bits, where none before the first texel is below the last one.
  LLVMValueRef first =
      llvm_.build_zext(builder, build_.Element(fetch.index, 0), build_.int64(), "");
  LLVMValueRef end = llvm_.build_add(builder, first, build_.WideNumber(kLanes), "");
  LLVMValueRef are_inside = llvm_.build_comparison(
      builder, kSignedLessOrEqual, end, llvm_.build_sext(builder, texels, build_.int64(), ""), "");
  LLVMValueRef follow = llvm_.build_and(builder, build_.Follow(fetch.index, 1), are_inside, "");
  build_.BranchLikely(follow, following, fetch.block, kFollowing);

  llvm_.position_at_end(builder, following);
  LLVMValueRef offset = llvm_.build_mul(builder, first, build_.WideNumber(kTexelBytes), "");
  LLVMTypeRef byte = llvm_.int_type(context_, 8);
  LLVMValueRef address = llvm_.build_address(builder, byte, base, &offset, 1, "");
  const std::vector<LLVMValueRef> channels = LoadChannels(address);
  LLVMTypeRef type = llvm_.type_of(Operand(llvm_.get_terminator(fetch.block), 0));
  LLVMTypeRef channel_type = llvm_.get_struct_element(type, 0);
  LLVMValueRef result = llvm_.get_undef(type);
  for (unsigned channel = 0; channel < kChannels; ++channel) {
    LLVMValueRef value = llvm_.build_bitcast(builder, channels[channel], channel_type, "");
    result = llvm_.build_insert_value(builder, result, value, channel, "");
  }
  llvm_.build_value_return(builder, result);

  constexpr std::string_view kAlways = "alwaysinline";
  const unsigned kind = llvm_.get_attribute_kind(kAlways.data(), kAlways.size());
  constexpr unsigned kOfTheFunction = 0xffffffff;
  llvm_.add_attribute(function, kOfTheFunction, llvm_.create_attribute(context_, kind, 0));
}

std::vector<LLVMValueRef> LaneFetches::LoadChannels(LLVMValueRef address) {
  LLVMBuilderRef builder = build_.get();
  LLVMTypeRef texel = llvm_.vector_type(build_.int32(), kChannels);
  address = llvm_.build_bitcast(builder, address, llvm_.pointer_type(texel, 0), "");
  std::vector<LLVMValueRef> texels;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    LLVMValueRef number = build_.Number(lane);
    LLVMValueRef place = llvm_.build_address(builder, texel, address, &number, 1, "");
    texels.push_back(llvm_.build_load(builder, texel, place, ""));
    llvm_.set_alignment(texels.back(), kTexelBytes);
  }
  std::vector<LLVMValueRef> pairs;
  for (unsigned lane = 0; lane < kLanes / 2; ++lane) {
    pairs.push_back(
        build_.Shuffle(texels[lane], texels[lane + kLanes / 2], {0, 1, 2, 3, 4, 5, 6, 7}));
  }
  return build_.Transpose(pairs);
}

LLVMValueRef LaneFetches::CopyOf(LLVMValueRef value, const Fetch& fetch) {
  return build_.Copy(value, [&](LLVMValueRef part) -> LLVMValueRef {
    const bool is_inside =
        llvm_.is_instruction(part) != nullptr && llvm_.get_block(part) == fetch.block;
    return is_inside ? nullptr : part;
  });
}

}  // namespace webnnd

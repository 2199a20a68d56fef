#include "base/drivers_llvm/lane_builder.h"

#include <string_view>

namespace webnnd {

LLVMValueRef LaneBuilder::Shuffle(LLVMValueRef a, LLVMValueRef b,
                                  const std::vector<unsigned>& elements) const {
  std::vector<LLVMValueRef> mask;
  mask.reserve(elements.size());
  for (unsigned element : elements) mask.push_back(Number(element));
  return llvm_.build_shuffle(
      builder_, a, b, llvm_.const_vector(mask.data(), static_cast<unsigned>(mask.size())), "");
}

LLVMValueRef LaneBuilder::Splat(LLVMValueRef scalar, unsigned lanes) const {
  LLVMValueRef none = llvm_.get_undef(llvm_.vector_type(llvm_.type_of(scalar), lanes));
  LLVMValueRef one = llvm_.build_insert(builder_, none, scalar, Number(0), "");
  return Shuffle(one, one, std::vector<unsigned>(lanes, 0));
}

LLVMValueRef LaneBuilder::AreAll(LLVMValueRef bits) const {
  LLVMTypeRef integer = llvm_.int_type(context_, llvm_.get_vector_size(llvm_.type_of(bits)));
  return llvm_.build_comparison(builder_, kEqual, llvm_.build_bitcast(builder_, bits, integer, ""),
                                llvm_.const_all_ones(integer), "");
}

LLVMValueRef LaneBuilder::Follow(LLVMValueRef numbers, unsigned step) const {
  const unsigned lanes = llvm_.get_vector_size(llvm_.type_of(numbers));
  std::vector<LLVMValueRef> steps;
  for (unsigned i = 0; i < lanes; ++i) steps.push_back(Number(i * step));
  LLVMValueRef following = llvm_.build_add(builder_, Splat(Element(numbers, 0), lanes),
                                           llvm_.const_vector(steps.data(), lanes), "");
  return AreAll(llvm_.build_comparison(builder_, kEqual, numbers, following, ""));
}

std::vector<LLVMValueRef> LaneBuilder::Transpose(const std::vector<LLVMValueRef>& fours) const {
  // As x86's unpack instructions do, in each half of a vector.
  const std::vector<unsigned> low = {0, 8, 1, 9, 4, 12, 5, 13};
  const std::vector<unsigned> high = {2, 10, 3, 11, 6, 14, 7, 15};
  std::vector<LLVMValueRef> transposed;
  for (const auto& half : {low, high}) {
    LLVMValueRef first = Shuffle(fours[0], fours[1], half);
    LLVMValueRef second = Shuffle(fours[2], fours[3], half);
    transposed.push_back(Shuffle(first, second, {0, 1, 8, 9, 4, 5, 12, 13}));
    transposed.push_back(Shuffle(first, second, {2, 3, 10, 11, 6, 7, 14, 15}));
  }
  return transposed;
}

void LaneBuilder::BranchLikely(LLVMValueRef condition, LLVMBasicBlockRef likely,
                               LLVMBasicBlockRef otherwise, unsigned times) const {
  LLVMValueRef branch = llvm_.build_branch(builder_, condition, likely, otherwise);
  constexpr std::string_view kWeights = "branch_weights";
  constexpr std::string_view kKind = "prof";
  LLVMMetadataRef weights[] = {llvm_.metadata_string(context_, kWeights.data(), kWeights.size()),
                               llvm_.metadata_of(Number(times)), llvm_.metadata_of(Number(1))};
  llvm_.set_metadata(branch, llvm_.get_metadata_kind(context_, kKind.data(), kKind.size()),
                     llvm_.metadata_as_value(context_, llvm_.metadata_node(context_, weights, 3)));
}

}  // namespace webnnd

#include "base/drivers_llvm/lane_builder.h"

#include <string_view>

namespace webnnd {
namespace {

constexpr unsigned kQuad = 4;

// As many as vectors of 256 bits have, of which processors unpack halves, and permute elements of
// two only with AVX-512.
constexpr unsigned kLanesOfHalves = 8;

// first, first + 1, ... first + count - 1, and the same from `second` on.
std::vector<unsigned> Runs(unsigned first, unsigned second, unsigned count) {
  std::vector<unsigned> elements;
  for (unsigned from : {first, second}) {
    for (unsigned i = 0; i < count; ++i) elements.push_back(from + i);
  }
  return elements;
}

}  // namespace

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

LLVMValueRef LaneBuilder::Part(LLVMValueRef vector, unsigned first, unsigned count) const {
  std::vector<unsigned> elements;
  for (unsigned i = 0; i < count; ++i) elements.push_back(first + i);
  return Shuffle(vector, vector, elements);
}

LLVMValueRef LaneBuilder::Scalar(LLVMValueRef vector, unsigned lane, LLVMValueRef user) const {
  LLVMValueRef scalar = Scalar(vector, lane, user, 0);
  llvm_.position_before(builder_, user);
  return scalar;
}

LLVMValueRef LaneBuilder::Scalar(LLVMValueRef vector, unsigned lane, LLVMValueRef user,
                                 int depth) const {
  // Further away than what a kernel adds to a lane's number.
  constexpr int kDepthMax = 8;
  const bool is_instruction = llvm_.is_instruction(vector) != nullptr;
  const int opcode = is_instruction ? llvm_.get_opcode(vector) : 0;
  if (opcode == kShuffleVector) {
    const int from = llvm_.get_mask_value(vector, lane);
    LLVMValueRef source = llvm_.get_operand(vector, 0);
    if (from >= 0 && static_cast<unsigned>(from) < llvm_.get_vector_size(llvm_.type_of(source))) {
      return Scalar(source, static_cast<unsigned>(from), user, depth);
    }
  }
  if (opcode == kFreeze) {
    LLVMValueRef scalar = Scalar(llvm_.get_operand(vector, 0), lane, user, depth);
    PositionBehind(vector, user);
    return llvm_.build_freeze(builder_, scalar, "");
  }
  if (opcode == kInsertElement && llvm_.is_constant_int(llvm_.get_operand(vector, 2)) != nullptr) {
    if (llvm_.get_int_value(llvm_.get_operand(vector, 2)) != lane) {
      return Scalar(llvm_.get_operand(vector, 0), lane, user, depth);
    }
    LLVMValueRef element = llvm_.get_operand(vector, 1);
    const bool is_of_vector = llvm_.is_instruction(element) != nullptr &&
                              llvm_.get_opcode(element) == kExtractElement &&
                              llvm_.is_constant_int(llvm_.get_operand(element, 1)) != nullptr;
    if (!is_of_vector) return element;
    const auto from = static_cast<unsigned>(llvm_.get_int_value(llvm_.get_operand(element, 1)));
    return Scalar(llvm_.get_operand(element, 0), from, user, depth);
  }
  const bool is_known = opcode == kAdd || opcode == kSub || opcode == kMul || opcode == kShl ||
                        opcode == kLShr || opcode == kAnd || opcode == kOr;
  // Of another lane than the first, which stands for all of them, to take it is less than to
  // compute it.
  if (!is_known || lane != 0 || depth == kDepthMax) {
    PositionBehind(vector, user);
    return Element(vector, lane);
  }
  LLVMValueRef a = Scalar(llvm_.get_operand(vector, 0), lane, user, depth + 1);
  LLVMValueRef b = Scalar(llvm_.get_operand(vector, 1), lane, user, depth + 1);
  PositionBehind(vector, user);
  return llvm_.build_binary(builder_, opcode, a, b, "");
}

void LaneBuilder::PositionBehind(LLVMValueRef value, LLVMValueRef user) const {
  const bool is_behind_others =
      llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) != kPhi;
  llvm_.position_before(builder_, is_behind_others ? llvm_.get_next_instruction(value) : user);
}

LLVMValueRef LaneBuilder::Zeros(LLVMTypeRef pointed_to) {
  if (zeros_ == nullptr) {
    constexpr unsigned kWords = 4;
    LLVMTypeRef type = llvm_.vector_type(int32_, kWords);
    zeros_ = llvm_.add_global(module_, type, "zeros");
    llvm_.set_initializer(zeros_, llvm_.const_null(type));
    llvm_.set_constant(zeros_, 1);
    llvm_.set_linkage(zeros_, kInternalLinkage);
  }
  return llvm_.build_bitcast(builder_, zeros_, llvm_.pointer_type(pointed_to, 0), "");
}

LLVMValueRef LaneBuilder::IsRunInside(LLVMValueRef first, unsigned count, LLVMValueRef size) const {
  LLVMValueRef has_any =
      llvm_.build_comparison(builder_, kUnsignedGreaterOrEqual, size, Number(count), "");
  LLVMValueRef end = llvm_.build_add(builder_, size, Number(1 - count), "");
  end = llvm_.build_select(builder_, has_any, end, Number(0), "");
  return llvm_.build_comparison(builder_, kUnsignedLess, first,
                                llvm_.build_zext(builder_, end, int64_, ""), "");
}

LLVMValueRef LaneBuilder::NewVariables(LLVMValueRef function, LLVMTypeRef type,
                                       unsigned count) const {
  llvm_.position_before(builder_, llvm_.get_first_instruction(llvm_.get_first_block(function)));
  return llvm_.build_variables(builder_, type, Number(count), "");
}

LLVMValueRef LaneBuilder::AreAll(LLVMValueRef bits) const {
  LLVMTypeRef integer = llvm_.int_type(context_, llvm_.get_vector_size(llvm_.type_of(bits)));
  return llvm_.build_comparison(builder_, kEqual, llvm_.build_bitcast(builder_, bits, integer, ""),
                                llvm_.const_all_ones(integer), "");
}

LLVMValueRef LaneBuilder::Follow(LLVMValueRef numbers, unsigned run, unsigned step) const {
  const unsigned lanes = llvm_.get_vector_size(llvm_.type_of(numbers));
  std::vector<unsigned> first;
  std::vector<LLVMValueRef> steps;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    first.push_back(lane / run * run);
    steps.push_back(Number(lane % run * step));
  }
  LLVMValueRef following = llvm_.build_add(builder_, Shuffle(numbers, numbers, first),
                                           llvm_.const_vector(steps.data(), lanes), "");
  return llvm_.build_comparison(builder_, kEqual, numbers, following, "");
}

std::vector<LLVMValueRef> LaneBuilder::QuadsOf(const std::vector<LLVMValueRef>& elements) const {
  const unsigned lanes = llvm_.get_vector_size(llvm_.type_of(elements[0]));
  const unsigned half = lanes / 2;
  if (lanes == kLanesOfHalves) {
    const std::vector<LLVMValueRef> pairs = TransposeHalves(elements);
    const std::vector<unsigned> low = Runs(0, lanes, half);
    const std::vector<unsigned> high = Runs(half, lanes + half, half);
    return {Shuffle(pairs[0], pairs[1], low), Shuffle(pairs[2], pairs[3], low),
            Shuffle(pairs[0], pairs[1], high), Shuffle(pairs[2], pairs[3], high)};
  }
  std::vector<LLVMValueRef> quads;
  for (unsigned from : {0u, half}) {  // Of this half of the lanes.
    const std::vector<unsigned> lanes_of_two = Runs(from, lanes + from, half);
    LLVMValueRef first = Shuffle(elements[0], elements[1], lanes_of_two);
    LLVMValueRef second = Shuffle(elements[2], elements[3], lanes_of_two);
    for (unsigned quarter : {0u, half / 2}) {
      std::vector<unsigned> order;
      for (unsigned lane = quarter; lane < quarter + half / 2; ++lane) {
        order.insert(order.end(), {lane, half + lane, lanes + lane, lanes + half + lane});
      }
      quads.push_back(Shuffle(first, second, order));
    }
  }
  return quads;
}

std::vector<LLVMValueRef> LaneBuilder::ElementsOf(const std::vector<LLVMValueRef>& quads) const {
  const unsigned lanes = llvm_.get_vector_size(llvm_.type_of(quads[0]));
  const unsigned half = lanes / 2;
  const std::vector<unsigned> low = Runs(0, lanes, half);
  const std::vector<unsigned> high = Runs(half, lanes + half, half);
  if (lanes == kLanesOfHalves) {
    return TransposeHalves({Shuffle(quads[0], quads[2], low), Shuffle(quads[0], quads[2], high),
                            Shuffle(quads[1], quads[3], low), Shuffle(quads[1], quads[3], high)});
  }
  std::vector<LLVMValueRef> elements;
  for (unsigned element : {0u, 2u}) {  // And the next one.
    std::vector<unsigned> order;
    for (unsigned next : {element, element + 1}) {
      for (unsigned i = 0; i < half; ++i) order.push_back(next + kQuad * i);
    }
    LLVMValueRef first = Shuffle(quads[0], quads[1], order);
    LLVMValueRef second = Shuffle(quads[2], quads[3], order);
    elements.push_back(Shuffle(first, second, low));
    elements.push_back(Shuffle(first, second, high));
  }
  return elements;
}

LLVMValueRef LaneBuilder::QuadOf(const std::vector<LLVMValueRef>& quads, unsigned lane) const {
  const unsigned of_each = llvm_.get_vector_size(llvm_.type_of(quads[0])) / kQuad;
  return Part(quads[lane / of_each], lane % of_each * kQuad, kQuad);
}

std::vector<LLVMValueRef> LaneBuilder::TransposeHalves(
    const std::vector<LLVMValueRef>& fours) const {
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

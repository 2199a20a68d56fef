#include "service/passes/lower_matmul_group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/block_gemv.h"
#include "service/passes/gemv.h"
#include "service/passes/matrix_product.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::OperatorKind;

// One product of a group.
struct Member {
  ValueId weights = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;
  ValueId bias = kNoValue;
  ValueId result = kNoValue;  // Of a gated group, the first one's is that of both.
};

std::vector<Member> ListMembers(const Node& node) {
  std::vector<Member> members;
  for (size_t i = 1; i + 3 < node.operands.size(); i += 4) {
    const size_t index = members.size();
    members.push_back({node.operands[i], node.operands[i + 1], node.operands[i + 2],
                       node.operands[i + 3],
                       index < node.results.size() ? node.results[index] : kNoValue});
  }
  return members;
}

template <class GemvKind>
void SetNormalization(const MatmulGroup& macro, const Node& node, GemvKind& gemv) {
  if (!macro.normalizes) return;
  gemv.gain = node.operands.back();
  gemv.epsilon = macro.epsilon;
}

Status LowerByBlock(const MatmulGroup& macro, const Node& node, LoweringBuilder& builder) {
  BlockGemv gemv;
  gemv.x = node.operands[0];
  gemv.gated = macro.gated;
  SetNormalization(macro, node, gemv);
  for (const Member& member : ListMembers(node)) {
    gemv.matrices.push_back(
        {member.weights, member.scale, member.zero_point, member.bias, member.result});
  }
  AddBlockGemvCall(gemv, builder);
  return {};
}

Status LowerRow(const MatmulGroup& macro, const Node& node, uint32_t depth,
                LoweringBuilder& builder) {
  Gemv gemv;
  gemv.x = node.operands[0];
  gemv.depth = depth;
  gemv.gated = macro.gated;
  SetNormalization(macro, node, gemv);
  for (const Member& member : ListMembers(node)) {
    const uint32_t rows = builder.descriptor(member.weights).shape()[0];
    gemv.matrices.push_back(
        {member.weights, member.bias, /*addend_stride=*/1, member.result, rows});
  }
  AddGemvCall(gemv, builder);
  return {};
}

// b is the weights, by block or not.
Product MakeProduct(ValueId x, uint32_t rows, const Member& member, LoweringBuilder& builder) {
  const OperandDescriptor& weights = builder.descriptor(member.weights);
  Product product;
  product.a = x;
  product.b = member.weights;
  product.c = member.bias;
  product.result = member.result;
  product.rows = rows;
  product.columns = weights.shape()[0];
  product.depth = NarrowCast<uint32_t>(weights.element_count() / product.columns);
  product.a_strides = {product.depth, 1};
  product.b_strides = {1, product.depth};
  if (member.bias != kNoValue) {
    const bool is_of_each = builder.descriptor(member.bias).element_count() > product.columns;
    product.c_strides = {is_of_each ? product.columns : 0, 1};
  }
  product.result_strides = {product.columns, 1};
  product.batch = {StridedDimension()};
  return product;
}

// Whether all of the group's weights by block are best unpacked.
bool AllUnpack(const Node& node, uint32_t rows, LoweringBuilder& builder) {
  const std::vector<Member> members = ListMembers(node);
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return UnpacksBlocks(MakeProduct(node.operands[0], rows, member, builder), member.scale,
                         builder);
  });
}

// Many rows keep a kernel busy with one of the weights.
Status LowerRows(const MatmulGroup& macro, const Node& node, uint32_t rows,
                 LoweringBuilder& builder) {
  std::vector<Member> members = ListMembers(node);
  const ValueId result = members[0].result;
  if (macro.gated) {
    const OperandDescriptor descriptor = builder.descriptor(result);
    for (Member& member : members) member.result = builder.AddTemporary(descriptor);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    Product product = MakeProduct(node.operands[0], rows, members[i], builder);
    if (macro.gated && i == 0) {
      product.activation = Activation{.kind = OperatorKind::kSigmoid, .gates = true};
    }
    if (macro.by_block) {
      TRY(AddBlockProduct(product, members[i].scale, members[i].zero_point, builder));
    } else {
      TRY(AddProductCall(product, builder));
    }
  }
  if (!macro.gated) return {};
  Node mul;
  mul.kind = OperatorKind::kMul;
  mul.operands = {members[0].result, members[1].result};
  mul.results = {result};
  return GetLowering(mul.kind)(mul, builder);
}

}  // namespace

Status LowerMatmulGroup(const MatmulGroup& macro, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& x = builder.descriptor(node.operands[0]);
  const OperandDescriptor& weights = builder.descriptor(node.operands[1]);
  const auto depth = NarrowCast<uint32_t>(weights.element_count() / weights.shape()[0]);
  const auto rows = NarrowCast<uint32_t>(x.element_count() / depth);
  if (macro.by_block) {
    const bool unpacks = !macro.normalizes && AllUnpack(node, rows, builder);
    return unpacks ? LowerRows(macro, node, rows, builder) : LowerByBlock(macro, node, builder);
  }
  if (rows == 1 && IsGemvDepth(x.data_type(), depth)) return LowerRow(macro, node, depth, builder);
  CHECK(!macro.normalizes);
  return LowerRows(macro, node, rows, builder);
}

}  // namespace webnnd::service

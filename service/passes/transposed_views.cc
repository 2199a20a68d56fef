#include "service/passes/transposed_views.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

#include "service/passes/epilogue.h"
#include "service/passes/fusion/graph_index.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// Whether the node is lowered as the product of its first two operands.
bool IsProduct(const Node& node) {
  const bool has_sums_first = std::holds_alternative<std::monostate>(node.macro) ||
                              std::holds_alternative<Epilogue>(node.macro);
  return has_sums_first && (node.kind == OperatorKind::kMatmul || node.kind == OperatorKind::kGemm);
}

bool IsTranspose(const Node& node) {
  return std::holds_alternative<std::monostate>(node.macro) &&
         node.kind == OperatorKind::kTranspose;
}

bool LiesPacked(const Shape& shape, std::span<const uint32_t> strides) {
  const std::vector<uint32_t> packed = PackedStrides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && strides[d] != packed[d]) return false;
  }
  return true;
}

// Whether each four elements of a matrix, along one of its dimensions, are an aligned load.
bool LoadsByFour(const Shape& shape, std::span<const uint32_t> strides) {
  const size_t row = shape.size() - 2;
  const size_t along = strides[row + 1] == 1 ? row + 1 : row;
  if (strides[along] != 1 || shape[along] % 4 != 0) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != along && shape[d] != 1 && strides[d] % 4 != 0) return false;
  }
  return true;
}

// Whether products read the view as fast as what it stands for.
bool IsReadable(const Shape& shape, std::span<const uint32_t> strides) {
  if (shape.size() < 2 || LiesPacked(shape, strides)) return false;
  const bool has_lines = strides[shape.size() - 1] == 1 || strides[shape.size() - 2] == 1;
  return has_lines && (LoadsByFour(shape, strides) || !LoadsByFour(shape, PackedStrides(shape)));
}

// Whether products alone need the value, and as matrices.
bool IsOnlyMultiplied(const GraphIndex& index, ValueId value) {
  const std::span<const Node* const> users = index.users(value);
  return !users.empty() && index.use_count(value) == users.size() &&
         std::ranges::all_of(users, [&](const Node* user) {
           return IsProduct(*user) &&
                  std::ranges::count(user->operands.begin() + 2, user->operands.end(), value) == 0;
         });
}

// Whether a product makes the value for nobody but the transpose, and stores its rows as they are.
bool IsOnlyTransposed(const GraphIndex& index, const Node& transpose,
                      std::span<const uint32_t> strides) {
  const ValueId value = transpose.operands[0];
  const Node* maker = index.Maker(value);
  // A residual lies as the product's result does.
  return maker != nullptr && IsProduct(*maker) && maker->kind == OperatorKind::kMatmul &&
         ResidualOf(*maker) == kNoValue && index.use_count(value) == 1 && strides.back() == 1 &&
         !LiesPacked(index.shape(transpose.results[0]), strides);
}

// The dimension of the operand that is dimension `d` of the result.
size_t SourceOf(const Node& transpose, size_t d, size_t rank) {
  const auto& permutation = std::get<webidl::TransposeAttributes>(transpose.attributes).permutation;
  return permutation ? (*permutation)[d] : rank - 1 - d;
}

// The strides of the transpose's result in the order of its operand.
std::vector<uint32_t> StridesInResult(const Node& transpose, const Shape& result) {
  const std::vector<uint32_t> packed = PackedStrides(result);
  std::vector<uint32_t> strides(result.size());
  for (size_t d = 0; d < result.size(); ++d) {
    strides[SourceOf(transpose, d, result.size())] = packed[d];
  }
  return strides;
}

}  // namespace

std::vector<uint32_t> TransposedStrides(const Node& transpose, const Shape& operand) {
  const std::vector<uint32_t> packed = PackedStrides(operand);
  std::vector<uint32_t> strides(operand.size());
  for (size_t d = 0; d < operand.size(); ++d) {
    strides[d] = packed[SourceOf(transpose, d, operand.size())];
  }
  return strides;
}

TransposedViews::TransposedViews(const Graph& graph) : graph_(graph) {
  if (std::ranges::none_of(graph.nodes, IsTranspose)) return;
  const GraphIndex index(graph);
  for (const Node& node : graph.nodes) {
    if (!IsTranspose(node)) continue;
    const ValueId operand = node.operands[0];
    const ValueId result = node.results[0];
    std::vector<uint32_t> strides = TransposedStrides(node, index.shape(operand));
    if (IsReadable(index.shape(result), strides) && IsOnlyMultiplied(index, result)) {
      operands_.emplace(result, StridedView{operand, std::move(strides)});
    } else if (!strides.empty() && IsOnlyTransposed(index, node, strides)) {
      results_.emplace(operand, StridedView{result, StridesInResult(node, index.shape(result))});
    }
  }
}

StridedView TransposedViews::Operand(ValueId matrices) const {
  const auto found = operands_.find(matrices);
  return found != operands_.end() ? found->second : Packed(matrices);
}

StridedView TransposedViews::Result(ValueId result) const {
  const auto found = results_.find(result);
  return found != results_.end() ? found->second : Packed(result);
}

bool TransposedViews::Covers(const Node& node) const {
  return IsTranspose(node) &&
         (operands_.contains(node.results[0]) || results_.contains(node.operands[0]));
}

StridedView TransposedViews::Packed(ValueId value) const {
  return {value, PackedStrides(graph_.values[value].descriptor.shape())};
}

}  // namespace webnnd::service

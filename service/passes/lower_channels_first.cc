#include "service/passes/lower_channels_first.h"

#include <array>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "service/passes/epilogue.h"
#include "service/passes/region_copy.h"

namespace webnnd::service {
namespace {

using webidl::InputOperandLayout;
using webidl::OperandDescriptor;
using webidl::Shape;

constexpr std::array<size_t, 4> kToFirst = {0, 3, 1, 2};
constexpr std::array<size_t, 4> kToLast = {0, 2, 3, 1};

InputOperandLayout& LayoutOf(webidl::OperatorAttributes& attributes) {
  if (auto* pool = std::get_if<webidl::Pool2dAttributes>(&attributes)) return pool->layout;
  if (auto* transposed = std::get_if<webidl::ConvTranspose2dAttributes>(&attributes)) {
    return transposed->input_layout;
  }
  return std::get<webidl::Conv2dAttributes>(attributes).input_layout;
}

// A temporary of the image, with its channels first.
Result<ValueId> AddTemporary(ValueId image, LoweringBuilder& builder) {
  const OperandDescriptor& last = builder.descriptor(image);
  Shape shape;
  for (const size_t dimension : kToFirst) shape.push_back(last.shape()[dimension]);
  ASSIGN_OR_RETURN(auto first, OperandDescriptor::Create(last.data_type(), shape));
  return builder.AddTemporary(std::move(first));
}

// Of the result, dimension d is dimension order[d] of the source.
void AddTranspose(ValueId source, ValueId result, const std::array<size_t, 4>& order,
                  LoweringBuilder& builder) {
  const std::vector<uint32_t> strides = PackedStrides(builder.descriptor(source).shape());
  std::vector<std::vector<uint32_t>> source_strides(1);
  for (const size_t dimension : order) source_strides[0].push_back(strides[dimension]);
  AddRegionCopy({.source = source,
                 .result = result,
                 .dimensions = MakeDimensions(builder.descriptor(result).shape(), source_strides)},
                builder);
}

Result<ValueId> AddTransposed(ValueId image, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const ValueId first, AddTemporary(image, builder));
  AddTranspose(image, first, kToFirst, builder);
  return first;
}

}  // namespace

Status LowerChannelsFirst(const Node& node, LowerFunction lower, LoweringBuilder& builder) {
  Node first = node;
  InputOperandLayout& layout = LayoutOf(first.attributes);
  CHECK(layout == InputOperandLayout::kNhwc);
  layout = InputOperandLayout::kNchw;
  ASSIGN_OR_RETURN(first.operands[0], AddTransposed(node.operands[0], builder));
  if (const ValueId residual = ResidualOf(node); residual != kNoValue) {
    ASSIGN_OR_RETURN(first.operands[3], AddTransposed(residual, builder));
  }
  ASSIGN_OR_RETURN(first.results[0], AddTemporary(node.results[0], builder));
  TRY(lower(first, builder));
  AddTranspose(first.results[0], node.results[0], kToLast, builder);
  return {};
}

}  // namespace webnnd::service

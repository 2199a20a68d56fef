#include "service/passes/lower_quantize.h"

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDescriptor;
using webidl::Shape;

// Elements of which an invocation of dequantize.comp may compute all at once.
constexpr uint32_t kGroup = 8;

// The dimensions of `shape`, each in two: blocks, along which `scale` has a stride, and the
// elements of a block, along which it has none. A scale of lower rank lacks leading dimensions.
std::vector<StridedDimension> BlockDimensions(const Shape& shape, Shape scale) {
  scale.insert(scale.begin(), shape.size() - scale.size(), 1);
  std::vector<uint32_t> strides = PackedStrides(scale);
  std::vector<StridedDimension> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    dimensions.push_back({scale[d], {strides[d]}});
    dimensions.push_back({shape[d] / scale[d], {0}});
  }
  return Coalesce(dimensions);
}

LoweredCall MakeCall(ShaderId shader, const Node& node, const LoweringBuilder& builder,
                     const std::vector<StridedDimension>& dimensions) {
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  LoweredCall call;
  call.shader = shader;
  call.parameters = {NarrowCast<uint32_t>(result.element_count()),
                     static_cast<uint32_t>(dimensions.size()), 0, 0};
  AppendDimensions(dimensions, call.parameters);
  for (ValueId operand : node.operands) {
    call.specialization.push_back(static_cast<uint32_t>(builder.descriptor(operand).data_type()));
    call.buffers.push_back({operand, false});
    call.cost += builder.descriptor(operand).byte_length();
  }
  call.specialization.push_back(static_cast<uint32_t>(result.data_type()));
  call.buffers.push_back({node.results[0], true});
  call.cost += result.byte_length();
  call.invocations = StoreUnits(result);
  return call;
}

}  // namespace

Status LowerDequantizeLinear(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const Shape& scale = builder.descriptor(node.operands[1]).shape();
  std::vector<StridedDimension> dimensions = BlockDimensions(input.shape(), scale);
  LoweredCall call = MakeCall(ShaderId::kDequantize, node, builder, dimensions);
  const StridedDimension& innermost = dimensions.back();
  bool by_group = webidl::BitsPerElement(input.data_type()) <= 8 && innermost.strides[0] == 0 &&
                  innermost.size % kGroup == 0;
  call.specialization.push_back(by_group);
  if (by_group) call.invocations = input.element_count() / kGroup;
  builder.AddCall(std::move(call));
  return {};
}

Status LowerQuantizeLinear(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const Shape& scale = builder.descriptor(node.operands[1]).shape();
  builder.AddCall(
      MakeCall(ShaderId::kQuantize, node, builder, BlockDimensions(input.shape(), scale)));
  return {};
}

}  // namespace webnnd::service

#include "service/passes/lower_quantize.h"

#include <utility>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDescriptor;
using webidl::Shape;

// Whether groups of so many elements, from multiples of it on, lie in one block
// of a narrow type.
bool HasGroups(webidl::OperandDataType type, const StridedDimension& innermost, uint32_t group) {
  return webidl::BitsPerElement(type) <= 8 && innermost.strides[0] == 0 &&
         innermost.size % group == 0;
}

// Quads of the result that an invocation of dequantize.comp computes on GPUs (kQuadsAtOnce).
constexpr uint32_t kQuadsAtOnce = 4;

// Elements of which an invocation of dequantize.comp may compute all at once; 0: of none. On GPUs
// those of a quad of the result.
uint32_t DequantizedGroup(webidl::OperandDataType type, webidl::OperandDataType result_type,
                          const StridedDimension& innermost, bool wide) {
  if (wide) return HasGroups(type, innermost, PerQuad(result_type)) ? PerQuad(result_type) : 0;
  for (uint32_t group : {PerQuad(type), 8u}) {
    if (HasGroups(type, innermost, group)) return group;
  }
  return 0;
}

// The dimensions of `shape`, each in two: blocks, along which `scale` has a
// stride, and the elements of a block, along which it has none. A scale of
// lower rank lacks leading dimensions.
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

bool HasOneBlock(const std::vector<StridedDimension>& dimensions) {
  return dimensions.size() == 1 && dimensions[0].strides[0] == 0;
}

// Of which an invocation computes `group` elements at once; 0: one.
LoweredCall MakeCall(ShaderId shader, const Node& node, const LoweringBuilder& builder,
                     const std::vector<StridedDimension>& dimensions, uint32_t group) {
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
  call.specialization.insert(call.specialization.end(),
                             {group, RankConstant(dimensions), HasOneBlock(dimensions)});
  call.invocations = group != 0 ? result.element_count() / group : StoreUnits(result);
  return call;
}

}  // namespace

Status LowerDequantizeLinear(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const Shape& scale = builder.descriptor(node.operands[1]).shape();
  std::vector<StridedDimension> dimensions = BlockDimensions(input.shape(), scale);
  const uint32_t group =
      DequantizedGroup(input.data_type(), builder.descriptor(node.results[0]).data_type(),
                       dimensions.back(), builder.wide());
  LoweredCall call = MakeCall(ShaderId::kDequantize, node, builder, dimensions, group);
  if (builder.wide() && group != 0) {
    call.invocations = DivideRoundingUp<uint64_t>(call.invocations, kQuadsAtOnce);
  }
  builder.AddCall(std::move(call));
  return {};
}

Status LowerQuantizeLinear(const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const Shape& scale = builder.descriptor(node.operands[1]).shape();
  std::vector<StridedDimension> dimensions = BlockDimensions(input.shape(), scale);
  const webidl::OperandDataType type = builder.descriptor(node.results[0]).data_type();
  const uint32_t of_word = PerQuad(type) / 4;
  const uint32_t group = HasGroups(type, dimensions.back(), of_word) ? of_word : 0;
  builder.AddCall(MakeCall(ShaderId::kQuantize, node, builder, dimensions, group));
  return {};
}

}  // namespace webnnd::service

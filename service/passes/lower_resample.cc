#include "service/passes/lower_resample.h"

#include <array>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {

using webidl::OperandDescriptor;
using webidl::Shape;

Status LowerResample2d(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::Resample2dAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  std::vector<uint32_t> axes = attributes.axes.value_or(std::vector<uint32_t>{2, 3});
  std::vector<uint32_t> strides = PackedStrides(input.shape());
  std::vector<StridedDimension> all(result.rank());
  for (uint32_t d = 0; d < result.rank(); ++d) {
    all[d].size = result.shape()[d];
    if (d == axes[0]) {
      all[d].strides = {0, 1, 0};
    } else if (d == axes[1]) {
      all[d].strides = {0, 0, 1};
    } else {
      all[d].strides = {strides[d], 0, 0};
    }
  }
  std::vector<StridedDimension> dimensions = Coalesce(all);

  LoweredCall call;
  call.shader = shaders::ShaderId::kResample2d;
  call.parameters = {NarrowCast<uint32_t>(result.element_count()),
                     static_cast<uint32_t>(dimensions.size()), strides[axes[0]], strides[axes[1]]};
  bool wide = false;
  for (uint32_t axis : axes) {
    uint32_t from = input.shape()[axis];
    uint32_t to = result.shape()[axis];
    // The greatest numerator, less than 2 * to * from + to, must be below 2^31
    // for Divide of tensor.glsl.
    wide = wide || uint64_t{to} * from > (uint64_t{1} << 29);
    for (uint32_t word : MakeDivisor(2 * to)) call.parameters.push_back(word);
    call.parameters.push_back(from);
  }
  const uint32_t per_quad = PerQuad(result.data_type());
  const StridedDimension& innermost = dimensions.back();
  const uint32_t second_size = input.shape()[axes[1]];
  const uint32_t second_result = result.shape()[axes[1]];
  const bool doubles = uint64_t{second_size} * 2 == second_result;
  const bool halves = second_size == uint64_t{second_result} * 2;
  const bool stretches_quads = !wide && result.data_type() == webidl::OperandDataType::kFloat32 &&
                               innermost.strides[2] == 1 && strides[axes[1]] == 1 &&
                               second_size % 4 == 0 && innermost.size % 4 == 0 &&
                               (second_size <= innermost.size || halves);
  // Rows long and many enough for a workgroup each.
  const uint32_t row_min = 4 * RowUnitsMin(builder.wide(), 16);
  constexpr uint64_t kRowsMin = 64;
  const uint64_t rows = result.element_count() / innermost.size;
  const bool by_rows = stretches_quads && innermost.size >= row_min &&
                       innermost.size <= kInvocationIterationsMax && rows >= kRowsMin;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         attributes.mode == webidl::InterpolationMode::kLinear,
                         RankConstant(dimensions),
                         wide,
                         QuadsLieInRows(dimensions, per_quad),
                         static_cast<uint32_t>(stretches_quads) + static_cast<uint32_t>(by_rows),
                         innermost.strides[1] != 0,
                         !stretches_quads ? 0u
                         : doubles        ? 1u
                         : halves         ? 2u
                                          : 0u};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  AppendDimensions(dimensions, call.parameters);
  if (by_rows) {
    call.workgroups = rows;
  } else {
    call.invocations = StoreQuads(result);
  }
  call.cost = 8 * result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service

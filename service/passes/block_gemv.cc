#include "service/passes/block_gemv.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/graph/row_tiles.h"
#include "service/passes/gemv.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::Shape;

ShaderId ChooseShader(const BlockGemv& gemv) {
  if (gemv.gated) return ShaderId::kBlockGemvGated;
  return gemv.matrices.size() == 1 ? ShaderId::kBlockGemv : ShaderId::kBlockGemvGroup;
}

// How shaders/wide_block_gemv.glsl divides the rows of w: a workgroup takes eight times
// `rows_each`.
struct WideTiling {
  uint32_t rows_each = 4;
  uint64_t workgroups = 0;
};

// What each invocation loads of x, and of scales, serves all its rows; but all of a device should
// have some. As of one row of x, however many there are: they may be dynamic, and kernels of each
// tiling would have to be compiled when they come.
WideTiling ChooseTiling(const BlockGemv& gemv, uint32_t rows_of_x, const LoweringBuilder& builder) {
  constexpr uint64_t kWorkgroupsMin = 256;
  WideTiling tiling;
  for (;; tiling.rows_each /= 2) {
    tiling.workgroups = 0;
    for (const BlockGemv::Matrix& matrix : gemv.matrices) {
      const uint32_t rows = builder.descriptor(matrix.weights).shape()[0];
      tiling.workgroups += DivideRoundingUp(rows, 8 * tiling.rows_each);
      if (gemv.gated) break;  // Both at once.
    }
    if (tiling.workgroups >= kWorkgroupsMin || tiling.rows_each == 1) break;
  }
  tiling.workgroups *= rows_of_x;
  return tiling;
}

}  // namespace

bool HasScalesByTiles(const webidl::OperandDescriptor& scale) { return scale.rank() == 4; }

bool IsBlockGemvWeight(const webidl::OperandDescriptor& weights) {
  return webidl::BitsPerElement(weights.data_type()) == 4 && weights.rank() == 3 &&
         weights.shape()[2] >= kWeightsPerLoad && std::has_single_bit(weights.shape()[2]);
}

std::vector<size_t> BlockGemvWeights(const Graph& graph, const Node& node) {
  std::vector<size_t> weights;
  if (std::holds_alternative<BlockMatmul>(node.macro)) {
    weights = {1};
  } else if (const auto* group = std::get_if<MatmulGroup>(&node.macro);
             group != nullptr && group->by_block) {
    for (size_t i = 1; i + 3 < node.operands.size(); i += 4) weights.push_back(i);
  }
  const bool fits = std::all_of(weights.begin(), weights.end(), [&](size_t i) {
    return IsBlockGemvWeight(graph.values[node.operands[i]].descriptor);
  });
  return fits ? weights : std::vector<size_t>();
}

void AddBlockGemvCall(const BlockGemv& gemv, LoweringBuilder& builder) {
  CHECK(!gemv.matrices.empty() && gemv.matrices.size() <= kGemvMatricesMax);
  const webidl::OperandDescriptor& x = builder.descriptor(gemv.x);
  const webidl::OperandDescriptor& weights = builder.descriptor(gemv.matrices[0].weights);
  const Shape& shape = weights.shape();  // [N, K / block, block]
  const uint32_t depth = shape[1] * shape[2];
  const auto rows_of_x = NarrowCast<uint32_t>(x.element_count() / depth);
  LoweredCall call;
  call.shader = ChooseShader(gemv);
  call.buffers = {{gemv.x, false}};
  call.parameters = {shape[1], static_cast<uint32_t>(std::countr_zero(shape[2] / kWeightsPerLoad)),
                     rows_of_x, FloatBits(gemv.epsilon)};
  uint32_t biases = 0;
  uint32_t tiled = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < gemv.matrices.size(); ++i) {
    const BlockGemv::Matrix& matrix = gemv.matrices[i];
    const bool has_bias = matrix.bias != kNoValue;
    if (has_bias) biases |= 1u << i;
    if (builder.tiled_loads(matrix.weights) != 0) tiled |= 1u << i;
    const uint32_t rows_of_matrix = builder.descriptor(matrix.weights).shape()[0];
    const bool has_bias_of_each =
        has_bias && builder.descriptor(matrix.bias).element_count() > rows_of_matrix;
    rows += rows_of_matrix;
    for (ValueId value : {matrix.weights, matrix.scale, matrix.zero_point}) {
      call.buffers.push_back({value, false});
    }
    if (gemv.gated && i > 0) break;
    // The module declares all slots, so something must be bound there.
    call.buffers.push_back({has_bias ? matrix.bias : gemv.x, false});
    call.buffers.push_back({matrix.result, true});
    call.parameters.insert(call.parameters.end(), {rows_of_matrix, has_bias_of_each, 0, 0});
  }
  const bool normalizes = gemv.gain != kNoValue;
  const LoweredBuffer gain{normalizes ? gemv.gain : gemv.x, false};
  if (call.shader == ShaderId::kBlockGemvGroup) {
    // A group of two leaves the places of a third without rows.
    call.parameters.resize(4 * (1 + kGemvMatricesMax));
    while (call.buffers.size() < 1 + 5 * kGemvMatricesMax) call.buffers.push_back({gemv.x, false});
    // No slot is left: the gain has that of the third bias.
    if (normalizes) {
      CHECK((biases & 4u) == 0);
      call.buffers[4 + 5 * (kGemvMatricesMax - 1)] = gain;
    }
  } else {
    call.buffers.push_back(gain);
  }
  call.specialization = {static_cast<uint32_t>(x.data_type()),
                         static_cast<uint32_t>(weights.data_type()),
                         biases,
                         HasScalesByTiles(builder.descriptor(gemv.matrices[0].scale)),
                         normalizes,
                         tiled};
  if (builder.wide()) {
    const WideTiling tiling = ChooseTiling(gemv, rows_of_x, builder);
    call.specialization.push_back(tiling.rows_each);
    call.workgroups = tiling.workgroups;
  } else {
    // An invocation computes eight rows where operands are read as texels.
    call.invocations = uint64_t{rows_of_x} * DivideRoundingUp<uint64_t>(rows, 8);
  }
  call.cost = rows_of_x * rows * depth;
  builder.AddCall(std::move(call));
}

}  // namespace webnnd::service

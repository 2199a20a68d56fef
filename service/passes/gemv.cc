#include "service/passes/gemv.h"

#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;

ShaderId ChooseShader(const Gemv& gemv) {
  if (gemv.gated) return ShaderId::kGemvGated;
  return gemv.matrices.size() == 1 ? ShaderId::kGemv : ShaderId::kGemvGroup;
}

// What each subgroup takes on wide devices (shaders/wide_gemv.glsl): rows of each matrix, one by
// one or of both at once, and how many subgroups that makes.
struct WideTiling {
  uint32_t rows_each = 8;
  uint64_t subgroups = 0;
};

WideTiling ChooseTiling(const Gemv& gemv) {
  constexpr uint64_t kSubgroupsMin = 2048;
  WideTiling tiling{.rows_each = gemv.gated ? 4U : 8U};
  for (;; tiling.rows_each /= 2) {
    tiling.subgroups = 0;
    for (const Gemv::Matrix& matrix : gemv.matrices) {
      tiling.subgroups += DivideRoundingUp(matrix.rows, tiling.rows_each);
      if (gemv.gated) break;
    }
    if (tiling.subgroups >= kSubgroupsMin || tiling.rows_each == 1) return tiling;
  }
}

}  // namespace

bool IsGemvDepth(webidl::OperandDataType type, uint32_t depth) {
  return depth % PerQuad(type) == 0;
}

void AddGemvCall(const Gemv& gemv, LoweringBuilder& builder) {
  CHECK(!gemv.matrices.empty() && gemv.matrices.size() <= kGemvMatricesMax);
  const webidl::OperandDataType type = builder.descriptor(gemv.x).data_type();
  CHECK(IsGemvDepth(type, gemv.depth));
  LoweredCall call;
  call.shader = ChooseShader(gemv);
  call.buffers = {{gemv.x, false}};
  call.parameters = {gemv.depth / PerQuad(type), FloatBits(gemv.alpha), FloatBits(gemv.beta),
                     FloatBits(gemv.epsilon)};
  uint32_t addends = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < gemv.matrices.size(); ++i) {
    const Gemv::Matrix& matrix = gemv.matrices[i];
    const bool has_addend = matrix.addend != kNoValue;
    if (has_addend) addends |= 1u << i;
    rows += matrix.rows;
    call.buffers.push_back({matrix.weights, false});
    if (gemv.gated && i > 0) break;
    // The module declares all slots, so something must be bound there.
    call.buffers.push_back({has_addend ? matrix.addend : gemv.x, false});
    call.buffers.push_back({matrix.result, true});
    call.parameters.insert(call.parameters.end(), {matrix.rows, matrix.addend_stride, 0, 0});
  }
  // A group of two leaves the places of a third without rows.
  if (call.shader == ShaderId::kGemvGroup) {
    call.parameters.resize(4 * (1 + kGemvMatricesMax));
    while (call.buffers.size() < 1 + 3 * kGemvMatricesMax) {
      call.buffers.push_back({gemv.x, false});
    }
  }
  const bool normalizes = gemv.gain != kNoValue;
  call.buffers.push_back({normalizes ? gemv.gain : gemv.x, false});
  call.specialization = {static_cast<uint32_t>(type), addends, normalizes};
  if (builder.wide()) {
    const WideTiling tiling = ChooseTiling(gemv);
    call.specialization.push_back(tiling.rows_each);
    call.invocations = tiling.subgroups * kSubgroupInvocations;
  } else {
    // Eight rows keep a subgroup busy.
    call.invocations = DivideRoundingUp<uint64_t>(rows, 8) * 32;
  }
  call.cost = rows * gemv.depth;
  builder.AddCall(std::move(call));
}

}  // namespace webnnd::service

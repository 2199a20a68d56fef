#include "service/passes/column_normalization.h"

#include <span>
#include <utility>

#include "service/passes/column_parts.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

Result<bool> AddColumnNormalization(const ColumnNormalization& normalization,
                                    LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(normalization.input);
  const uint32_t per_word = input.data_type() == OperandDataType::kFloat16 ? 2 : 1;
  const AxisView& view = normalization.view;
  if (builder.wide() || view.inner % per_word != 0 || view.inner / per_word < kColumnLanesMax) {
    return false;
  }
  const ColumnParts parts = ColumnParts::Divided(view, per_word);
  const auto type = static_cast<uint32_t>(input.data_type());
  const bool is_measured = normalization.mean == kNoValue;
  ValueId mean = normalization.mean;
  ValueId variance = normalization.variance;
  if (is_measured) {
    const uint32_t shape[] = {parts.count, parts.planes, view.inner};
    ASSIGN_OR_RETURN(auto descriptor, OperandDescriptor::Create(OperandDataType::kFloat32,
                                                                std::span<const uint32_t>(shape)));
    mean = builder.AddTemporary(descriptor);
    variance = builder.AddTemporary(descriptor);
    LoweredCall call;
    parts.Fill(/*passes=*/2, 2 * input.byte_length(), /*word=*/0, call);
    call.shader = ShaderId::kColumnMoments;
    call.specialization = {type, parts.vectors};
    call.buffers = {{normalization.input, false}, {mean, true}, {variance, true}};
    builder.AddCall(std::move(call));
  }
  const bool has_scale = normalization.scale != kNoValue;
  const bool has_bias = normalization.bias != kNoValue;
  LoweredCall call;
  parts.Fill(/*passes=*/1, 2 * input.byte_length(), FloatBits(normalization.epsilon), call);
  call.shader = ShaderId::kColumnNormalization;
  call.specialization = {type,      parts.vectors, is_measured,
                         has_scale, has_bias,      normalization.is_affine_by_row};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{normalization.input, false},
                  {mean, false},
                  {variance, false},
                  {has_scale ? normalization.scale : normalization.input, false},
                  {has_bias ? normalization.bias : normalization.input, false},
                  {normalization.result, true}};
  builder.AddCall(std::move(call));
  return true;
}

}  // namespace webnnd::service

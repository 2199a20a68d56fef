#include "service/passes/column_normalization.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

constexpr uint32_t kLanesMax = 16;  // As in shaders/column_parts.glsl.
constexpr uint32_t kVectorsMax = 4;
// Of a plane, some for each processor; of a part, rows that its caches keep, and that a loop may
// have.
constexpr uint32_t kPartsWanted = 32;
constexpr uint32_t kRowsOfPartMin = 64;
constexpr uint32_t kRowsOfPartMax = 1 << 13;

// How a tensor is divided between workgroups.
struct Parts {
  uint32_t planes = 0;
  uint32_t rows = 0;
  uint32_t words = 0;    // Of a row.
  uint32_t vectors = 0;  // Of words, that a lane takes.
  uint32_t across = 0;   // Units beside each other.
  uint32_t rows_of_part = 0;
  uint32_t count = 0;  // Of parts of a plane.

  uint64_t units() const { return uint64_t{planes} * count * across; }
};

Parts Divide(const AxisView& view, uint32_t per_word) {
  Parts parts;
  parts.planes = view.outer();
  parts.rows = view.axis;
  parts.words = view.inner / per_word;
  parts.vectors = std::min(DivideRoundingUp(parts.words, kLanesMax), kVectorsMax);
  parts.across = DivideRoundingUp(parts.words, parts.vectors * kLanesMax);
  const uint32_t wanted =
      std::max(1u, kPartsWanted / std::min(kPartsWanted, parts.planes * parts.across));
  parts.rows_of_part =
      std::clamp(DivideRoundingUp(parts.rows, wanted), kRowsOfPartMin, kRowsOfPartMax);
  parts.count = DivideRoundingUp(parts.rows, parts.rows_of_part);
  return parts;
}

LoweredCall MakeCall(const Parts& parts, uint32_t passes, uint64_t bytes, uint32_t word) {
  LoweredCall call;
  call.parameters = {NarrowCast<uint32_t>(parts.units()), parts.rows, parts.words,
                     parts.rows_of_part};
  AppendDivisor(parts.across, call.parameters, word);
  AppendDivisor(parts.count, call.parameters, parts.planes);
  call.workgroups = parts.units();
  // With few lanes, four turns for each row.
  const uint64_t turns = uint64_t{4} * passes * (parts.rows_of_part + parts.count);
  call.cost = std::max(bytes, parts.units() * turns * kLanesMax);
  return call;
}

}  // namespace

Result<bool> AddColumnNormalization(const ColumnNormalization& normalization,
                                    LoweringBuilder& builder) {
  const OperandDescriptor input = builder.descriptor(normalization.input);
  const uint32_t per_word = input.data_type() == OperandDataType::kFloat16 ? 2 : 1;
  const AxisView& view = normalization.view;
  if (builder.wide() || view.inner % per_word != 0 || view.inner / per_word < kLanesMax) {
    return false;
  }
  const Parts parts = Divide(view, per_word);
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
    LoweredCall call = MakeCall(parts, /*passes=*/2, 2 * input.byte_length(), 0);
    call.shader = ShaderId::kColumnMoments;
    call.specialization = {type, parts.vectors};
    call.buffers = {{normalization.input, false}, {mean, true}, {variance, true}};
    builder.AddCall(std::move(call));
  }
  const bool has_scale = normalization.scale != kNoValue;
  const bool has_bias = normalization.bias != kNoValue;
  LoweredCall call =
      MakeCall(parts, /*passes=*/1, 2 * input.byte_length(), FloatBits(normalization.epsilon));
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

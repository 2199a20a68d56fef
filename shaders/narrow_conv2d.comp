// Convolutions with few channels out of each group, of images whose columns lie together, for llvmpipe:
// neighbouring invocations have neighbouring columns, whose pixels they load as they lie
// (column_windows.glsl), once for all channels of the result in a group, OUTPUTS at most. Slots are those of
// depthwise_conv2d.comp.
//
// What lies under a row of taps is added without a loop, or some channels where a row has one tap: steps.
//
// Parameters: 0 rows of all groups; 1 columns of the result; 2 channels of the image in a group, by steps; 3 columns
// from step to step; from uvec4 1 on the divisors {rows of the result; .w words from step to step}, {groups; .w the
// same of the filter}; 3 {strides of the image: batch, group, channels of 2, row of taps}; 4 {strides of the filter:
// group, channel of the result, channels of 2, row of taps}; from 5 on the height, whose .w is the stride from row to
// row of the image, and from 8 on the width (window.glsl). Specialisation constants: 1 channels of the result in a
// group; 2 whether there is a bias, 3 whether there is a residual, 4 the activation (epilogue.glsl), 5 the stride
// along a row, 1 or 2, 6 the steps, 0 where these are more than a kernel unrolls,
// 7 data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kOutputs = 1u;
layout(constant_id = 2) const uint kHasBias = 0u;
layout(constant_id = 3) const uint kHasResidual = 0u;
#define EPILOGUE_CONSTANT 4
layout(constant_id = 5) const uint kColumnStep = 1u;
layout(constant_id = 6) const uint kTapsOfRow = 0u;
layout(constant_id = 7) const uint kType = 0u;

const uint kHeight = 5u;
const uint kWidth = 8u;
const uint kVectorsAtOnce = VECTORS;

#include "column_windows.glsl"
#include "epilogue.glsl"

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)

// What parameters say, found once: they are looked up by each invocation.
struct Steps {
  uint width;  // Of the image.
  uint channels;  // By steps.
  uint image_channels;
  uint image_row;
  uint image;  // From step to step.
  uint column;  // The same, in columns.
  uint filter_output;
  uint filter_channels;
  uint filter_row;
  uint filter_step;
  uint plane;  // Of a channel of the result.
};

// The columns of a row of the result from `first_` on, as many vectors as that.
#define COMPUTE_STRETCH(vectors, is_before, are_whole)                                                    \
  {                                                                                                       \
    float sums_[OUTPUTS][vectors];                                                                        \
    [[unroll]] for (uint o_ = 0u; o_ < kOutputs; ++o_) {                                                  \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) sums_[o_][v_] = 0.0;                            \
    }                                                                                                     \
    const uint left_ = UNIFORM(WindowStart(kWidth, first_));                                              \
    for (uint c_ = UNKNOWN_ZERO; c_ < steps_.channels; ++c_) {                                            \
      const uint image_of_c_ = UNIFORM(image_ + left_ + c_ * steps_.image_channels);                      \
      const uint filter_of_c_ = UNIFORM(filter_from_ + c_ * steps_.filter_channels);                      \
      for (uint ky_ = taps_.x; ky_ < taps_.y; ++ky_) {                                                    \
        const uint line_ = UNIFORM(image_of_c_ + ky_ * steps_.image_row);                                 \
        const uint taps_line_ = UNIFORM(filter_of_c_ + ky_ * steps_.filter_row);                          \
        FOR_EACH_TAP(kx_) {                                                                               \
          const uint column_ = UNIFORM(left_ + kx_ * steps_.column);                                      \
          LOAD_COLUMNS(1, kType, bits_, vectors, is_before, UNIFORM(line_ + kx_ * steps_.image))          \
          [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                           \
            bits_[v_] = IS_COLUMN_INSIDE(v_, column_, steps_.width, are_whole) ? bits_[v_] : 0u;          \
          }                                                                                               \
          [[unroll]] for (uint o_ = 0u; o_ < kOutputs; ++o_) {                                            \
            const uint from_ = taps_line_ + kx_ * steps_.filter_step + o_ * steps_.filter_output;         \
            const float weight_ = LOAD(2, kType, UNIFORM(from_));                                         \
            [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                         \
              sums_[o_][v_] = fma(Decode(uvec2(bits_[v_], 0u), kType), weight_, sums_[o_][v_]);           \
            }                                                                                             \
          }                                                                                               \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
    [[unroll]] for (uint o_ = 0u; o_ < kOutputs; ++o_) {                                                  \
      const uint to_ = UNIFORM(result_ + o_ * steps_.plane + first_);                                     \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                               \
        float sum_ = sums_[o_][v_] + biases_[o_];                                                         \
        if ((are_whole) || first_ + PlaceInStretch(v_) < length_) {                                       \
          if (kHasResidual != 0u) sum_ += LOAD(5, kType, to_ + PlaceInStretch(v_));                       \
          STORE_ELEMENT(3, kType, to_ + PlaceInStretch(v_), Encode(Activate(sum_), kType))                \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }

void ComputeLine(Steps steps_, uint line) {
  const uvec3 rows = P4(1).xyz;
  const uvec3 groups = P4(2).xyz;
  const uint group_of_all = Divide(line, rows);
  const uint row = line - group_of_all * rows.x;
  const uint batch = Divide(group_of_all, groups);
  const uint group = group_of_all - batch * groups.x;
  const uvec4 strides = P4(3);
  uvec2 taps_ = TapsInside(kHeight, row);
  taps_ = uvec2(UNIFORM(taps_.x), UNIFORM(taps_.y));
  const uint image_ =
      UNIFORM(batch * strides.x + group * strides.y + WindowStart(kHeight, row) * P4(kHeight).w);
  const uint filter_from_ = UNIFORM(group * P4(4).x);
  float biases_[OUTPUTS];
  [[unroll]] for (uint o = 0u; o < kOutputs; ++o) {
    biases_[o] = 0.0;
    if (kHasBias != 0u) biases_[o] = LOAD(4, kType, UNIFORM(group * kOutputs + o));
  }
  const uint length_ = UNIFORM(P(1));
  const uint result_ = UNIFORM(group_of_all * kOutputs * steps_.plane + row * length_);
  const uint first_element_ = UNIFORM(image_ + taps_.x * steps_.image_row);
  FOR_EACH_STRETCH(first_, length_, first_element_, COMPUTE_STRETCH)
}

void main() {
  const uvec4 image = P4(3);
  const uvec4 taps = P4(4);
  Steps steps;
  steps.width = UNIFORM(P4(kWidth).x);
  steps.channels = UNIFORM(P(2));
  steps.image_channels = UNIFORM(image.z);
  steps.image_row = UNIFORM(image.w);
  steps.image = UNIFORM(P4(1).w);
  steps.column = UNIFORM(P(3));
  steps.filter_output = UNIFORM(taps.y);
  steps.filter_channels = UNIFORM(taps.z);
  steps.filter_row = UNIFORM(taps.w);
  steps.filter_step = UNIFORM(P4(2).w);
  steps.plane = UNIFORM(P4(1).x * P(1));
  WORKGROUP_STRIDE_LOOP(line, P(0)) ComputeLine(steps, line);
}

// Pooling of images whose channels follow each other in whole words, on llvmpipe: slot 1 -> slot 2, of one type of at
// most 32 bits. A workgroup, which is one subgroup, takes parts of rows of the result; neighbours have neighbouring
// words of a pixel's channels. Taps count as in pool2d.comp.
//
// Parameters: 0 parts of all rows; 1 words of a pixel; 2 words from a row of the image to the next; 3 words of an image;
// uvec4 1 {parts of a row, as divisor}, columns of a part; uvec4 2 {rows of the result, as divisor}, columns of the
// result; from uvec4 3 on the height and from 6 on the width (window.glsl). Specialisation constants: 1 operation, 2
// data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroup.glsl"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kType = 0u;

#include "pool.glsl"
#include "window.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kHeight = 3u;
const uint kWidth = 6u;

const uint kVectorsAtOnce = 4u;
const uint kPerWordMax = 4u;
uint PerWord() { return 32u >> BitsLog2(kType); }

// Words of a pixel of the result from `first` on, as many vectors as that.
#define COMPUTE_VECTORS(vectors, are_whole)                                                               \
  {                                                                                                       \
    const uint last_ = words_of_pixel_ - 1u - first_;                                                     \
    VALUE totals_[vectors][kPerWordMax];                                                                  \
    FOR_EACH_ELEMENT(vectors) totals_[v_][j_] = identity_;                                                \
    for (uint ky_ = down_.x; ky_ < down_.y; ++ky_) {                                                      \
      VALUE parts_[vectors][kPerWordMax];                                                                 \
      FOR_EACH_ELEMENT(vectors) parts_[v_][j_] = identity_;                                               \
      for (uint kx_ = across_.x; kx_ < across_.y; ++kx_) {                                                \
        const uint from_ = UNIFORM(pixel_ + ky_ * step_down_ + kx_ * step_across_ + first_);              \
        uint words_[vectors];                                                                             \
        [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                             \
          const uint place_ = PlaceInStretch(v_);                                                         \
          words_[v_] = LOAD_WORD(1, from_ + ((are_whole) ? place_ : min(place_, last_)));                 \
        }                                                                                                 \
        FOR_EACH_ELEMENT(vectors) {                                                                       \
          const uvec2 raw_ = ElementOfQuad(uvec4(words_[v_], 0u, 0u, 0u), kType, j_);                     \
          parts_[v_][j_] = Combine(parts_[v_][j_], MapTap(Decode(raw_, kType)));                          \
        }                                                                                                 \
      }                                                                                                   \
      FOR_EACH_ELEMENT(vectors) totals_[v_][j_] = Combine(totals_[v_][j_], parts_[v_][j_]);               \
    }                                                                                                     \
    const uint to_ = UNIFORM(result_ + first_);                                                           \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                                 \
      uvec4 bits_ = uvec4(0u);                                                                            \
      [[unroll]] for (uint j_ = 0u; j_ < PerWord(); ++j_) {                                                \
        InsertElement(bits_, kType, j_, Encode(Finish(totals_[v_][j_], counts_), kType));                 \
      }                                                                                                   \
      if ((are_whole) || first_ + PlaceInStretch(v_) < words_of_pixel_) {                                 \
        STORE_WORD(2, to_ + PlaceInStretch(v_), bits_.x);                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }
#define FOR_EACH_ELEMENT(vectors)                         \
  [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_)     \
    [[unroll]] for (uint j_ = 0u; j_ < PerWord(); ++j_)

uvec2 UniformTaps(uint axis, uint position) {
  const uvec2 taps = TapsInside(axis, position);
  return uvec2(UNIFORM(taps.x), UNIFORM(taps.y));
}

// `image_`: the first word of the image.
void ComputePixel(uint image_, uint result_, uint row_, uint column_, uvec2 down_) {
  const VALUE identity_ = Identity();
  const uint words_of_pixel_ = P(1);
  const uint step_down_ = UNIFORM(WINDOW_DILATION(kHeight) * P(2));
  const uint step_across_ = UNIFORM(WINDOW_DILATION(kWidth) * words_of_pixel_);
  const uvec2 across_ = UniformTaps(kWidth, column_);
  const uvec2 counts_ = uvec2(down_.y - min(down_.x, down_.y), across_.y - min(across_.x, across_.y));
  const uint pixel_ =
      UNIFORM(image_ + WindowStart(kHeight, row_) * P(2) + WindowStart(kWidth, column_) * words_of_pixel_);
  const uint at_once_ = kVectorsAtOnce * kSubgroupSize;
  uint first_ = UNKNOWN_ZERO;
  for (; first_ + at_once_ <= words_of_pixel_; first_ += at_once_) COMPUTE_VECTORS(kVectorsAtOnce, true)
  for (; first_ < words_of_pixel_; first_ += kSubgroupSize) COMPUTE_VECTORS(1u, false)
}

void main() {
  WORKGROUP_STRIDE_LOOP(unit, P(0)) {
    const uvec4 parts = P4(1);
    const uvec4 rows = P4(2);
    const uint line = UNIFORM(Divide(unit, parts.xyz));
    const uint image = UNIFORM(Divide(line, rows.xyz));
    const uint row = line - image * rows.x;
    const uint begin = UNIFORM((unit - line * parts.x) * parts.w);
    const uint end = UNIFORM(min(begin + parts.w, rows.w));
    const uvec2 down = UniformTaps(kHeight, row);
    for (uint column = begin; column < end; ++column) {
      ComputePixel(image * P(3), (line * rows.w + column) * P(1), row, column, down);
    }
  }
}

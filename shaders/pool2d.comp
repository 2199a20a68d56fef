// Pooling: slot 1 -> slot 2, images of one type. Taps in the padding count nothing; a window all of
// which lies there gives 0, or the least value of the type as its maximum.
//
// Parameters: 0 elements of the result, or units; 1 rank of its dimensions; 2, 3 strides of a row and a
// column of the input; from uvec4 1 on {width of the result, as divisor}; from 2 on the height and
// from 5 on the width (window.glsl); from 8 on the dimensions of the result (strided.glsl; x:
// pixel, y: offset of the input). Specialisation constants: 1 operation, 2 data type, 3 rank, 4
// whether windows are so narrow that a plain loop does, 5 and 6 the taps of the window both ways where
// they are few (else 0), 7 whether quads of the result lie in rows. 8: not 0 where windows step so far
// across, are not dilated there, and columns of the image lie in quads of 32-bit elements; 9 is then
// where in a quad the first window of a unit begins, 10 whether all windows lie within the image, 11 the
// columns of the result that a unit has, 12 whether all units have as many, and 13 whether workgroups
// take whole rows of units, parameter 0 counts those, and 1.w the units of one. Dimensions are those of
// units, or of such rows, then (x: row, y: offset of the input, z: column, w: offset of the result). 14: not 0
// where, on llvmpipe, workgroups take whole rows instead, column by column, whose windows step so far
// across, 1 or 2; parameter 0 and the dimensions are those of rows then, too, and 15 is the taps of a row where they
// are few, else 0. 16: not 0 where they take bands of 1.w rows, whose windows have so many taps down and overlap; 17 is
// then how far they step down, and parameter 0 and the dimensions are those of bands.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kType = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kIsNarrow = 0u;
layout(constant_id = 5) const uint kRowTaps = 0u;
layout(constant_id = 6) const uint kColumnTaps = 0u;
layout(constant_id = 7) const uint kInRows = 0u;
layout(constant_id = 8) const uint kStep = 0u;
layout(constant_id = 9) const uint kLead = 0u;
layout(constant_id = 10) const uint kAllInside = 0u;
layout(constant_id = 11) const uint kColumns = 4u;
layout(constant_id = 12) const uint kAllWhole = 0u;
layout(constant_id = 13) const uint kByRows = 0u;
layout(constant_id = 14) const uint kColumnStep = 0u;
layout(constant_id = 15) const uint kTapsOfRow = 0u;
layout(constant_id = 16) const uint kTapsDown = 0u;
layout(constant_id = 17) const uint kStepDown = 1u;
#define STRIDED_RANK kRank

#include "pool.glsl"
#include "strided.glsl"
#include "window.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

const uint kHeight = 2u;
const uint kWidth = 5u;
const uint kDimensions = 8u;

uvec2 ComputeElement(uint e) {
  uvec4 place = StridedOffsets(e, kDimensions, P(1));
  uvec3 columns = P4(1).xyz;
  uint row = Divide(place.x, columns);
  uint column = place.x - row * columns.x;
  uvec2 row_taps = TapsInside(kHeight, row);
  uvec2 column_taps = TapsInside(kWidth, column);
  uint step = WINDOW_DILATION(kWidth) * P(3);
  VALUE total = Identity();
  for (uint ky = row_taps.x; ky < row_taps.y; ++ky) {
    uint y = WindowStart(kHeight, row) + ky * WINDOW_DILATION(kHeight);
    uint from = place.y + y * P(2) + WindowStart(kWidth, column) * P(3);
    // Sums of one row are kept apart, so that rounding errors grow slower than the count.
    VALUE part = Identity();
#define ADD_TAP(kx)                                                   \
  {                                                                   \
    part = Combine(part, MapTap(LOAD(1, kType, from + (kx) * step))); \
  }
    if (kIsNarrow != 0u) {
      for (uint kx = column_taps.x; kx < column_taps.y; ++kx) ADD_TAP(kx)
    } else {
      LONG_LOOP(kx, column_taps.x, column_taps.y, 1u) ADD_TAP(kx)
    }
#undef ADD_TAP
    total = Combine(total, part);
  }
  uvec2 counts = uvec2(row_taps.y - min(row_taps.x, row_taps.y),
                       column_taps.y - min(column_taps.x, column_taps.y));
  return Encode(Finish(total, counts), kType);
}

QuadOffsets Prepare(uint first) { return OffsetsOfQuad(first, kDimensions, P(1)); }

// The same without a loop: taps in the padding are selected away.
uvec2 ComputeOfFewTaps(QuadOffsets quad, uint e, uint k) {
  uvec4 place = OffsetsInQuad(quad, e, kInRows != 0u, kDimensions, P(1));
  uvec3 columns = P4(1).xyz;
  uint row = Divide(place.x, columns);
  uint top = WindowStart(kHeight, row);
  uint left = WindowStart(kWidth, place.x - row * columns.x);
  VALUE identity = Identity();
  VALUE total = identity;
  uvec2 counts = uvec2(0u);
  for (uint ky = 0u; ky < kRowTaps; ++ky) {
    uint y = top + ky * WINDOW_DILATION(kHeight);  // Wraps before the image.
    bool row_inside = y < P4(kHeight).x;
    counts.x += uint(row_inside);
    counts.y = 0u;
    VALUE part = identity;
    for (uint kx = 0u; kx < kColumnTaps; ++kx) {
      uint x = left + kx * WINDOW_DILATION(kWidth);
      bool column_inside = x < P4(kWidth).x;
      counts.y += uint(column_inside);
      bool inside = row_inside && column_inside;
      uint offset = place.y + y * P(2) + x * P(3);
      VALUE mapped = MapTap(LOAD(1, kType, inside ? offset : 0u));
      part = Combine(part, inside ? mapped : identity);
    }
    total = Combine(total, part);
  }
  return Encode(Finish(total, counts), kType);
}

uvec2 ComputeAlone(uint e) { return ComputeOfFewTaps(Prepare(e), e, 0u); }

// What the windows of a unit, side by side, cover, from the quad on in which the first one begins.
const uint kLineQuadsMax = 8u;  // As lower_pool.cc has it.
const uint kLineQuads = (kLead + (kColumns - 1u) * kStep + kColumnTaps + 3u) / 4u;

// Four columns of the result, or two: their windows share what they load. Of two whose windows step by
// two, neighbours load quads that lie beside each other.
void ComputeColumns(uvec4 place) {
  uint top = WindowStart(kHeight, place.x);
  uint left = WindowStart(kWidth, place.z);  // Wraps before the image.
  int first_quad = int(left - kLead) >> 2;
  uvec2 size = uvec2(P4(kHeight).x, P4(kWidth).x);
  int last_quad = int(size.y >> 2) - 1;
  VALUE identity = Identity();
  VALUE totals[4] = VALUE[4](identity, identity, identity, identity);
  uint row_count = 0u;
  [[unroll]] for (uint ky = 0u; ky < kRowTaps; ++ky) {
    uint y = top + ky * WINDOW_DILATION(kHeight);
    bool row_inside = y < size.x;
    row_count += uint(row_inside);
    uint line = (place.y + min(y, size.x - 1u) * P(2)) >> 2;
    uint elements[4u * kLineQuadsMax];
    [[unroll]] for (uint q = 0u; q < kLineQuads; ++q) {
      uvec4 four = LOAD_QUAD(1, line + uint(clamp(first_quad + int(q), 0, last_quad)));
      [[unroll]] for (uint i = 0u; i < 4u; ++i) elements[4u * q + i] = four[i];
    }
    [[unroll]] for (uint i = 0u; i < kColumns; ++i) {
      VALUE part = identity;
      [[unroll]] for (uint kx = 0u; kx < kColumnTaps; ++kx) {
        VALUE mapped = MapTap(Decode(uvec2(elements[kLead + i * kStep + kx], 0u), kType));
        if (kAllInside == 0u) {
          const bool column_inside = left + i * kStep + kx < size.y;
          const bool inside = row_inside && column_inside;
          mapped = inside ? mapped : identity;
        }
        part = kx == 0u ? mapped : Combine(part, mapped);
      }
      totals[i] = ky == 0u ? part : Combine(totals[i], part);
    }
  }
  uvec4 result;
  [[unroll]] for (uint i = 0u; i < kColumns; ++i) {
    uvec2 counts = uvec2(kRowTaps, kColumnTaps);
    if (kAllInside == 0u) {
      counts = uvec2(row_count, 0u);
      [[unroll]] for (uint kx = 0u; kx < kColumnTaps; ++kx) {
        counts.y += uint(left + i * kStep + kx < size.y);
      }
    }
    result[i] = Encode(Finish(totals[i], counts), kType).x;
  }
  if (kAllWhole != 0u && kColumns == 4u) {
    STORE_QUAD(2, place.w >> 2, result)
    return;
  }
  if (kAllWhole != 0u) {
    STORE_PAIR(2, place.w >> 1, result.xy);
    return;
  }
  uint count = P4(1).x - place.z;
  [[unroll]] for (uint i = 0u; i < kColumns; ++i) {
    if (i < count) STORE_WORD(2, place.w + i, result[i]);
  }
}

// Finding the place of each unit takes as long as all else.
void ComputeRows() {
  const uint units = P4(1).w;
  WORKGROUP_STRIDE_LOOP(row, P(0)) {
    const uvec4 place = StridedOffsets(row, kDimensions, P(1));
    for (uint unit = gl_LocalInvocationID.x; unit < units; unit += gl_WorkGroupSize.x) {
      ComputeColumns(place + uvec4(0u, 0u, kColumns * unit, kColumns * unit));
    }
  }
}

// Neighbouring invocations have neighbouring columns, whose taps they load as they lie.
#if TENSOR_READS == READS_TEXELS && (COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT)
const uint kVectorsAtOnce = 4u;
#include "column_windows.glsl"

// There a workgroup is one subgroup; nothing else has the dimensions for it.
bool GoesByLines() { return kColumnStep != 0u; }

VALUE MapTapOf(uint bits) { return MapTap(Decode(uvec2(bits, 0u), kType)); }

// Columns of the row from `first` on, as many vectors as that.
#define COMPUTE_STRETCH(vectors, is_before, are_whole)                                                    \
  {                                                                                                       \
    VALUE totals_[vectors];                                                                               \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) totals_[v_] = identity_;                          \
    const uint left_ = UNIFORM(WindowStart(kWidth, first_));                                              \
    for (uint ky_ = taps_.x; ky_ < taps_.y; ++ky_) {                                                      \
      const uint line_ = UNIFORM(image_ + ky_ * line_step_);                                              \
      VALUE parts_[vectors];                                                                              \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) parts_[v_] = identity_;                         \
      FOR_EACH_TAP(kx_) {                                                                                 \
        const uint column_ = UNIFORM(left_ + kx_ * dilation_);                                            \
        LOAD_COLUMNS(1, kType, bits_, vectors, is_before, UNIFORM(line_ + column_))                       \
        [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                             \
          const bool is_inside_ = IS_COLUMN_INSIDE(v_, column_, width_, are_whole);                       \
          const VALUE tap_ = is_inside_ ? MapTapOf(bits_[v_]) : identity_;                                \
          parts_[v_] = Combine(parts_[v_], tap_);                                                         \
        }                                                                                                 \
      }                                                                                                   \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) totals_[v_] = Combine(totals_[v_], parts_[v_]); \
    }                                                                                                     \
    const uint to_ = UNIFORM(place_.w + first_);                                                          \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                                 \
      uvec2 counts_ = uvec2(taps_.y - min(taps_.x, taps_.y), 0u);                                         \
      if (kOperation == kPoolAverage) {                                                                   \
        const uvec2 across_ = TapsInside(kWidth, first_ + PlaceInStretch(v_));                            \
        counts_.y = across_.y - min(across_.x, across_.y);                                                \
      }                                                                                                   \
      const uvec2 raw_ = Encode(Finish(totals_[v_], counts_), kType);                                     \
      if ((are_whole) || first_ + PlaceInStretch(v_) < length_) {                                         \
        STORE_ELEMENT(2, kType, to_ + PlaceInStretch(v_), raw_)                                           \
      }                                                                                                   \
    }                                                                                                     \
  }

void ComputeRow(uvec4 place_) {
  const VALUE identity_ = Identity();
  const uint width_ = UNIFORM(P4(kWidth).x);
  const uint dilation_ = UNIFORM(WINDOW_DILATION(kWidth));
  const uint line_step_ = UNIFORM(WINDOW_DILATION(kHeight) * P(2));
  const uint image_ = UNIFORM(place_.y + WindowStart(kHeight, place_.x) * P(2));
  uvec2 taps_ = TapsInside(kHeight, place_.x);
  taps_ = uvec2(UNIFORM(taps_.x), UNIFORM(taps_.y));
  const uint length_ = UNIFORM(P4(1).x);
  const uint first_element_ = UNIFORM(image_ + taps_.x * line_step_);
  FOR_EACH_STRETCH(first_, length_, first_element_, COMPUTE_STRETCH)
}

// Of bands, lines of the image are gone over one by one: what the taps of a row make of one counts for all rows of
// the result that it is a part of.
const uint kTapsDownMax = 16u;  // As in service/passes/lower_pool.cc.

// Adds line y_, which before the first one wraps, to the last kTapsDown ones, and forgets the first of those.
#define ADD_LINE(vectors, is_before, are_whole)                                                           \
  {                                                                                                       \
    [[unroll]] for (uint k_ = 1u; k_ < kTapsDown; ++k_) {                                                 \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) lines_[k_ - 1u][v_] = lines_[k_][v_];           \
    }                                                                                                     \
    const bool is_line_ = y_ < height_;                                                                   \
    const uint line_ = UNIFORM(image_ + (is_line_ ? y_ * line_step_ : 0u) + left_);                       \
    VALUE parts_[vectors];                                                                                \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) parts_[v_] = identity_;                           \
    FOR_EACH_TAP(kx_) {                                                                                   \
      const uint column_ = UNIFORM(left_ + kx_ * dilation_);                                              \
      LOAD_COLUMNS(1, kType, bits_, vectors, is_before, UNIFORM(line_ + kx_ * dilation_))                 \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                               \
        const bool is_inside_ = IS_COLUMN_INSIDE(v_, column_, width_, are_whole);                         \
        const VALUE tap_ = is_inside_ ? MapTapOf(bits_[v_]) : identity_;                                  \
        parts_[v_] = Combine(parts_[v_], tap_);                                                           \
      }                                                                                                   \
    }                                                                                                     \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                                 \
      lines_[kTapsDown - 1u][v_] = is_line_ ? parts_[v_] : identity_;                                     \
    }                                                                                                     \
    ++y_;                                                                                                 \
  }

#define COMPUTE_BAND(vectors, is_before, are_whole)                                                       \
  {                                                                                                       \
    const uint left_ = UNIFORM(WindowStart(kWidth, first_));                                              \
    uint across_[vectors];                                                                                \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                                 \
      const uvec2 taps_ = TapsInside(kWidth, first_ + PlaceInStretch(v_));                                \
      across_[v_] = taps_.y - min(taps_.x, taps_.y);                                                      \
    }                                                                                                     \
    VALUE lines_[kTapsDownMax][vectors];                                                                  \
    [[unroll]] for (uint k_ = 0u; k_ < kTapsDown; ++k_) {                                                 \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) lines_[k_][v_] = identity_;                     \
    }                                                                                                     \
    uint y_ = top_;                                                                                       \
    for (uint line_ = UNKNOWN_ZERO; line_ < kTapsDown - kStepDown; ++line_) {                             \
      ADD_LINE(vectors, is_before, are_whole)                                                             \
    }                                                                                                     \
    for (uint row_ = UNKNOWN_ZERO; row_ < rows_; ++row_) {                                                \
      [[unroll]] for (uint i_ = 0u; i_ < kStepDown; ++i_) ADD_LINE(vectors, is_before, are_whole)         \
      const uvec2 down_ = TapsInside(kHeight, place_.x + row_);                                           \
      const uint to_ = UNIFORM(place_.w + row_ * length_ + first_);                                       \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                               \
        VALUE total_ = lines_[0][v_];                                                                     \
        [[unroll]] for (uint k_ = 1u; k_ < kTapsDown; ++k_) total_ = Combine(total_, lines_[k_][v_]);     \
        const uvec2 counts_ = uvec2(down_.y - min(down_.x, down_.y), across_[v_]);                        \
        const uvec2 raw_ = Encode(Finish(total_, counts_), kType);                                        \
        if ((are_whole) || first_ + PlaceInStretch(v_) < length_) {                                       \
          STORE_ELEMENT(2, kType, to_ + PlaceInStretch(v_), raw_)                                         \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }

void ComputeBand(uvec4 place_) {
  const VALUE identity_ = Identity();
  const uint width_ = UNIFORM(P4(kWidth).x);
  const uint height_ = UNIFORM(P4(kHeight).x);
  const uint dilation_ = UNIFORM(WINDOW_DILATION(kWidth));
  const uint line_step_ = UNIFORM(P(2));
  const uint image_ = UNIFORM(place_.y);
  const uint top_ = UNIFORM(WindowStart(kHeight, place_.x));
  const uint rows_ = UNIFORM(min(P4(1).w, P4(kHeight).w - place_.x));
  const uint length_ = UNIFORM(P4(1).x);
  FOR_EACH_STRETCH(first_, length_, image_, COMPUTE_BAND)
}

void ComputeLines() {
  WORKGROUP_STRIDE_LOOP(unit, P(0)) {
    const uvec4 place = StridedOffsets(unit, kDimensions, P(1));
    if (kTapsDown != 0u) {
      ComputeBand(place);
    } else {
      ComputeRow(place);
    }
  }
}
#else
bool GoesByLines() { return false; }
void ComputeLines() {}
#endif

void main() {
  if (GoesByLines()) {
    ComputeLines();
    return;
  }
  if (kStep != 0u) {
    if (kByRows != 0u) {
      ComputeRows();
      return;
    }
    GRID_STRIDE_LOOP(unit, P(0)) ComputeColumns(StridedOffsets(unit, kDimensions, P(1)));
  } else if (kRowTaps != 0u && BitsLog2(kType) < 5u) {
    STORE_ELEMENTS(2, kType, P(0), ComputeAlone);
  } else if (kRowTaps != 0u) {
    STORE_QUADS(2, kType, P(0), QuadOffsets, Prepare, ComputeOfFewTaps);
  } else {
    STORE_ELEMENTS(2, kType, P(0), ComputeElement);
  }
}

// How llvmpipe's subgroups share columns of which each is normalized or reduced by itself.
#ifndef WEBNND_SERVICE_PASSES_COLUMN_PARTS_H_
#define WEBNND_SERVICE_PASSES_COLUMN_PARTS_H_

#include <cstdint>

#include "service/passes/axis_view.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

inline constexpr uint32_t kColumnLanesMax = 16;  // As in shaders/column_parts.glsl.

struct ColumnParts {
  uint32_t planes = 0;
  uint32_t rows = 0;
  uint32_t words = 0;    // Of a row.
  uint32_t vectors = 0;  // Of words, that a lane takes.
  uint32_t across = 0;   // Units beside each other.
  uint32_t rows_of_part = 0;
  uint32_t count = 0;  // Of parts of a plane.

  // Columns along the axis of `view`, of which a word has `per_word`, and a lane takes
  // `vectors_max` words at once, at most: planes in one part each, or divided so that each
  // processor has some.
  static ColumnParts Whole(const AxisView& view, uint32_t per_word, uint32_t vectors_max);
  static ColumnParts Divided(const AxisView& view, uint32_t per_word);

  uint64_t units() const { return uint64_t{planes} * count * across; }
  // The parameters, with `word` in the place that is free, and how much work there is: `passes`
  // over all rows.
  void Fill(uint32_t passes, uint64_t bytes, uint32_t word, LoweredCall& call) const;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_COLUMN_PARTS_H_

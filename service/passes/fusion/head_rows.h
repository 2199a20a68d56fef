// HeadRows: rows of attention heads as they lie in memory, behind the operators that only move or
// turn them.
#ifndef WEBNND_SERVICE_PASSES_FUSION_HEAD_ROWS_H_
#define WEBNND_SERVICE_PASSES_FUSION_HEAD_ROWS_H_

#include <cstdint>

#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {

// `rows` rows of `heads` heads of `head_size` elements each.
struct HeadShape {
  uint32_t rows = 0;
  uint32_t heads = 0;
  uint32_t head_size = 0;
};

struct HeadRows {
  ValueId value = kNoValue;
  uint32_t offset = 0;  // Elements of a row of `value` before the first head.
  HeadRotation rotation;
  ValueId cos = kNoValue;
  ValueId sin = kNoValue;
  ValueId positions = kNoValue;
};

// `value` has the elements [rows, heads, head_size] in this order: finds them where they were
// before they were turned (service/graph/macro.h) and before they were split from a longer row.
HeadRows FindHeadRows(const GraphIndex& index, ValueId value, const HeadShape& shape);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_HEAD_ROWS_H_

// Visibility: the masks of attention that let each row see the keys up to its own position.
#ifndef WEBNND_SERVICE_PASSES_FUSION_VISIBILITY_H_
#define WEBNND_SERVICE_PASSES_FUSION_VISIBILITY_H_

#include <cstdint>
#include <optional>

#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {

// Row r sees the keys before start + reach + beyond + r, of those that there are; where there is a
// window, only the last `window` of them. start + reach is a sum of 32 bits, which wraps around,
// and r is part of it where rows wrap.
struct Visibility {
  ValueId start = kNoValue;  // A tensor of one int32; or none, for 0.
  int32_t reach = 0;
  int32_t beyond = 0;
  bool rows_wrap = true;
  uint32_t window = 0;  // 0: all.
};

// What is added to scores [..., rows, keys]: 0 where a row sees a key, and elsewhere so little that
// its probability is 0.
struct Mask {
  Visibility visibility;
  bool is_infinite = false;  // Rows that see nothing are NaN; else they see everything alike.
};

// `mask` is added to scores of `rows` and `keys`, all heads alike.
std::optional<Mask> MatchMask(const GraphIndex& index, ValueId mask, uint32_t rows, uint32_t keys);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_VISIBILITY_H_

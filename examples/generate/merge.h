// The merging loop of byte-pair encodings.
#ifndef WEBNND_EXAMPLES_GENERATE_MERGE_H_
#define WEBNND_EXAMPLES_GENERATE_MERGE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace webnnd::generate {

struct Merge {
  double priority;  // The lowest goes first.
  int32_t id;       // What the two become.
};

// Replaces neighbours by what `find` says of them, the lowest priority first and the leftmost among
// equals, until no two neighbours merge. O(n log n).
std::vector<int32_t> MergePairs(
    const std::vector<int32_t>& ids,
    const std::function<std::optional<Merge>(int32_t left, int32_t right)>& find);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_MERGE_H_

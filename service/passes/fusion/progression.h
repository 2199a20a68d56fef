// Progression: integer tensors whose elements follow from their index, such as the positions and
// ranges that masks and scatter indices are made of.
#ifndef WEBNND_SERVICE_PASSES_FUSION_PROGRESSION_H_
#define WEBNND_SERVICE_PASSES_FUSION_PROGRESSION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {

// Elements, in the tensor's order, are base + first + the sum of step * digit: an element's index
// is read as a number of mixed radix. Reshaping changes nothing in it.
struct Progression {
  struct Digit {
    uint32_t extent = 1;
    int64_t step = 0;
    friend bool operator==(const Digit&, const Digit&) = default;
  };

  ValueId base = kNoValue;  // A tensor of one integer, known when the graph runs; or none.
  int64_t first = 0;
  std::vector<Digit> digits;  // The outermost first; as few as possible, none of extent 1.
  // The base was widened before anything was added; else sums with an int32 wrap around.
  bool is_wide = false;

  friend bool operator==(const Progression&, const Progression&) = default;
};

// Makes digits as few as possible.
std::vector<Progression::Digit> Coalesce(const std::vector<Progression::Digit>& digits);

// How `value`, of integers, progresses, if it does.
std::optional<Progression> MatchProgression(const GraphIndex& index, ValueId value);

// That of column `column` of a tensor whose last dimension lists columns.
std::optional<Progression> MatchColumn(const GraphIndex& index, ValueId value, uint32_t column);

// As `value` progresses when it is broadcast to `shape`.
std::optional<Progression> Broadcast(const Progression& progression, const webidl::Shape& from,
                                     const webidl::Shape& to);

// a + factor * b, element by element; at most one of them may have a base, and b only by factor 1.
std::optional<Progression> AddScaled(const Progression& a, const Progression& b, int64_t factor);

// Where a condition known in advance chooses the same operand of `where` everywhere, and the choice
// has the shape of the result: the operand. Else `value`.
ValueId SkipKnownChoice(const GraphIndex& index, ValueId value);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_PROGRESSION_H_

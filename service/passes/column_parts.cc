#include "service/passes/column_parts.h"

#include <algorithm>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {

ColumnParts ColumnParts::Whole(const AxisView& view, uint32_t per_word, uint32_t vectors_max) {
  ColumnParts parts;
  parts.planes = view.outer();
  parts.rows = view.axis;
  parts.words = view.inner / per_word;
  parts.vectors = std::min(DivideRoundingUp(parts.words, kColumnLanesMax), vectors_max);
  parts.across = DivideRoundingUp(parts.words, parts.vectors * kColumnLanesMax);
  parts.rows_of_part = parts.rows;
  parts.count = 1;
  return parts;
}

ColumnParts ColumnParts::Divided(const AxisView& view, uint32_t per_word) {
  // Of rows, some that a processor's caches keep, and no more than loops may have: with four lanes,
  // of two passes, and four turns for each row.
  constexpr uint32_t kVectorsMax = 4;
  constexpr uint32_t kUnitsWanted = 32;
  constexpr uint32_t kRowsMin = 64;
  constexpr uint32_t kRowsMax = 1 << 12;
  ColumnParts parts = Whole(view, per_word, kVectorsMax);
  const uint64_t wanted =
      std::max<uint64_t>(1, kUnitsWanted / (uint64_t{parts.planes} * parts.across));
  parts.rows_of_part = static_cast<uint32_t>(
      std::clamp<uint64_t>(DivideRoundingUp<uint64_t>(parts.rows, wanted), kRowsMin, kRowsMax));
  parts.count = DivideRoundingUp(parts.rows, parts.rows_of_part);
  return parts;
}

void ColumnParts::Fill(uint32_t passes, uint64_t bytes, uint32_t word, LoweredCall& call) const {
  call.parameters = {NarrowCast<uint32_t>(units()), rows, words, rows_of_part};
  AppendDivisor(across, call.parameters, word);
  AppendDivisor(count, call.parameters, planes);
  call.workgroups = units();
  // With few lanes, four turns for each row.
  const uint64_t turns = uint64_t{4} * passes * (std::min(rows, rows_of_part) + count);
  call.cost = std::max(bytes, units() * turns * kColumnLanesMax);
}

}  // namespace webnnd::service

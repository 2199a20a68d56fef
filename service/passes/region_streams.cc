#include "service/passes/region_streams.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/checked_math.h"

namespace webnnd::service {
namespace {

// Elements that the vectors of shaders/vectors_of_elements.glsl have at most.
uint32_t VectorMax(uint32_t bits) { return bits == 64 ? 8 : 16; }

// What workgroups take of `length` elements that follow each other, at least a vector: parts as
// long as each other, of which the last one begins early enough to be whole.
struct Parts {
  uint32_t count = 0;
  uint32_t length = 0;  // Of each.
};

Parts SplitByVectors(uint32_t length, uint32_t part_max, uint32_t bits) {
  const uint32_t count = DivideRoundingUp(length, part_max);
  const uint32_t vector = VectorMax(bits);
  const uint32_t part = DivideRoundingUp(DivideRoundingUp(length, count), vector) * vector;
  return {.count = count, .length = std::min(part, length)};
}

// Turns that lanes take for `parts` such parts, all lanes together: vectors, the shortest of which
// are four words, and one more turn of lanes for each part.
uint64_t LaneTurnsOf(uint64_t parts, const Parts& split) {
  constexpr uint32_t kWordsMax = 2;  // Of an element.
  return parts * (kWordsMax * uint64_t{split.length} + 32);
}

// What shaders/interleave.comp takes: streams of elements that follow each other on one side, and
// take turns on the other.
struct Streams {
  size_t along = 0;    // The dimension of a stream's elements.
  size_t across = 0;   // That of streams.
  bool apart = false;  // Where they lie apart: in the result, or in the source.
};

std::optional<Streams> FindStreams(const RegionCopy& copy, uint32_t bits,
                                   const LoweringBuilder& builder) {
  constexpr uint32_t kStreamsMin = 2;
  constexpr uint32_t kStreamsMax = 4;  // As in shaders/interleave.comp.
  const uint32_t vector = VectorMax(bits);
  const std::vector<StridedDimension>& dimensions = copy.dimensions;
  if (builder.wide() || bits < 8 || copy.run_stride != 0 || dimensions.size() < 2) {
    return std::nullopt;
  }
  const size_t last = dimensions.size() - 1;
  auto are_few = [&](size_t d) {
    return dimensions[d].size >= kStreamsMin && dimensions[d].size <= kStreamsMax;
  };
  for (size_t d = 0; d < last; ++d) {
    if (dimensions[d].strides[0] != 1) continue;
    if (d + 1 == last && are_few(last) && dimensions[d].size >= vector) {
      return Streams{.along = d, .across = last, .apart = false};
    }
    if (are_few(d) && dimensions[last].strides[0] == dimensions[d].size &&
        dimensions[last].size >= vector) {
      return Streams{.along = last, .across = d, .apart = true};
    }
  }
  return std::nullopt;
}

// Whether rows are pieces of the source from their ends on, that quads do not go along: those of
// shaders/copy_backwards.comp.
bool TakesRowsBackwards(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder) {
  const StridedDimension& last = copy.dimensions.back();
  if (builder.wide() || bits < 8 || copy.run_stride != 0 || last.strides[0] != ~uint32_t{0} ||
      last.size < VectorMax(bits)) {
    return false;
  }
  const uint32_t per_quad = 128 / bits;
  return bits == 64 || !HasQuads(copy, per_quad) ||
         AccessByQuads(copy.dimensions, per_quad, /*operand=*/0, copy.source_offset) ==
             QuadAccess::kStrided;
}

}  // namespace

bool FillInterleaveCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                        LoweredCall& call) {
  const std::optional<Streams> found = FindStreams(copy, bits, builder);
  if (!found) return false;
  const Streams& streams = *found;
  constexpr uint32_t kPartMax = 512;
  const auto [outer, result_step] = SplitOff(copy, streams.across, streams.along);
  const uint32_t count = copy.dimensions[streams.across].size;
  const uint32_t length = copy.dimensions[streams.along].size;
  const Parts split = SplitByVectors(length, kPartMax, bits);
  const uint64_t parts = ElementsOf(outer) * split.count;
  call.shader = shaders::ShaderId::kInterleave;
  call.specialization = {static_cast<uint32_t>(std::bit_width(bits) - 1), RankConstant(outer),
                         count, streams.apart};
  call.parameters = {NarrowCast<uint32_t>(parts),
                     static_cast<uint32_t>(outer.size()),
                     copy.source_offset,
                     copy.result_offset,
                     split.length,
                     streams.apart ? result_step : copy.dimensions[streams.across].strides[0],
                     length - split.length,
                     0};
  AppendDivisor(split.count, call.parameters);
  AppendDimensions(outer, call.parameters);
  call.workgroups = parts;
  call.cost = std::max(call.cost, LaneTurnsOf(parts, split));
  return true;
}

bool FillBackwardsCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                       LoweredCall& call) {
  if (!TakesRowsBackwards(copy, bits, builder)) return false;
  constexpr uint32_t kPartMax = 2048;
  const size_t last = copy.dimensions.size() - 1;
  const std::vector<StridedDimension> outer = SplitOff(copy, last, last).outer;
  const uint32_t length = copy.dimensions.back().size;
  const Parts split = SplitByVectors(length, kPartMax, bits);
  const uint64_t parts = ElementsOf(outer) * split.count;
  call.shader = shaders::ShaderId::kCopyBackwards;
  call.specialization = {static_cast<uint32_t>(std::bit_width(bits) - 1), RankConstant(outer)};
  call.parameters = {NarrowCast<uint32_t>(parts),
                     static_cast<uint32_t>(outer.size()),
                     copy.source_offset,
                     copy.result_offset,
                     split.length,
                     length - split.length,
                     0,
                     0};
  AppendDivisor(split.count, call.parameters);
  AppendDimensions(outer, call.parameters);
  call.workgroups = parts;
  call.cost = std::max(call.cost, LaneTurnsOf(parts, split));
  return true;
}

}  // namespace webnnd::service

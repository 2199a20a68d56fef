// copy_elements.comp on llvmpipe of a few streams of elements that become one in which they take turns, or the
// reverse: pixel shuffles, and images of two to four channels. Slot 1 -> slot 2. A workgroup, which is one subgroup,
// takes some elements of each stream as vectors, whose lanes change places.
//
// Parameters: 0 parts; 1 rank of the dimensions around streams; 2 first element of the source, and 3 of the result; 4
// elements of a part of a stream, of which a vector has no more; 5 from one stream to the next, where they lie apart;
// 6 where the last part begins, which shares elements with the one before it; in uvec4 2 {parts of a stream, as
// divisor}; from uvec4 3 on dimensions (strided.glsl; stride .x of the source, .y of the result). Specialisation
// constants: 1 log2 of the bits of an element, from 3 to 6, 2 rank, 3 streams, 4 whether they lie apart in the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "vectors_of_elements.glsl"

layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kStreams = 2u;
layout(constant_id = 4) const uint kPartsThem = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kStreamsMax = 4u;  // As in service/passes/region_streams.cc.

#define FOR_EACH_STREAM(j) [[unroll]] for (uint j = 0u; j < kStreamsMax; ++j) if (j < kStreams)

struct Vectors {
  uint of[kStreamsMax];
};

// What lane `lane` has of vector `number`.
uint ItemOf(Vectors vectors, uint number, uint lane) {
  uint item = subgroupShuffle(vectors.of[0], lane);
  [[unroll]] for (uint j = 1u; j < kStreamsMax; ++j) {
    if (j < kStreams) {
      const uint other = subgroupShuffle(vectors.of[j], lane);
      const bool is_other = number == j;
      item = is_other ? other : item;
    }
  }
  return item;
}

// n / kStreams of those that are less than 64.
uint DivideByStreams(uint n) { return (n * (65536u / kStreams + 1u)) >> 16; }

void TakeTurns(uint from, uint to) {
  Vectors streams;
  FOR_EACH_STREAM(j) streams.of[j] = LOAD_VECTOR(1, from + j * P(5));
  FOR_EACH_STREAM(k) {
    const uint element = PlaceInStretch(k) >> kLog2Items;
    const uint in_stream = DivideByStreams(element);
    const uint item = ItemOf(streams, element - in_stream * kStreams, LaneOfItem(in_stream));
    STORE_VECTOR(2, to + k * kElementsOfVector, item)
  }
}

void Part(uint from, uint to) {
  Vectors turns;
  FOR_EACH_STREAM(k) turns.of[k] = LOAD_VECTOR(1, from + k * kElementsOfVector);
  FOR_EACH_STREAM(j) {
    const uint from_lane = LaneOfItem(ElementOfLane() * kStreams + j);
    const uint item = ItemOf(turns, from_lane / kSubgroupSize, from_lane % kSubgroupSize);
    STORE_VECTOR(2, to + j * P(5), item)
  }
}

// First elements in the source and in the result.
uvec2 PlacesOfPart(uint part) {
  const uvec3 parts = P4(2).xyz;
  const uint line = Divide(part, parts);
  const uint first = min((part - line * parts.x) * P(4), P(6));
  const uvec2 offsets = StridedOffsets(line, 3u, P(1)).xy + uvec2(P(2), P(3));
  const uint of_source = kPartsThem != 0u ? kStreams : 1u;
  const uint of_result = kPartsThem != 0u ? 1u : kStreams;
  return offsets + first * uvec2(of_source, of_result);
}

void CopyPart(uint from, uint to) {
  const uint length = UNIFORM(P(4));
  for (uint i = UNKNOWN_ZERO; i < length; i += kElementsOfVector) {
    const uint first = min(i, length - kElementsOfVector);
    if (kPartsThem != 0u) {
      Part(from + first * kStreams, to + first);
    } else {
      TakeTurns(from + first, to + first * kStreams);
    }
  }
}

void main() { PLACED_UNITS_LOOP(P(0), PlacesOfPart, CopyPart) }

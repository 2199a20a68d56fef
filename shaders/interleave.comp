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
#include "subgroup.glsl"

layout(constant_id = 1) const uint kLog2Bits = 5u;
layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kStreams = 2u;
layout(constant_id = 4) const uint kPartsThem = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kStreamsMax = 4u;  // As in service/passes/region_copy.cc.

// Of 64 bits are pairs of words; what is one lane's is an item.
const uint kLog2Items = kLog2Bits == 6u ? 1u : 0u;
const uint kItem = kLog2Bits == 3u ? kUint8 : kLog2Bits == 4u ? kFloat16 : kUint32;
const uint kElementsOfVector = kSubgroupSize >> kLog2Items;

#define FOR_EACH_STREAM(j) [[unroll]] for (uint j = 0u; j < kStreamsMax; ++j) if (j < kStreams)

struct Vectors {
  uint of[kStreamsMax];
};

// One from an element on, whose number all invocations have.
uint LoadVector(uint e) { return LOAD_RAW(1, kItem, UNIFORM(e << kLog2Items) + gl_SubgroupInvocationID).x; }
void StoreVector(uint e, uint items) {
  STORE_ELEMENT(2, kItem, UNIFORM(e << kLog2Items) + gl_SubgroupInvocationID, uvec2(items, 0u))
}

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
  FOR_EACH_STREAM(j) streams.of[j] = LoadVector(from + j * P(5));
  FOR_EACH_STREAM(k) {
    const uint element = PlaceInStretch(k) >> kLog2Items;
    const uint in_stream = DivideByStreams(element);
    const uint lane = (in_stream << kLog2Items) + (gl_SubgroupInvocationID & kLog2Items);
    StoreVector(to + k * kElementsOfVector, ItemOf(streams, element - in_stream * kStreams, lane));
  }
}

void Part(uint from, uint to) {
  Vectors turns;
  FOR_EACH_STREAM(k) turns.of[k] = LoadVector(from + k * kElementsOfVector);
  FOR_EACH_STREAM(j) {
    const uint element = (gl_SubgroupInvocationID >> kLog2Items) * kStreams + j;
    const uint item = (element << kLog2Items) + (gl_SubgroupInvocationID & kLog2Items);
    StoreVector(to + j * P(5), ItemOf(turns, item / kSubgroupSize, item % kSubgroupSize));
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

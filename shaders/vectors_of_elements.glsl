// Elements of 8 to 64 bits that follow each other, as vectors of a subgroup: neighbours have neighbouring ones.
#ifndef WEBNND_SHADERS_VECTORS_OF_ELEMENTS_GLSL_
#define WEBNND_SHADERS_VECTORS_OF_ELEMENTS_GLSL_

#include "subgroup.glsl"

layout(constant_id = 1) const uint kLog2Bits = 5u;

// What is one lane's is an item: an element, or a word of one of 64 bits.
const uint kLog2Items = kLog2Bits == 6u ? 1u : 0u;
const uint kItem = kLog2Bits == 3u ? kUint8 : kLog2Bits == 4u ? kFloat16 : kUint32;
const uint kElementsOfVector = kSubgroupSize >> kLog2Items;

// The vector from an element on, whose number all invocations have.
#define LOAD_VECTOR(slot, e) LOAD_RAW(slot, kItem, UNIFORM((e) << kLog2Items) + gl_SubgroupInvocationID).x
#define STORE_VECTOR(slot, e, items) \
  STORE_ELEMENT(slot, kItem, UNIFORM((e) << kLog2Items) + gl_SubgroupInvocationID, uvec2(items, 0u))

// Of which element of a vector this lane has an item, and the lane that has such a one of another.
uint ElementOfLane() { return gl_SubgroupInvocationID >> kLog2Items; }
uint LaneOfItem(uint element) { return (element << kLog2Items) + (gl_SubgroupInvocationID & kLog2Items); }

#endif  // WEBNND_SHADERS_VECTORS_OF_ELEMENTS_GLSL_

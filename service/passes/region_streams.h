// Calls that move a region by vectors of elements which follow each other on both sides, but for
// the lanes that they change: streams that take turns, and rows from their ends on.
#ifndef WEBNND_SERVICE_PASSES_REGION_STREAMS_H_
#define WEBNND_SERVICE_PASSES_REGION_STREAMS_H_

#include <cstdint>

#include "service/passes/lowering.h"
#include "service/passes/region.h"

namespace webnnd::service {

// Each fills `call` and returns true, or leaves it where its shader does not take the region.

// shaders/interleave.comp.
bool FillInterleaveCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                        LoweredCall& call);
// shaders/copy_backwards.comp.
bool FillBackwardsCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                       LoweredCall& call);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_REGION_STREAMS_H_

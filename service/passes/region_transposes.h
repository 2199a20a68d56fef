// Calls that move a region whose elements follow each other in the source along another dimension
// than in the result: rows of one side are columns of the other.
#ifndef WEBNND_SERVICE_PASSES_REGION_TRANSPOSES_H_
#define WEBNND_SERVICE_PASSES_REGION_TRANSPOSES_H_

#include <cstdint>

#include "service/passes/lowering.h"
#include "service/passes/region.h"

namespace webnnd::service {

// Each fills `call` and returns true, or leaves it where its shader does not take the region.

// shaders/transpose.comp, where rows of both sides begin and end with quads.
bool FillTransposeCall(const RegionCopy& copy, uint32_t per_quad, const LoweringBuilder& builder,
                       LoweredCall& call);
// shaders/transpose_words.comp, where they begin anywhere and are long enough.
bool FillTransposeWordsCall(const RegionCopy& copy, uint32_t bits, const LoweringBuilder& builder,
                            LoweredCall& call);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_REGION_TRANSPOSES_H_

// Recurrent weights of gru and lstm in the order in which llvmpipe's subgroups multiply them.
#ifndef WEBNND_SERVICE_PASSES_RECURRENT_WEIGHTS_H_
#define WEBNND_SERVICE_PASSES_RECURRENT_WEIGHTS_H_

#include <cstdint>

#include "service/passes/compile.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// [directions, gates * hidden, hidden], as an operator has them, gives a subgroup, whose lanes
// compute an element of the state each, rows that lie apart. Packed they are [directions, hidden /
// 16, hidden, gates * 16], of float32 whatever they were: what 16 elements multiply with one of the
// state lies together, and all that they read is one piece (shaders/recurrent.glsl).
struct RecurrentWeights {
  ValueId value = kNoValue;
  uint32_t directions = 1;
  uint32_t gates = 0;
  uint32_t hidden = 0;
};

// Whether kernels can take them packed.
bool CanPack(const RecurrentWeights& weights, const webidl::OperandDescriptor& descriptor,
             const DeviceTraits& device);
// Whether they are.
bool IsPacked(const webidl::OperandDescriptor& weights);
// What becomes of them in the kernels that `builder` is given: packed anew at each dispatch.
Result<ValueId> AddPacked(const RecurrentWeights& weights, LoweringBuilder& builder);

// Packs those of a static graph that are constants, once, while what is added takes no more than
// kPackedRecurrentBytesMax. What only these operators read is not kept.
inline constexpr uint64_t kPackedRecurrentBytesMax = uint64_t{64} << 20;
Status PackRecurrentWeights(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_RECURRENT_WEIGHTS_H_

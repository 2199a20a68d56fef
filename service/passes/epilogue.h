// What a kernel computes after its sums, as shaders/epilogue.glsl reads it.
#ifndef WEBNND_SERVICE_PASSES_EPILOGUE_H_
#define WEBNND_SERVICE_PASSES_EPILOGUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "service/graph/graph.h"

namespace webnnd::service {

// The activation behind a node's sums; none where the node has none.
std::optional<Activation> ActivationOf(const Node& node);
// The residual that is added to them, or kNoValue.
ValueId ResidualOf(const Node& node);

// Specialisation constant EPILOGUE_CONSTANT.
uint32_t ActivationConstant(const std::optional<Activation>& activation);
// Writes the words from kEpilogueWord on: behind those of any module with an epilogue.
void AppendActivation(const std::optional<Activation>& activation,
                      std::vector<uint32_t>& parameters);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_EPILOGUE_H_

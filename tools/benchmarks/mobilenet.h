// MobileNetV2 (arXiv:1801.04381, table 2, width 1), as a graph of the public API.
#ifndef WEBNND_TOOLS_BENCHMARKS_MOBILENET_H_
#define WEBNND_TOOLS_BENCHMARKS_MOBILENET_H_

#include <cstddef>
#include <cstdint>

#include "client/webnn.h"

namespace webnnd::benchmarks {

struct MobileNet {
  webnn::Operand logits;     // [1, 1000]
  uint64_t parameters = 0;   // Weights and biases.
  double multiply_adds = 0;  // Of one image.
  uint32_t convolutions = 0;
};

// Adds the network to `builder`: `image` is float32 [1, 3, 224, 224]. Batch normalizations count as
// folded into the convolutions before them, as exporters do, so that each has a bias. Weights are
// drawn from `seed` and scaled so that values neither vanish nor overflow from layer to layer.
webnn::Result<MobileNet> AddMobileNetV2(webnn::GraphBuilder& builder, const webnn::Operand& image,
                                        uint32_t seed);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MOBILENET_H_

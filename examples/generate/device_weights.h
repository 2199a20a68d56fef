// The weights on the device, as constant tensors that all graphs of a model share.
#ifndef WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_
#define WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/model.h"

namespace webnnd::generate {

using TensorPtr = std::shared_ptr<webnn::Tensor>;

struct DeviceLayer {
  TensorPtr attention_norm;
  TensorPtr query;
  TensorPtr key;
  TensorPtr value;
  TensorPtr attention_output;
  TensorPtr mlp_norm;
  TensorPtr gate;
  TensorPtr up;
  TensorPtr down;
};

// All float32, in the shapes of ModelWeights.
struct DeviceWeights {
  TensorPtr embedding;
  std::vector<DeviceLayer> layers;
  TensorPtr final_norm;
  TensorPtr head;  // The embedding's tensor itself where the two are tied.
  // cos and sin of position * theta^(-2j / head_dim): [positions, head_dim / 2].
  TensorPtr rope_cos;
  TensorPtr rope_sin;
};

// Called as tensors arrive on the device, with the bytes done and the bytes in all.
using LoadProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Uploads one tensor after another; at most one is held in this process at a time, and those that
// are stored as float32 are read by the service from the file.
Result<DeviceWeights> UploadWeights(webnn::ML& ml, webnn::Context& context, const Model& model,
                                    uint32_t positions, const LoadProgress& progress);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_

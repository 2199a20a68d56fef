// The weights on the device, as constant tensors that all graphs of a model share.
#ifndef WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_
#define WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/model.h"

namespace webnnd::generate {

using TensorPtr = std::shared_ptr<webnn::Tensor>;

// How projections and embeddings are kept on the device.
enum class WeightFormat : uint8_t {
  kFloat32,
  kQ4,  // Blocks of four-bit codes with a scale and a zero point each (quantize.h).
};

// Rows of a matrix that lie together.
struct MatrixPart {
  uint32_t rows = 0;
  // float32 [rows, columns], or uint4 [rows, columns / block, block] with float32 scales and uint4
  // zero points [rows, columns / block, 1].
  TensorPtr values;
  TensorPtr scales;
  TensorPtr zero_points;

  bool quantized() const { return scales != nullptr; }
};

// [rows, columns]. In several parts where it is larger than PartLimits allow.
struct DeviceMatrix {
  uint32_t columns = 0;
  std::vector<MatrixPart> parts;
};

// Gains and biases are float32 vectors; biases may be nullptr.
struct DeviceLayer {
  TensorPtr attention_norm;
  DeviceMatrix query;
  DeviceMatrix key;
  DeviceMatrix value;
  DeviceMatrix attention_output;
  TensorPtr mlp_norm;
  DeviceMatrix gate;
  DeviceMatrix up;
  DeviceMatrix down;
  TensorPtr query_bias;
  TensorPtr key_bias;
  TensorPtr value_bias;
};

struct DeviceWeights {
  DeviceMatrix embedding;
  std::vector<DeviceLayer> layers;
  TensorPtr final_norm;
  DeviceMatrix head;  // Shares the embedding's tensors where the two are tied.
  // cos and sin of position * theta^(-2j / head_dim): [positions, head_dim / 2].
  TensorPtr rope_cos;
  TensorPtr rope_sin;
};

// Called as tensors arrive on the device, with the weights done and the weights in all.
using LoadProgress = std::function<void(uint64_t done, uint64_t total)>;

// What every Vulkan device lets one kernel bind.
inline constexpr uint64_t kBindableBytes = 128 << 20;

// Larger matrices are cut by rows.
struct PartLimits {
  // Of a part as it is stored, which kernels bind.
  uint64_t stored_bytes_max = kBindableBytes;
  // Of a part as float32. Quantized weights stand in graphs so as well, and kernels bind them where
  // the service does not see that a product can do without: then this is to be kBindableBytes. A
  // tensor of the context may have less.
  uint64_t float_bytes_max = std::numeric_limits<uint64_t>::max();
};

// Rows of each part, but the last, of a matrix of `rows`: as few parts as `rows_max` (not 0) allows,
// about alike, and multiples of 64 rows, which kernels read together, where there is room for them.
uint32_t RowsPerPart(uint32_t rows, uint64_t rows_max);

struct UploadOptions {
  WeightFormat format = WeightFormat::kFloat32;
  uint32_t positions = 0;  // Rows of the RoPE tables.
  PartLimits part_limits;
};

// Uploads one tensor after another; at most one part is held in this process at a time, and those
// that are stored as float32 are read by the service from the file.
Result<DeviceWeights> UploadWeights(webnn::ML& ml, webnn::Context& context, const Model& model,
                                    const UploadOptions& options, const LoadProgress& progress);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_DEVICE_WEIGHTS_H_

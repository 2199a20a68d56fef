#include "examples/generate/device_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

namespace webnnd::generate {
namespace {

class Uploader {
 public:
  Uploader(webnn::ML& ml, webnn::Context& context, uint64_t total_bytes,
           const LoadProgress& progress)
      : ml_(ml), context_(context), total_bytes_(total_bytes), progress_(progress) {}

  Result<TensorPtr> Upload(const StoredTensor& stored) {
    auto tensor = stored.IsPlainFloat32() ? SendFile(stored) : SendWidened(stored);
    if (!tensor.ok()) {
      return std::move(tensor).error().AddContext(fmt::format("loading tensor ({})", stored.name));
    }
    done_bytes_ += stored.element_count() * sizeof(float);
    progress_(done_bytes_, total_bytes_);
    return tensor;
  }

  Result<DeviceLayer> UploadLayer(const LayerWeights& layer) {
    DeviceLayer device;
    ASSIGN_OR_RETURN(device.attention_norm, Upload(layer.attention_norm));
    ASSIGN_OR_RETURN(device.query, Upload(layer.query));
    ASSIGN_OR_RETURN(device.key, Upload(layer.key));
    ASSIGN_OR_RETURN(device.value, Upload(layer.value));
    ASSIGN_OR_RETURN(device.attention_output, Upload(layer.attention_output));
    ASSIGN_OR_RETURN(device.mlp_norm, Upload(layer.mlp_norm));
    ASSIGN_OR_RETURN(device.gate, Upload(layer.gate));
    ASSIGN_OR_RETURN(device.up, Upload(layer.up));
    ASSIGN_OR_RETURN(device.down, Upload(layer.down));
    return device;
  }

  Result<TensorPtr> UploadFloats(const webnn::Shape& shape, std::span<const float> values) {
    return ml_.Wait(context_.CreateConstantTensor(webnn::OperandDataType::kFloat32, shape,
                                                  std::as_bytes(values)));
  }

 private:
  Result<TensorPtr> SendFile(const StoredTensor& stored) {
    return ml_.Wait(context_.CreateConstantTensorFromFile(webnn::OperandDataType::kFloat32,
                                                          stored.shape, stored.file->descriptor(),
                                                          stored.offset_bytes));
  }

  Result<TensorPtr> SendWidened(const StoredTensor& stored) {
    // A fresh buffer each time, given back at once: the next step, building, needs the memory.
    std::vector<float> floats(stored.element_count());
    TRY(stored.ReadFloats(floats));
    return UploadFloats(stored.shape, floats);
  }

  webnn::ML& ml_;
  webnn::Context& context_;
  uint64_t total_bytes_;
  const LoadProgress& progress_;
  uint64_t done_bytes_ = 0;
};

}  // namespace

Result<DeviceWeights> UploadWeights(webnn::ML& ml, webnn::Context& context, const Model& model,
                                    uint32_t positions, const LoadProgress& progress) {
  const ModelWeights& weights = model.weights;
  Uploader uploader(ml, context, weights.float32_bytes(), progress);
  DeviceWeights device;
  ASSIGN_OR_RETURN(device.embedding, uploader.Upload(weights.embedding));
  for (const LayerWeights& layer : weights.layers) {
    ASSIGN_OR_RETURN(DeviceLayer uploaded, uploader.UploadLayer(layer));
    device.layers.push_back(std::move(uploaded));
  }
  ASSIGN_OR_RETURN(device.final_norm, uploader.Upload(weights.final_norm));
  device.head = device.embedding;
  if (weights.head) {
    ASSIGN_OR_RETURN(device.head, uploader.Upload(*weights.head));
  }

  uint32_t pairs = model.config.head_dim / 2;
  std::vector<float> cosines, sines;
  for (uint32_t position = 0; position < positions; ++position) {
    for (uint32_t j = 0; j < pairs; ++j) {
      double angle = position * std::pow(model.config.rope_theta, -1.0 * j / pairs);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  ASSIGN_OR_RETURN(device.rope_cos, uploader.UploadFloats({positions, pairs}, cosines));
  ASSIGN_OR_RETURN(device.rope_sin, uploader.UploadFloats({positions, pairs}, sines));
  return device;
}

}  // namespace webnnd::generate

#include "examples/generate/device_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "examples/generate/quantize.h"

namespace webnnd::generate {
namespace {

using webnn::OperandDataType;

// Floats that are quantized at a time.
constexpr uint64_t kQuantizeChunk = 1 << 18;
// Kernels read what belongs to so many rows together.
constexpr uint64_t kRowsMultiple = 64;

class Uploader {
 public:
  Uploader(webnn::ML& ml, webnn::Context& context, const UploadOptions& options, uint64_t total,
           const LoadProgress& progress)
      : ml_(ml), context_(context), options_(options), total_(total), progress_(progress) {}

  Result<TensorPtr> Vector(const StoredTensor& stored) {
    auto tensor = SendRows(stored, 0, stored.element_count() / stored.row_elements());
    if (!tensor.ok()) return Failed(std::move(tensor).error(), stored);
    Advance(stored.element_count());
    return tensor;
  }

  Result<TensorPtr> OptionalVector(const std::optional<StoredTensor>& stored) {
    if (!stored) return TensorPtr();
    return Vector(*stored);
  }

  // `stored` has been checked to be a matrix.
  Result<DeviceMatrix> Matrix(const StoredTensor& stored) {
    DeviceMatrix matrix{.columns = stored.shape[1], .parts = {}};
    bool quantize = options_.format == WeightFormat::kQ4 && matrix.columns % kQuantizedBlock == 0;
    const uint32_t rows_per_part = RowsPerPart(stored.shape[0], RowsMax(matrix.columns, quantize));
    for (uint32_t first = 0; first < stored.shape[0]; first += rows_per_part) {
      uint32_t rows = std::min(rows_per_part, stored.shape[0] - first);
      auto part = quantize ? QuantizedPart(stored, first, rows) : FloatPart(stored, first, rows);
      if (!part.ok()) return Failed(std::move(part).error(), stored);
      matrix.parts.push_back(std::move(part).value());
      Advance(uint64_t{rows} * matrix.columns);
    }
    return matrix;
  }

  Result<DeviceLayer> Layer(const LayerWeights& layer) {
    DeviceLayer device;
    ASSIGN_OR_RETURN(device.attention_norm, Vector(layer.attention_norm));
    ASSIGN_OR_RETURN(device.query, Matrix(layer.query));
    ASSIGN_OR_RETURN(device.key, Matrix(layer.key));
    ASSIGN_OR_RETURN(device.value, Matrix(layer.value));
    ASSIGN_OR_RETURN(device.attention_output, Matrix(layer.attention_output));
    ASSIGN_OR_RETURN(device.mlp_norm, Vector(layer.mlp_norm));
    ASSIGN_OR_RETURN(device.gate, Matrix(layer.gate));
    ASSIGN_OR_RETURN(device.up, Matrix(layer.up));
    ASSIGN_OR_RETURN(device.down, Matrix(layer.down));
    ASSIGN_OR_RETURN(device.query_bias, OptionalVector(layer.query_bias));
    ASSIGN_OR_RETURN(device.key_bias, OptionalVector(layer.key_bias));
    ASSIGN_OR_RETURN(device.value_bias, OptionalVector(layer.value_bias));
    return device;
  }

  Result<TensorPtr> SendFloats(const webnn::Shape& shape, std::span<const float> values) {
    return Send(OperandDataType::kFloat32, shape, std::as_bytes(values));
  }

 private:
  // Of a part; a row that is too large is left to the service to refuse.
  uint64_t RowsMax(uint32_t columns, bool quantize) const {
    const uint64_t float_bytes_max = std::min(options_.part_limits.float_bytes_max,
                                              context_.op_support_limits().max_tensor_byte_length);
    const uint64_t row_float_bytes = columns * sizeof(float);
    const uint64_t row_stored_bytes = quantize ? columns / 2 : row_float_bytes;
    return std::max<uint64_t>(std::min(options_.part_limits.stored_bytes_max / row_stored_bytes,
                                       float_bytes_max / row_float_bytes),
                              1);
  }

  Result<TensorPtr> Send(OperandDataType type, const webnn::Shape& shape,
                         std::span<const std::byte> bytes) {
    return ml_.Wait(context_.CreateConstantTensor(type, shape, bytes));
  }

  // Rows of a matrix, or the elements of a vector, as float32.
  Result<TensorPtr> SendRows(const StoredTensor& stored, uint32_t first, uint64_t rows) {
    webnn::Shape shape = stored.shape;
    if (shape.size() > 1) shape[0] = static_cast<uint32_t>(rows);
    if (stored.IsPlainFloat32()) {
      uint64_t skipped_bytes = first * stored.row_elements() * sizeof(float);
      return ml_.Wait(context_.CreateConstantTensorFromFile(OperandDataType::kFloat32, shape,
                                                            stored.file->descriptor(),
                                                            stored.offset_bytes + skipped_bytes));
    }
    // A fresh buffer each time, given back at once: the next step, building, needs the memory.
    std::vector<float> floats(rows * stored.row_elements());
    TRY(stored.ReadRows(first, floats));
    return SendFloats(shape, floats);
  }

  Result<MatrixPart> FloatPart(const StoredTensor& stored, uint32_t first, uint32_t rows) {
    MatrixPart part{.rows = rows};
    ASSIGN_OR_RETURN(part.values, SendRows(stored, first, rows));
    return part;
  }

  Result<MatrixPart> QuantizedPart(const StoredTensor& stored, uint32_t first, uint32_t rows) {
    uint32_t columns = stored.shape[1];
    uint32_t blocks = columns / kQuantizedBlock;
    QuantizedWeights quantized;
    quantized.values.Reserve(size_t{rows} * columns);
    uint64_t rows_at_once = std::max<uint64_t>(kQuantizeChunk / columns, 1);
    std::vector<float> floats;
    for (uint64_t row = 0; row < rows; row += rows_at_once) {
      floats.resize(std::min(rows_at_once, rows - row) * columns);
      TRY(stored.ReadRows(first + row, floats));
      QuantizeBlocks(floats, quantized);
    }
    MatrixPart part{.rows = rows};
    ASSIGN_OR_RETURN(part.values, Send(OperandDataType::kUint4, {rows, blocks, kQuantizedBlock},
                                       std::as_bytes(quantized.values.bytes())));
    ASSIGN_OR_RETURN(part.scales, SendFloats({rows, blocks, 1}, quantized.scales));
    ASSIGN_OR_RETURN(part.zero_points, Send(OperandDataType::kUint4, {rows, blocks, 1},
                                            std::as_bytes(quantized.zero_points.bytes())));
    return part;
  }

  static Error Failed(Error error, const StoredTensor& stored) {
    return std::move(error).AddContext(fmt::format("loading tensor ({})", stored.name));
  }

  void Advance(uint64_t weights) {
    done_ += weights;
    progress_(done_, total_);
  }

  webnn::ML& ml_;
  webnn::Context& context_;
  const UploadOptions options_;
  const uint64_t total_;
  const LoadProgress& progress_;
  uint64_t done_ = 0;
};

}  // namespace

uint32_t RowsPerPart(uint32_t rows, uint64_t rows_max) {
  CHECK(rows > 0 && rows_max > 0);
  const uint64_t multiple = rows_max < kRowsMultiple ? 1 : kRowsMultiple;
  const uint64_t parts = DivideRoundingUp<uint64_t>(rows, rows_max - rows_max % multiple);
  return NarrowCast<uint32_t>(AlignUp(DivideRoundingUp<uint64_t>(rows, parts), multiple));
}

Result<DeviceWeights> UploadWeights(webnn::ML& ml, webnn::Context& context, const Model& model,
                                    const UploadOptions& options, const LoadProgress& progress) {
  const ModelWeights& weights = model.weights;
  Uploader uploader(ml, context, options, weights.element_count(), progress);
  DeviceWeights device;
  // The largest first: what carries it over is gone before much else is there.
  ASSIGN_OR_RETURN(device.embedding, uploader.Matrix(weights.embedding));
  device.head = device.embedding;
  if (weights.head) {
    ASSIGN_OR_RETURN(device.head, uploader.Matrix(*weights.head));
  }
  for (const LayerWeights& layer : weights.layers) {
    ASSIGN_OR_RETURN(DeviceLayer uploaded, uploader.Layer(layer));
    device.layers.push_back(std::move(uploaded));
  }
  ASSIGN_OR_RETURN(device.final_norm, uploader.Vector(weights.final_norm));

  uint32_t pairs = model.config.head_dim / 2;
  std::vector<float> cosines, sines;
  for (uint32_t position = 0; position < options.positions; ++position) {
    for (uint32_t j = 0; j < pairs; ++j) {
      double angle = position * std::pow(model.config.rope_theta, -1.0 * j / pairs);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  ASSIGN_OR_RETURN(device.rope_cos, uploader.SendFloats({options.positions, pairs}, cosines));
  ASSIGN_OR_RETURN(device.rope_sin, uploader.SendFloats({options.positions, pairs}, sines));
  return device;
}

}  // namespace webnnd::generate

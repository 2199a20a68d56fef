// The weights of a model by role, wherever they are stored: what the graph is built from.
#ifndef WEBNND_EXAMPLES_GENERATE_WEIGHTS_H_
#define WEBNND_EXAMPLES_GENERATE_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "examples/generate/config.h"
#include "examples/generate/file.h"

namespace webnnd::generate {

enum class StoredType : uint8_t { kFloat32, kFloat16, kBfloat16 };

std::string_view StoredTypeName(StoredType type);
uint32_t StoredTypeBytes(StoredType type);

// One tensor in a file, row-major, little-endian. Nothing is read until ReadRows.
struct StoredTensor {
  std::string name;
  std::shared_ptr<const ReadOnlyFile> file;
  uint64_t offset_bytes = 0;
  StoredType type = StoredType::kFloat32;
  std::vector<uint32_t> shape;
  // Not 0: the rows are the outputs of attention heads of this width whose RoPE pairs are
  // (2j, 2j + 1); reading reorders them so that the pairs are (j, j + head_dim / 2).
  uint32_t interleaved_head_dim = 0;

  uint64_t element_count() const;
  // Of the last dimension: 1 for a scalar.
  uint64_t row_elements() const { return shape.empty() ? 1 : shape.back(); }
  // Whether the file holds exactly the bytes that ReadRows gives.
  bool IsPlainFloat32() const { return type == StoredType::kFloat32 && interleaved_head_dim == 0; }
  // Rows from `first_row` on, widened to float32, as many as `out` has room for: whole rows within
  // the tensor. Reads the file in chunks, so that no second copy exists.
  Status ReadRows(uint64_t first_row, std::span<float> out) const;
};

// Projections are [out, in], biases [out].
struct LayerWeights {
  StoredTensor attention_norm;
  StoredTensor query;
  StoredTensor key;
  StoredTensor value;
  StoredTensor attention_output;
  StoredTensor mlp_norm;
  StoredTensor gate;
  StoredTensor up;
  StoredTensor down;
  // All three where the configuration has projection_biases.
  std::optional<StoredTensor> query_bias;
  std::optional<StoredTensor> key_bias;
  std::optional<StoredTensor> value_bias;
};

struct ModelWeights {
  StoredTensor embedding;  // [vocabulary, hidden]
  std::vector<LayerWeights> layers;
  StoredTensor final_norm;
  // [vocabulary, hidden]; absent when the embedding serves as the head too.
  std::optional<StoredTensor> head;

  // Elements of all tensors.
  uint64_t element_count() const;
};

// The shape that the role must have under `config`; a Validation error when the tensor's differs.
Status CheckShape(const StoredTensor& tensor, std::span<const uint32_t> expected);

// Checks every tensor of the model against the configuration.
Status CheckShapes(const ModelConfig& config, const ModelWeights& weights);

// IEEE 754 binary16 to binary32, exactly (infinities and NaN included).
float HalfToFloat(uint16_t half);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_WEIGHTS_H_

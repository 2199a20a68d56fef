#include "examples/generate/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace webnnd::generate {
namespace {

// Large enough for the disk, small beside any model.
constexpr uint64_t kReadChunkBytes = 1 << 20;

void Widen(StoredType type, const std::byte* stored, std::span<float> out) {
  switch (type) {
    case StoredType::kFloat32:
      memcpy(out.data(), stored, out.size_bytes());
      return;
    case StoredType::kFloat16:
      for (size_t i = 0; i < out.size(); ++i) {
        uint16_t half;
        memcpy(&half, stored + 2 * i, sizeof(half));
        out[i] = HalfToFloat(half);
      }
      return;
    case StoredType::kBfloat16:
      for (size_t i = 0; i < out.size(); ++i) {
        uint16_t upper;
        memcpy(&upper, stored + 2 * i, sizeof(upper));
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(upper) << 16);
      }
      return;
  }
  UNREACHABLE();
}

// Where the row that belongs at `row` when the pairs are (j, j + head_dim / 2) lies when they are
// (2j, 2j + 1).
uint64_t InterleavedRow(uint64_t row, uint32_t head_dim) {
  uint64_t within = row % head_dim;
  uint32_t half = head_dim / 2;
  return row - within + 2 * (within % half) + within / half;
}

}  // namespace

std::string_view StoredTypeName(StoredType type) {
  constexpr std::array<std::string_view, 3> kNames = {"F32", "F16", "BF16"};
  return kNames[static_cast<size_t>(type)];
}

uint32_t StoredTypeBytes(StoredType type) { return type == StoredType::kFloat32 ? 4 : 2; }

float HalfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {  // Infinity, or NaN with its payload.
    return std::bit_cast<float>(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  }
  // The exponent's bias differs by 112; the multiplication also normalises subnormals, exactly.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint64_t StoredTensor::element_count() const {
  uint64_t count = 1;
  for (uint32_t dimension : shape) count *= dimension;
  return count;
}

Status StoredTensor::ReadRows(uint64_t first_row, std::span<float> out) const {
  if (out.empty()) return {};
  CHECK(out.size() % row_elements() == 0);
  CHECK(first_row * row_elements() + out.size() <= element_count());
  uint32_t element_bytes = StoredTypeBytes(type);
  // A permuted tensor is read row by row, each from its place.
  uint64_t chunk_elements = interleaved_head_dim != 0
                                ? row_elements()
                                : std::max<uint64_t>(kReadChunkBytes / element_bytes, 1);
  std::vector<std::byte> stored(std::min<uint64_t>(chunk_elements, out.size()) * element_bytes);
  for (uint64_t at = 0; at < out.size(); at += chunk_elements) {
    uint64_t count = std::min<uint64_t>(chunk_elements, out.size() - at);
    uint64_t from = first_row * row_elements() + at;
    if (interleaved_head_dim != 0) {
      from = InterleavedRow(from / row_elements(), interleaved_head_dim) * row_elements();
    }
    auto bytes = std::span(stored).first(count * element_bytes);
    TRY_DOING(file->ReadAt(offset_bytes + from * element_bytes, bytes), "reading tensor ({})",
              name);
    Widen(type, bytes.data(), out.subspan(at, count));
  }
  return {};
}

uint64_t ModelWeights::element_count() const {
  uint64_t elements = embedding.element_count() + final_norm.element_count();
  if (head) elements += head->element_count();
  for (const LayerWeights& layer : layers) {
    for (const StoredTensor* tensor :
         {&layer.attention_norm, &layer.query, &layer.key, &layer.value, &layer.attention_output,
          &layer.mlp_norm, &layer.gate, &layer.up, &layer.down}) {
      elements += tensor->element_count();
    }
    for (const auto* bias : {&layer.query_bias, &layer.key_bias, &layer.value_bias}) {
      if (*bias) elements += (*bias)->element_count();
    }
  }
  return elements;
}

Status CheckShape(const StoredTensor& tensor, std::span<const uint32_t> expected) {
  INVALID_IF(!std::ranges::equal(tensor.shape, expected),
             "the shape of tensor ({}) is ([{}]) where the configuration asks for [{}]",
             tensor.name, fmt::join(tensor.shape, ","), fmt::join(expected, ","));
  return {};
}

Status CheckShapes(const ModelConfig& config, const ModelWeights& weights) {
  using Dimensions = std::vector<uint32_t>;
  const Dimensions vocabulary_matrix = {config.vocabulary_size, config.hidden_size};
  const Dimensions gain = {config.hidden_size};
  const Dimensions query = {config.query_width(), config.hidden_size};
  const Dimensions key = {config.key_width(), config.hidden_size};
  const Dimensions attention_output = {config.hidden_size, config.query_width()};
  const Dimensions widening = {config.intermediate_size, config.hidden_size};
  const Dimensions narrowing = {config.hidden_size, config.intermediate_size};
  TRY(CheckShape(weights.embedding, vocabulary_matrix));
  TRY(CheckShape(weights.final_norm, gain));
  if (weights.head) TRY(CheckShape(*weights.head, vocabulary_matrix));
  for (const LayerWeights& layer : weights.layers) {
    TRY(CheckShape(layer.attention_norm, gain));
    TRY(CheckShape(layer.query, query));
    TRY(CheckShape(layer.key, key));
    TRY(CheckShape(layer.value, key));
    TRY(CheckShape(layer.attention_output, attention_output));
    TRY(CheckShape(layer.mlp_norm, gain));
    TRY(CheckShape(layer.gate, widening));
    TRY(CheckShape(layer.up, widening));
    TRY(CheckShape(layer.down, narrowing));
    if (!config.projection_biases) continue;
    TRY(CheckShape(*layer.query_bias, {{config.query_width()}}));
    TRY(CheckShape(*layer.key_bias, {{config.key_width()}}));
    TRY(CheckShape(*layer.value_bias, {{config.key_width()}}));
  }
  return {};
}

}  // namespace webnnd::generate

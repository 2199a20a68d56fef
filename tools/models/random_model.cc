#include "tools/models/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace webnnd::models {
namespace {

using generate::ModelConfig;
using generate::StoredType;

constexpr uint64_t kChunkElements = 1 << 18;

struct RandomTensor {
  std::string name;
  std::vector<uint32_t> shape;
  double mean;
  double deviation;

  uint64_t element_count() const {
    uint64_t count = 1;
    for (uint32_t dimension : shape) count *= dimension;
    return count;
  }
};

// In the order of the file.
std::vector<RandomTensor> ListTensors(const ModelConfig& config) {
  const uint32_t hidden = config.hidden_size;
  const uint32_t inner = config.intermediate_size;
  const uint32_t query = config.query_width();
  const uint32_t key = config.key_width();
  const double root_hidden = std::sqrt(hidden);
  // What joins the residual stream is scaled down with depth.
  const double residual = 1.5 / std::sqrt(2.0 * config.layer_count);
  std::vector<RandomTensor> tensors;
  tensors.push_back({"model.embed_tokens.weight", {config.vocabulary_size, hidden}, 0, 0.05});
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    auto add = [&](const char* name, std::vector<uint32_t> shape, double mean, double deviation) {
      tensors.push_back(
          {fmt::format("model.layers.{}.{}", layer, name), std::move(shape), mean, deviation});
    };
    add("input_layernorm.weight", {hidden}, 1, 0.1);
    add("self_attn.q_proj.weight", {query, hidden}, 0, 1.5 / root_hidden);
    add("self_attn.k_proj.weight", {key, hidden}, 0, 1.5 / root_hidden);
    add("self_attn.v_proj.weight", {key, hidden}, 0, 1 / root_hidden);
    if (config.projection_biases) {
      add("self_attn.q_proj.bias", {query}, 0, 0.5);
      add("self_attn.k_proj.bias", {key}, 0, 0.5);
      add("self_attn.v_proj.bias", {key}, 0, 0.2);
    }
    add("self_attn.o_proj.weight", {hidden, query}, 0, residual / std::sqrt(query));
    add("post_attention_layernorm.weight", {hidden}, 1, 0.1);
    add("mlp.gate_proj.weight", {inner, hidden}, 0, 1 / root_hidden);
    add("mlp.up_proj.weight", {inner, hidden}, 0, 1 / root_hidden);
    add("mlp.down_proj.weight", {hidden, inner}, 0, residual / std::sqrt(inner) * 2);
  }
  tensors.push_back({"model.norm.weight", {hidden}, 1, 0.1});
  if (!config.tied_embeddings) {
    tensors.push_back({"lm_head.weight", {config.vocabulary_size, hidden}, 0, 0.05});
  }
  return tensors;
}

// The CRC of zlib, bit by bit: for names.
uint32_t Crc32(std::string_view text) {
  uint32_t crc = ~0u;
  for (char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// Uniform in [-1, 1): splitmix64 of the counter, its upper 24 bits.
double UniformAt(uint64_t counter) {
  uint64_t z = counter * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(z >> 40) / 0x1p23 - 1;
}

void Store(StoredType type, double value, std::byte* out) {
  if (type == StoredType::kFloat32) {
    auto narrow = static_cast<float>(value);
    std::memcpy(out, &narrow, sizeof(narrow));
    return;
  }
  uint16_t bits;
  if (type == StoredType::kFloat16) {
    bits = DoubleToHalf(value);
  } else {
    // To nearest even; the values are finite.
    auto wide = std::bit_cast<uint32_t>(static_cast<float>(value));
    bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  std::memcpy(out, &bits, sizeof(bits));
}

void WriteTensor(std::ofstream& file, const RandomTensor& tensor, const RandomModel& model) {
  const uint64_t key = (Crc32(tensor.name) ^ model.seed) & UINT32_MAX;
  const double width = tensor.deviation * std::sqrt(3.0);
  const uint32_t bytes = generate::StoredTypeBytes(model.type);
  const uint64_t count = tensor.element_count();
  std::vector<std::byte> chunk;
  for (uint64_t first = 0; first < count; first += kChunkElements) {
    uint64_t in_chunk = std::min(kChunkElements, count - first);
    chunk.resize(in_chunk * bytes);
    for (uint64_t i = 0; i < in_chunk; ++i) {
      double value = UniformAt((key << 32) + first + i) * width + tensor.mean;
      Store(model.type, value, &chunk[i * bytes]);
    }
    file.write(reinterpret_cast<const char*>(chunk.data()),
               static_cast<std::streamsize>(chunk.size()));
  }
}

std::string MakeHeader(const std::vector<RandomTensor>& tensors, StoredType type) {
  std::string header = R"({"__metadata__": {"format": "pt"})";
  uint64_t offset = 0;
  for (const RandomTensor& tensor : tensors) {
    uint64_t end = offset + tensor.element_count() * generate::StoredTypeBytes(type);
    header += fmt::format(R"(, "{}": {{"dtype": "{}", "shape": [{}], "data_offsets": [{}, {}]}})",
                          tensor.name, generate::StoredTypeName(type),
                          fmt::join(tensor.shape, ", "), offset, end);
    offset = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

std::string MakeConfigText(const RandomModel& model) {
  const ModelConfig& config = model.config;
  const bool qwen2 = config.projection_biases;
  nlohmann::ordered_json json = {
      {"vocab_size", config.vocabulary_size},
      {"hidden_size", config.hidden_size},
      {"num_hidden_layers", config.layer_count},
      {"num_attention_heads", config.head_count},
      {"num_key_value_heads", config.key_value_head_count},
      {"head_dim", config.head_dim},
      {"intermediate_size", config.intermediate_size},
      {"max_position_embeddings", config.positions_max},
      // As the configuration's decimal fraction, not as the nearest double of the float.
      {"rms_norm_eps", std::stod(fmt::format("{}", config.norm_epsilon))},
      {"rope_theta", config.rope_theta},
      {"tie_word_embeddings", config.tied_embeddings},
      {"hidden_act", "silu"},
      {"model_type", qwen2 ? "qwen2" : "llama"},
      {"architectures", {qwen2 ? "Qwen2ForCausalLM" : "LlamaForCausalLM"}},
  };
  if (config.bos_id) json["bos_token_id"] = *config.bos_id;
  if (!config.eos_ids.empty()) json["eos_token_id"] = config.eos_ids;
  return json.dump(2) + "\n";
}

}  // namespace

ModelConfig SmolLmShape() {
  return {.vocabulary_size = 49152,
          .hidden_size = 576,
          .intermediate_size = 1536,
          .layer_count = 30,
          .head_count = 9,
          .key_value_head_count = 3,
          .head_dim = 64,
          .positions_max = 2048,
          .norm_epsilon = 1e-5f,
          .rope_theta = 10000,
          .tied_embeddings = true,
          .bos_id = 0,
          .eos_ids = {0}};
}

ModelConfig Qwen2Shape() {
  return {.vocabulary_size = 151936,
          .hidden_size = 896,
          .intermediate_size = 4864,
          .layer_count = 24,
          .head_count = 14,
          .key_value_head_count = 2,
          .head_dim = 64,
          .positions_max = 32768,
          .norm_epsilon = 1e-6f,
          .rope_theta = 1e6,
          .tied_embeddings = true,
          .projection_biases = true,
          .eos_ids = {151643}};
}

uint16_t DoubleToHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  // Subnormal: a multiple of 2^-24. The largest rounds to the least normal number by itself.
  if (magnitude < 0x1p-14) {
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24));
  }
  int exponent = 0;
  double fraction = std::frexp(std::min(magnitude, 0x1p20), &exponent);  // In [0.5, 1).
  // 11 significant bits; a carry out of them moves into the exponent, and out of that to infinity.
  auto mantissa = static_cast<int>(std::nearbyint(fraction * 0x1p11));
  int bits = ((exponent + 14) << 10) + mantissa - 0x400;
  return sign | static_cast<uint16_t>(std::min(bits, 0x7c00));
}

Status WriteRandomModel(const std::string& folder, const RandomModel& model) {
  TRY(generate::ValidateConfig(model.config));
  std::ofstream config(folder + "/config.json", std::ios::trunc);
  config << MakeConfigText(model);
  config.close();
  std::vector<RandomTensor> tensors = ListTensors(model.config);
  std::string header = MakeHeader(tensors, model.type);
  std::ofstream file(folder + "/model.safetensors", std::ios::binary | std::ios::trunc);
  for (int i = 0; i < 8; ++i) file.put(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
  file << header;
  for (const RandomTensor& tensor : tensors) WriteTensor(file, tensor, model);
  file.close();
  if (!config.good() || !file.good()) {
    return InternalError("the model cannot be written to ({})", folder);
  }
  return {};
}

}  // namespace webnnd::models

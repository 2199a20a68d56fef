#include "examples/generate/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/generate/json.h"

namespace webnnd::generate {
namespace {

using Json = nlohmann::json;

// Far above any such model, and low enough that no product of two of them overflows 32 bits
// unnoticed: they are multiplied in 64 bits below.
constexpr uint32_t kVocabularyMax = 1 << 20;
constexpr uint32_t kWidthMax = 1 << 17;
constexpr uint32_t kLayersMax = 256;
constexpr uint32_t kHeadsMax = 1024;
constexpr uint32_t kHeadDimMax = 1024;
constexpr uint32_t kPositionsMax = 1 << 20;

// A member that is absent or null.
bool IsAbsent(const Json& object, const char* key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null();
}

Result<uint32_t> RequiredNumber(const Json& object, const char* key) {
  INVALID_IF(IsAbsent(object, key), "config.json lacks the member ({})", key);
  const Json& value = object[key];
  INVALID_IF(!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX,
             "the member {} of config.json is not a positive integer ({})", key, value.dump());
  return static_cast<uint32_t>(value.get<uint64_t>());
}

Result<uint32_t> NumberOr(const Json& object, const char* key, uint32_t fallback) {
  if (IsAbsent(object, key)) return fallback;
  return RequiredNumber(object, key);
}

Result<double> RealOr(const Json& object, const char* key, double fallback) {
  if (IsAbsent(object, key)) return fallback;
  const Json& value = object[key];
  INVALID_IF(!value.is_number(), "the member {} of config.json is not a number ({})", key,
             value.dump());
  return value.get<double>();
}

Result<bool> FlagOr(const Json& object, const char* key, bool fallback) {
  if (IsAbsent(object, key)) return fallback;
  const Json& value = object[key];
  INVALID_IF(!value.is_boolean(), "the member {} of config.json is not true or false ({})", key,
             value.dump());
  return value.get<bool>();
}

Result<int32_t> ParseId(const Json& value, const char* key) {
  INVALID_IF(!value.is_number_unsigned() || value.get<uint64_t>() > INT32_MAX,
             "the member {} of config.json is not a token id ({})", key, value.dump());
  return static_cast<int32_t>(value.get<uint64_t>());
}

Result<std::vector<int32_t>> ParseEosIds(const Json& config) {
  std::vector<int32_t> ids;
  if (IsAbsent(config, "eos_token_id")) return ids;
  const Json& value = config["eos_token_id"];
  if (!value.is_array()) {
    ASSIGN_OR_RETURN(int32_t id, ParseId(value, "eos_token_id"));
    return std::vector<int32_t>{id};
  }
  for (const Json& element : value) {
    ASSIGN_OR_RETURN(int32_t id, ParseId(element, "eos_token_id"));
    ids.push_back(id);
  }
  return ids;
}

Status RefuseFlag(const Json& config, const char* key) {
  ASSIGN_OR_RETURN(bool set, FlagOr(config, key, false));
  if (set) return NotSupportedError("the member {} of config.json is not supported (true)", key);
  return {};
}

enum class Architecture { kLlama, kQwen2 };

Result<Architecture> ParseArchitecture(const Json& config) {
  INVALID_IF(IsAbsent(config, "architectures") && IsAbsent(config, "model_type"),
             "config.json lacks the member ({})", "architectures");
  std::optional<Architecture> type;
  if (!IsAbsent(config, "model_type")) {
    if (config["model_type"] == "llama") type = Architecture::kLlama;
    if (config["model_type"] == "qwen2") type = Architecture::kQwen2;
    if (!type) {
      return NotSupportedError("the model type is neither \"llama\" nor \"qwen2\" ({})",
                               config["model_type"].dump());
    }
  }
  if (IsAbsent(config, "architectures")) return *type;
  std::optional<Architecture> named;
  const Json& names = config["architectures"];
  if (names == Json::array({"LlamaForCausalLM"})) named = Architecture::kLlama;
  if (names == Json::array({"Qwen2ForCausalLM"})) named = Architecture::kQwen2;
  if (!named) {
    return NotSupportedError(
        "the architecture is neither LlamaForCausalLM nor Qwen2ForCausalLM "
        "({})",
        names.dump());
  }
  INVALID_IF(type && type != named, "the model type {} and the architecture differ ({})",
             config["model_type"].dump(), names.dump());
  return *named;
}

Status RefuseUnsupportedParts(const Json& config) {
  if (!IsAbsent(config, "hidden_act") && config["hidden_act"] != "silu") {
    return NotSupportedError("the activation hidden_act is not \"silu\" ({})",
                             config["hidden_act"].dump());
  }
  TRY(RefuseFlag(config, "attention_bias"));
  TRY(RefuseFlag(config, "mlp_bias"));
  TRY(RefuseFlag(config, "use_sliding_window"));
  ASSIGN_OR_RETURN(double rotary_factor, RealOr(config, "partial_rotary_factor", 1));
  if (rotary_factor != 1) {
    return NotSupportedError("partial_rotary_factor is not 1 ({})", rotary_factor);
  }
  if (!IsAbsent(config, "quantization_config")) {
    return NotSupportedError("the model is quantized ({})", config["quantization_config"].dump());
  }
  return {};
}

// The base of the rotary angles. Recent files write rope_parameters {rope_type, rope_theta}, older
// ones rope_theta and rope_scaling; any scaling changes the angles and is refused.
Result<double> ParseRopeTheta(const Json& config) {
  ASSIGN_OR_RETURN(double theta, RealOr(config, "rope_theta", 10000));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (IsAbsent(config, key)) continue;
    const Json& rope = config[key];
    INVALID_IF(!rope.is_object(), "the member {} of config.json is not an object ({})", key,
               rope.dump());
    const char* type_key = rope.contains("rope_type") ? "rope_type" : "type";
    if (!IsAbsent(rope, type_key) && rope[type_key] != "default") {
      return NotSupportedError("the RoPE scaling of config.json is not supported ({})",
                               rope[type_key].dump());
    }
    if (IsAbsent(rope, type_key) && rope.contains("factor")) {
      return NotSupportedError("the RoPE scaling of config.json is not supported ({})",
                               rope.dump());
    }
    ASSIGN_OR_RETURN(theta, RealOr(rope, "rope_theta", theta));
  }
  return theta;
}

Status InRange(const char* what, uint32_t value, uint32_t max) {
  INVALID_IF(value == 0 || value > max, "{} ({}) is not between 1 and {}", what, value, max);
  return {};
}

}  // namespace

bool ModelConfig::IsEos(int32_t id) const { return std::ranges::count(eos_ids, id) != 0; }

Status ValidateConfig(const ModelConfig& config) {
  TRY(InRange("the vocabulary size", config.vocabulary_size, kVocabularyMax));
  TRY(InRange("the hidden size", config.hidden_size, kWidthMax));
  TRY(InRange("the intermediate size", config.intermediate_size, kWidthMax));
  TRY(InRange("the number of layers", config.layer_count, kLayersMax));
  TRY(InRange("the number of attention heads", config.head_count, kHeadsMax));
  TRY(InRange("the number of key/value heads", config.key_value_head_count, kHeadsMax));
  TRY(InRange("the head dimension", config.head_dim, kHeadDimMax));
  TRY(InRange("the number of positions", config.positions_max, kPositionsMax));
  INVALID_IF(config.head_count % config.key_value_head_count != 0,
             "the number of attention heads ({}) is not a multiple of the number of key/value "
             "heads ({})",
             config.head_count, config.key_value_head_count);
  INVALID_IF(config.head_dim % 2 != 0, "the head dimension ({}) is odd, and RoPE rotates pairs",
             config.head_dim);
  INVALID_IF(!(config.norm_epsilon >= 0) || !std::isfinite(config.norm_epsilon),
             "the epsilon of the norm ({}) is not a number of 0 or more", config.norm_epsilon);
  INVALID_IF(!(config.rope_theta > 0) || !std::isfinite(config.rope_theta),
             "the RoPE base ({}) is not a positive number", config.rope_theta);
  auto outside = [&](int32_t id) {
    return id < 0 || static_cast<uint32_t>(id) >= config.vocabulary_size;
  };
  INVALID_IF(config.bos_id && outside(*config.bos_id),
             "the id at the beginning of a text ({}) is outside the vocabulary of {}",
             *config.bos_id, config.vocabulary_size);
  for (int32_t id : config.eos_ids) {
    INVALID_IF(outside(id), "the id at the end of a text ({}) is outside the vocabulary of {}", id,
               config.vocabulary_size);
  }
  return {};
}

Result<ModelConfig> ParseConfig(std::string_view json_text) {
  ASSIGN_OR_RETURN(Json json, ParseJsonObject("config.json", json_text));
  ASSIGN_OR_RETURN(Architecture architecture, ParseArchitecture(json));
  TRY(RefuseUnsupportedParts(json));
  ModelConfig config;
  config.projection_biases = architecture == Architecture::kQwen2;
  ASSIGN_OR_RETURN(config.vocabulary_size, RequiredNumber(json, "vocab_size"));
  ASSIGN_OR_RETURN(config.hidden_size, RequiredNumber(json, "hidden_size"));
  ASSIGN_OR_RETURN(config.intermediate_size, RequiredNumber(json, "intermediate_size"));
  ASSIGN_OR_RETURN(config.layer_count, RequiredNumber(json, "num_hidden_layers"));
  ASSIGN_OR_RETURN(config.head_count, RequiredNumber(json, "num_attention_heads"));
  INVALID_IF(config.head_count == 0, "the number of attention heads ({}) is zero",
             config.head_count);
  ASSIGN_OR_RETURN(config.key_value_head_count,
                   NumberOr(json, "num_key_value_heads", config.head_count));
  INVALID_IF(IsAbsent(json, "head_dim") && config.hidden_size % config.head_count != 0,
             "the hidden size ({}) is not a multiple of the number of attention heads ({})",
             config.hidden_size, config.head_count);
  ASSIGN_OR_RETURN(config.head_dim,
                   NumberOr(json, "head_dim", config.hidden_size / config.head_count));
  ASSIGN_OR_RETURN(config.positions_max, NumberOr(json, "max_position_embeddings", 2048));
  ASSIGN_OR_RETURN(double epsilon, RealOr(json, "rms_norm_eps", 1e-6));
  config.norm_epsilon = static_cast<float>(epsilon);
  ASSIGN_OR_RETURN(config.rope_theta, ParseRopeTheta(json));
  ASSIGN_OR_RETURN(config.tied_embeddings, FlagOr(json, "tie_word_embeddings", false));
  // Qwen2 names one, and puts it in front of nothing.
  if (architecture != Architecture::kQwen2 && !IsAbsent(json, "bos_token_id")) {
    ASSIGN_OR_RETURN(int32_t id, ParseId(json["bos_token_id"], "bos_token_id"));
    config.bos_id = id;
  }
  ASSIGN_OR_RETURN(config.eos_ids, ParseEosIds(json));
  TRY(ValidateConfig(config));
  return config;
}

}  // namespace webnnd::generate

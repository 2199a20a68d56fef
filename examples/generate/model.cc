#include "examples/generate/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/generate/byte_level_bpe.h"
#include "examples/generate/file.h"
#include "examples/generate/llama2c.h"
#include "examples/generate/safetensors.h"

namespace webnnd::generate {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kConfigBytesMax = 1 << 20;
// The largest tokenizer.json in use have 17 MB.
constexpr uint64_t kTokenizerBytesMax = 64 << 20;
constexpr size_t kFolderEntriesMax = 4096;

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool IsFolder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// A vocabulary may be padded for alignment with ids that no text has, but not by much.
Status CheckVocabulary(const Tokenizer& tokenizer, uint32_t vocabulary_size) {
  uint32_t tokens = tokenizer.vocabulary_size();
  INVALID_IF(tokens > vocabulary_size || vocabulary_size - tokens > vocabulary_size / 128,
             "the tokenizer does not match the model: it has {} tokens and the model's vocabulary "
             "({})",
             tokens, vocabulary_size);
  return {};
}

Result<LayerWeights> FindLayer(const Safetensors& file, const ModelConfig& config, uint32_t index) {
  std::string prefix = fmt::format("model.layers.{}.", index);
  LayerWeights layer;
  ASSIGN_OR_RETURN(layer.attention_norm, file.Find(prefix + "input_layernorm.weight"));
  ASSIGN_OR_RETURN(layer.query, file.Find(prefix + "self_attn.q_proj.weight"));
  ASSIGN_OR_RETURN(layer.key, file.Find(prefix + "self_attn.k_proj.weight"));
  ASSIGN_OR_RETURN(layer.value, file.Find(prefix + "self_attn.v_proj.weight"));
  ASSIGN_OR_RETURN(layer.attention_output, file.Find(prefix + "self_attn.o_proj.weight"));
  ASSIGN_OR_RETURN(layer.mlp_norm, file.Find(prefix + "post_attention_layernorm.weight"));
  ASSIGN_OR_RETURN(layer.gate, file.Find(prefix + "mlp.gate_proj.weight"));
  ASSIGN_OR_RETURN(layer.up, file.Find(prefix + "mlp.up_proj.weight"));
  ASSIGN_OR_RETURN(layer.down, file.Find(prefix + "mlp.down_proj.weight"));
  if (config.projection_biases) {
    ASSIGN_OR_RETURN(layer.query_bias, file.Find(prefix + "self_attn.q_proj.bias"));
    ASSIGN_OR_RETURN(layer.key_bias, file.Find(prefix + "self_attn.k_proj.bias"));
    ASSIGN_OR_RETURN(layer.value_bias, file.Find(prefix + "self_attn.v_proj.bias"));
  }
  return layer;
}

Result<ModelWeights> FindWeights(const Safetensors& file, const ModelConfig& config) {
  ModelWeights weights;
  ASSIGN_OR_RETURN(weights.embedding, file.Find("model.embed_tokens.weight"));
  for (uint32_t i = 0; i < config.layer_count; ++i) {
    ASSIGN_OR_RETURN(LayerWeights layer, FindLayer(file, config, i));
    weights.layers.push_back(std::move(layer));
  }
  ASSIGN_OR_RETURN(weights.final_norm, file.Find("model.norm.weight"));
  // A tied model may carry a copy of the embedding as its head, which is not needed.
  if (!config.tied_embeddings) {
    ASSIGN_OR_RETURN(weights.head, file.Find("lm_head.weight"));
  }
  return weights;
}

Result<Model> OpenHuggingFace(const fs::path& folder, TokenizerNeed need) {
  Model model;
  ASSIGN_OR_RETURN(std::string config, ReadSmallFile(folder / "config.json", kConfigBytesMax));
  ASSIGN_OR_RETURN(model.config, ParseConfig(config));
  fs::path tokenizer_path = folder / "tokenizer.json";
  if (need == TokenizerNeed::kRequired || Exists(tokenizer_path)) {
    ASSIGN_OR_RETURN(std::string text, ReadSmallFile(tokenizer_path, kTokenizerBytesMax));
    ASSIGN_OR_RETURN(model.tokenizer, ByteLevelBpe::Parse(text));
    TRY(CheckVocabulary(*model.tokenizer, model.config.vocabulary_size));
  }
  fs::path weights_path = folder / "model.safetensors";
  if (!Exists(weights_path) && Exists(folder / "model.safetensors.index.json")) {
    return NotSupportedError("the weights of ({}) are split over several files", folder.string());
  }
  ASSIGN_OR_RETURN(Safetensors file, Safetensors::Open(weights_path));
  ASSIGN_OR_RETURN(model.weights, FindWeights(file, model.config));
  TRY(CheckShapes(model.config, model.weights));
  return model;
}

bool IsTokenizerName(const std::string& name) {
  return name.starts_with("tok") && name.ends_with(".bin");
}

// The names in `folder` that end in .bin, sorted.
Result<std::vector<std::string>> BinNames(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (size_t i = 0; !error && i < kFolderEntriesMax && entries != fs::directory_iterator(); ++i) {
    std::string name = entries->path().filename();
    if (name.ends_with(".bin")) names.push_back(std::move(name));
    entries.increment(error);
  }
  INVALID_IF(static_cast<bool>(error), "the folder ({}) cannot be listed: {}", folder.string(),
             error.message());
  std::ranges::sort(names);
  return names;
}

// tok512.bin where the vocabulary has 512 entries, else the only tok*.bin of the folder; empty
// where there is none.
Result<std::string> FindTokenizerName(const fs::path& folder, uint32_t vocabulary_size) {
  ASSIGN_OR_RETURN(auto names, BinNames(folder));
  std::erase_if(names, [](const std::string& name) { return !IsTokenizerName(name); });
  std::string expected = fmt::format("tok{}.bin", vocabulary_size);
  if (std::ranges::count(names, expected) != 0) return expected;
  INVALID_IF(names.size() > 1, "the folder has several tokenizers and none is ({})", expected);
  return names.empty() ? std::string() : names.front();
}

Result<Model> OpenLlama2c(const fs::path& path, TokenizerNeed need) {
  ASSIGN_OR_RETURN(Llama2cCheckpoint checkpoint, OpenLlama2cCheckpoint(path));
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Model model{std::move(checkpoint.config), std::move(checkpoint.weights), nullptr};
  ASSIGN_OR_RETURN(std::string name, FindTokenizerName(folder, model.config.vocabulary_size));
  INVALID_IF(name.empty() && need == TokenizerNeed::kRequired,
             "the tokenizer of checkpoint ({}) is missing: no tok*.bin lies beside it",
             path.string());
  if (name.empty()) return model;
  ASSIGN_OR_RETURN(std::string bytes, ReadSmallFile(folder / name, kTokenizerBytesMax));
  auto tokenizer = Llama2cTokenizer::Parse(bytes, model.config.vocabulary_size);
  if (!tokenizer.ok()) {
    return std::move(tokenizer).error().AddContext(
        fmt::format("reading ({})", (folder / name).string()));
  }
  model.tokenizer = std::move(tokenizer).value();
  return model;
}

// The only checkpoint of a folder without config.json; empty where there is none.
Result<std::string> FindCheckpointName(const fs::path& folder) {
  ASSIGN_OR_RETURN(auto names, BinNames(folder));
  std::erase_if(names, IsTokenizerName);
  INVALID_IF(names.size() > 1, "the folder ({}) has several checkpoints: name one of them",
             folder.string());
  return names.empty() ? std::string() : names.front();
}

}  // namespace

Result<Model> OpenModel(const std::string& path, TokenizerNeed need) {
  INVALID_IF(!Exists(path), "the model ({}) does not exist", path);
  if (!IsFolder(path)) return OpenLlama2c(path, need);
  if (!Exists(fs::path(path) / "config.json")) {
    ASSIGN_OR_RETURN(std::string name, FindCheckpointName(path));
    if (!name.empty()) return OpenLlama2c(fs::path(path) / name, need);
  }
  return OpenHuggingFace(path, need);
}

}  // namespace webnnd::generate

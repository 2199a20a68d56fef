#include "examples/generate/llama2c.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "examples/generate/merge.h"
#include "examples/generate/utf8.h"

namespace webnnd::generate {
namespace {

constexpr int32_t kBosId = 1;
constexpr int32_t kEosId = 2;
// Pieces 3 to 258 are the bytes.
constexpr int32_t kFirstByteId = 3;
constexpr size_t kFixedPieceCount = kFirstByteId + 256;
// Longer pieces exist in no vocabulary; the bound keeps a broken length from being an allocation.
constexpr int32_t kPieceBytesMax = 4096;
// "ak42": the first field of the later versions, which have other layouts.
constexpr int32_t kVersionedMagic = 0x616b3432;

struct Header {
  int32_t dim;
  int32_t hidden_dim;
  int32_t layer_count;
  int32_t head_count;
  int32_t key_value_head_count;
  int32_t vocabulary_size;  // Negative when a head of its own ends the file.
  int32_t positions_max;
};
static_assert(sizeof(Header) == 28);

Result<ModelConfig> ConfigOf(const Header& header) {
  if (header.dim == kVersionedMagic) {
    return NotSupportedError("the checkpoint is of a later version than 0 (magic {:#x})",
                             header.dim);
  }
  INVALID_IF(header.dim <= 0 || header.hidden_dim <= 0 || header.layer_count <= 0 ||
                 header.head_count <= 0 || header.key_value_head_count <= 0 ||
                 header.vocabulary_size == 0 || header.vocabulary_size == INT32_MIN ||
                 header.positions_max <= 0,
             "the header is not that of a llama2.c checkpoint (dim {}, hidden_dim {}, n_layers {}, "
             "n_heads {}, n_kv_heads {}, vocab_size {}, seq_len {})",
             header.dim, header.hidden_dim, header.layer_count, header.head_count,
             header.key_value_head_count, header.vocabulary_size, header.positions_max);
  INVALID_IF(header.dim % header.head_count != 0,
             "the width ({}) is not a multiple of the number of heads ({})", header.dim,
             header.head_count);
  ModelConfig config;
  config.vocabulary_size = static_cast<uint32_t>(std::abs(header.vocabulary_size));
  config.hidden_size = static_cast<uint32_t>(header.dim);
  config.intermediate_size = static_cast<uint32_t>(header.hidden_dim);
  config.layer_count = static_cast<uint32_t>(header.layer_count);
  config.head_count = static_cast<uint32_t>(header.head_count);
  config.key_value_head_count = static_cast<uint32_t>(header.key_value_head_count);
  config.head_dim = static_cast<uint32_t>(header.dim / header.head_count);
  config.positions_max = static_cast<uint32_t>(header.positions_max);
  config.norm_epsilon = 1e-5f;
  config.rope_theta = 10000;
  config.tied_embeddings = header.vocabulary_size > 0;
  config.bos_id = kBosId;
  // The beginning of the next story ends this one.
  config.eos_ids = {kBosId, kEosId};
  TRY(ValidateConfig(config));
  return config;
}

// Hands out the tensors of a file one after another.
class Layout {
 public:
  explicit Layout(std::shared_ptr<const ReadOnlyFile> file) : file_(std::move(file)) {}

  // `copies` tensors of one kind, one per layer, lie together.
  std::vector<StoredTensor> Take(const std::string& name, size_t copies,
                                 std::vector<uint32_t> shape) {
    std::vector<StoredTensor> tensors;
    for (size_t i = 0; i < copies; ++i) {
      StoredTensor tensor{.name = fmt::format("{}.{}", name, i),
                          .file = file_,
                          .offset_bytes = offset_bytes_,
                          .type = StoredType::kFloat32,
                          .shape = shape};
      // Bounded: ValidateConfig's bounds keep every tensor below 2^40 bytes.
      offset_bytes_ += tensor.element_count() * sizeof(float);
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }
  StoredTensor TakeOne(const std::string& name, std::vector<uint32_t> shape) {
    StoredTensor tensor = std::move(Take(name, 1, std::move(shape)).front());
    tensor.name = name;
    return tensor;
  }
  void Skip(uint64_t bytes) { offset_bytes_ += bytes; }
  uint64_t offset_bytes() const { return offset_bytes_; }

 private:
  std::shared_ptr<const ReadOnlyFile> file_;
  uint64_t offset_bytes_ = sizeof(Header);
};

// The tensors in the order of the file, which is not that of the computation.
ModelWeights LayOut(const ModelConfig& config, Layout& layout) {
  uint32_t layers = config.layer_count;
  uint32_t hidden = config.hidden_size;
  uint32_t inner = config.intermediate_size;
  ModelWeights weights;
  weights.embedding = layout.TakeOne("token_embedding", {config.vocabulary_size, hidden});
  auto attention_norm = layout.Take("att_norm", layers, {hidden});
  auto query = layout.Take("wq", layers, {config.query_width(), hidden});
  auto key = layout.Take("wk", layers, {config.key_width(), hidden});
  auto value = layout.Take("wv", layers, {config.key_width(), hidden});
  auto output = layout.Take("wo", layers, {hidden, config.query_width()});
  auto mlp_norm = layout.Take("ffn_norm", layers, {hidden});
  auto gate = layout.Take("w1", layers, {inner, hidden});
  auto down = layout.Take("w2", layers, {hidden, inner});
  auto up = layout.Take("w3", layers, {inner, hidden});
  weights.final_norm = layout.TakeOne("final_norm", {hidden});
  // Tables of cosines and sines that nothing uses: [positions, head_dim / 2] each.
  layout.Skip(uint64_t{config.positions_max} * config.head_dim * sizeof(float));
  if (!config.tied_embeddings) {
    weights.head = layout.TakeOne("classifier", {config.vocabulary_size, hidden});
  }
  for (uint32_t i = 0; i < layers; ++i) {
    query[i].interleaved_head_dim = config.head_dim;
    key[i].interleaved_head_dim = config.head_dim;
    weights.layers.push_back({.attention_norm = std::move(attention_norm[i]),
                              .query = std::move(query[i]),
                              .key = std::move(key[i]),
                              .value = std::move(value[i]),
                              .attention_output = std::move(output[i]),
                              .mlp_norm = std::move(mlp_norm[i]),
                              .gate = std::move(gate[i]),
                              .up = std::move(up[i]),
                              .down = std::move(down[i])});
  }
  return weights;
}

// Takes values off the front of a string of bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  std::optional<T> Take() {
    if (rest_.size() < sizeof(T)) return std::nullopt;
    T value;
    memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::optional<std::string_view> TakeBytes(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

}  // namespace

Result<Llama2cCheckpoint> OpenLlama2cCheckpoint(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, ReadOnlyFile::Open(path));
  Header header;
  TRY(file->ReadAt(0, std::as_writable_bytes(std::span(&header, 1))));
  auto config = ConfigOf(header);
  if (!config.ok()) {
    return std::move(config).error().AddContext(fmt::format("reading the header of ({})", path));
  }
  Layout layout(file);
  ModelWeights weights = LayOut(*config, layout);
  INVALID_IF(layout.offset_bytes() != file->size_bytes(),
             "the file ({}) has {} bytes where its header asks for {}", path, file->size_bytes(),
             layout.offset_bytes());
  return Llama2cCheckpoint{std::move(config).value(), std::move(weights)};
}

Result<std::unique_ptr<Llama2cTokenizer>> Llama2cTokenizer::Parse(std::string_view bytes,
                                                                  uint32_t vocabulary_size) {
  auto tokenizer = std::make_unique<Llama2cTokenizer>();
  ByteReader reader(bytes);
  INVALID_IF(!reader.Take<int32_t>(), "the tokenizer file is truncated ({} bytes)", bytes.size());
  for (uint32_t id = 0; id < vocabulary_size; ++id) {
    auto score = reader.Take<float>();
    auto length = reader.Take<int32_t>();
    INVALID_IF(!score || !length,
               "the tokenizer does not match the model: it ends after {} pieces and the vocabulary "
               "has ({})",
               id, vocabulary_size);
    INVALID_IF(*length < 0 || *length > kPieceBytesMax || !std::isfinite(*score),
               "the tokenizer file is malformed: piece {} has length ({}) and score {}", id,
               *length, *score);
    auto text = reader.TakeBytes(static_cast<size_t>(*length));
    INVALID_IF(!text, "the tokenizer file is truncated inside piece ({})", id);
    // emplace: of equal pieces the first counts.
    tokenizer->ids_.emplace(*text, static_cast<int32_t>(id));
    tokenizer->pieces_.push_back({std::string(*text), *score});
  }
  INVALID_IF(reader.left() != 0,
             "the tokenizer does not match the model: {} bytes follow the ({}) pieces of the "
             "vocabulary",
             reader.left(), vocabulary_size);
  INVALID_IF(tokenizer->pieces_.size() < kFixedPieceCount,
             "the vocabulary ({}) has no room for the 256 bytes", vocabulary_size);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const std::string& text = tokenizer->pieces_[kFirstByteId + byte].text;
    INVALID_IF(text != fmt::format("<0x{:02X}>", byte),
               "the tokenizer file is malformed: piece {} is ({}) and not byte {}",
               kFirstByteId + byte, text, byte);
  }
  return tokenizer;
}

void Llama2cTokenizer::EncodeCharacter(std::string_view character,
                                       std::vector<int32_t>& ids) const {
  if (auto found = ids_.find(std::string(character)); found != ids_.end()) {
    ids.push_back(found->second);
    return;
  }
  for (char byte : character) ids.push_back(static_cast<uint8_t>(byte) + kFirstByteId);
}

std::vector<int32_t> Llama2cTokenizer::Encode(std::string_view text) const {
  if (text.empty()) return {};
  std::vector<int32_t> ids;
  EncodeCharacter(" ", ids);
  while (!text.empty()) {
    size_t length = DecodeUtf8(text).length;
    EncodeCharacter(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
  return MergePairs(ids, [this](int32_t left, int32_t right) -> std::optional<Merge> {
    auto found = ids_.find(pieces_[static_cast<size_t>(left)].text +
                           pieces_[static_cast<size_t>(right)].text);
    if (found == ids_.end()) return std::nullopt;
    double score = pieces_[static_cast<size_t>(found->second)].score;
    return Merge{-score, found->second};
  });
}

std::string Llama2cTokenizer::Decode(int32_t previous, int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= pieces_.size()) return "";
  if (id == kBosId || id == kEosId) return "";
  if (id >= kFirstByteId && static_cast<size_t>(id) < kFixedPieceCount) {
    return std::string(1, static_cast<char>(id - kFirstByteId));
  }
  const std::string& text = pieces_[static_cast<size_t>(id)].text;
  // The beginning of a text was given a blank by Encode.
  return previous == kBosId && text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace webnnd::generate

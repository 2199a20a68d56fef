// Files of models, as examples/generate reads them. The first byte of the input says which; the
// rest is the file. What is accepted must be usable: every tensor can be read, every id is one of
// the vocabulary, and a text comes back from its tokens.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/unique_fd.h"
#include "examples/generate/byte_level_bpe.h"
#include "examples/generate/config.h"
#include "examples/generate/llama2c.h"
#include "examples/generate/model.h"
#include "examples/generate/safetensors.h"

namespace webnnd::generate {
namespace {

using Json = nlohmann::json;

enum class Kind : uint8_t {
  kSafetensors,
  kTokenizerJson,
  kLlama2cCheckpoint,
  kLlama2cTokenizer,  // Two bytes more: the size of the vocabulary.
  kConfig,
  kFolder,  // The bytes of config.json in two bytes, config.json, model.safetensors.
};
constexpr uint8_t kKindCount = 6;
constexpr size_t kLengthBytes = 8;     // Of a safetensors header.
constexpr size_t kCheckpointInts = 7;  // Of a llama2.c header.

// A file in memory with a path that lasts.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    CHECK(fd_.valid());
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  void Fill(std::string_view bytes) const {
    CHECK(ftruncate(fd_.get(), 0) == 0);
    CHECK(pwrite(fd_.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  UniqueFd fd_;
};

// A folder of a model whose files are in memory.
class ModelFolder {
 public:
  ModelFolder() : config_("config"), weights_("weights") {
    char path[] = "/tmp/webnnd-fuzz-XXXXXX";
    CHECK(mkdtemp(path) != nullptr);
    path_ = path;
    CHECK(symlink(config_.path().c_str(), (path_ + "/config.json").c_str()) == 0);
    CHECK(symlink(weights_.path().c_str(), (path_ + "/model.safetensors").c_str()) == 0);
  }
  ~ModelFolder() {
    for (const char* name : {"/config.json", "/model.safetensors"}) {
      unlink((path_ + name).c_str());
    }
    rmdir(path_.c_str());
  }
  const std::string& Fill(std::string_view config, std::string_view weights) {
    config_.Fill(config);
    weights_.Fill(weights);
    return path_;
  }

 private:
  std::string path_;
  MemoryFile config_;
  MemoryFile weights_;
};

// Reads all of it. The file is small, so what it accepts is.
void CheckReadable(const StoredTensor& tensor) {
  std::vector<float> values(tensor.element_count());
  CHECK(tensor.ReadRows(0, values).ok());
}

void CheckReadable(const ModelWeights& weights) {
  CheckReadable(weights.embedding);
  CheckReadable(weights.final_norm);
  if (weights.head) CheckReadable(*weights.head);
  for (const LayerWeights& layer : weights.layers) {
    for (const StoredTensor* tensor :
         {&layer.attention_norm, &layer.query, &layer.key, &layer.value, &layer.attention_output,
          &layer.mlp_norm, &layer.gate, &layer.up, &layer.down}) {
      CheckReadable(*tensor);
    }
    for (const auto* bias : {&layer.query_bias, &layer.key_bias, &layer.value_bias}) {
      if (*bias) CheckReadable(**bias);
    }
  }
}

void RunSafetensors(std::string_view bytes) {
  static const MemoryFile file("safetensors");
  file.Fill(bytes);
  auto opened = Safetensors::Open(file.path());
  if (!opened.ok()) return;
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const Json entries = Json::parse(bytes.substr(kLengthBytes, header_bytes), nullptr, false);
  CHECK(entries.is_object());
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    CHECK(opened->Contains(name));
    auto found = opened->Find(name);
    const auto type = entry.at("dtype").get<std::string>();
    CHECK(found.ok() == (type == "F32" || type == "F16" || type == "BF16"));
    if (found.ok()) CheckReadable(*found);
  }
}

// A text of the file's own bytes: its pieces are what it is made of.
std::string_view TextOf(std::string_view bytes) { return bytes.substr(bytes.size() / 3, 512); }

void CheckIds(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  for (int32_t id : ids) {
    CHECK(id >= 0 && static_cast<uint32_t>(id) < tokenizer.vocabulary_size());
  }
}

void RunTokenizerJson(std::string_view bytes) {
  auto tokenizer = ByteLevelBpe::Parse(bytes);
  if (!tokenizer.ok()) return;
  for (std::string_view text : {std::string_view("Once upon a time, 12 'll  x"), TextOf(bytes)}) {
    const std::vector<int32_t> ids = (*tokenizer)->Encode(text);
    CheckIds(**tokenizer, ids);
    std::string decoded;
    bool whole = true;
    for (int32_t id : ids) {
      const std::string piece = (*tokenizer)->Decode(-1, id);
      whole = whole && !piece.empty();  // A special token is no text.
      decoded += piece;
    }
    // Blanks may have been put in front of words.
    if (!whole) continue;
    if (decoded != text) {
      std::erase(decoded, ' ');
      std::string bare(text);
      std::erase(bare, ' ');
      CHECK(decoded == bare);
    }
  }
}

void RunLlama2cCheckpoint(std::string_view bytes) {
  static const MemoryFile file("checkpoint");
  file.Fill(bytes);
  auto opened = OpenLlama2cCheckpoint(file.path());
  if (!opened.ok()) return;
  CHECK(ValidateConfig(opened->config).ok());
  CHECK(CheckShapes(opened->config, opened->weights).ok());
  CheckReadable(opened->weights);
}

void RunLlama2cTokenizer(std::string_view bytes) {
  uint16_t vocabulary = 0;
  if (bytes.size() < sizeof(vocabulary)) return;
  std::memcpy(&vocabulary, bytes.data(), sizeof(vocabulary));
  auto tokenizer = Llama2cTokenizer::Parse(bytes.substr(sizeof(vocabulary)), vocabulary);
  if (!tokenizer.ok()) return;
  CHECK((*tokenizer)->vocabulary_size() == vocabulary);
  for (std::string_view text : {std::string_view("Once upon a time"), TextOf(bytes)}) {
    const std::vector<int32_t> ids = (*tokenizer)->Encode(text);
    CheckIds(**tokenizer, ids);
    int32_t previous = -1;
    for (int32_t id : ids) {
      CHECK((*tokenizer)->Decode(previous, id).size() <= bytes.size());
      previous = id;
    }
  }
}

void RunConfig(std::string_view bytes) {
  auto config = ParseConfig(bytes);
  if (!config.ok()) return;
  CHECK(ValidateConfig(*config).ok());
  CHECK(config->head_count % config->key_value_head_count == 0);
  CHECK(std::isfinite(config->norm_epsilon) && std::isfinite(config->rope_theta));
}

void RunFolder(std::string_view bytes) {
  static ModelFolder folder;
  uint16_t config_bytes = 0;
  if (bytes.size() < sizeof(config_bytes)) return;
  std::memcpy(&config_bytes, bytes.data(), sizeof(config_bytes));
  bytes.remove_prefix(sizeof(config_bytes));
  const std::string& path = folder.Fill(bytes.substr(0, config_bytes),
                                        bytes.substr(std::min<size_t>(config_bytes, bytes.size())));
  auto model = OpenModel(path, TokenizerNeed::kIfPresent);
  if (model.ok()) CheckReadable(model->weights);
}

void Run(std::string_view input) {
  const auto kind = static_cast<Kind>(static_cast<uint8_t>(input[0]) % kKindCount);
  const std::string_view file = input.substr(1);
  switch (kind) {
    case Kind::kSafetensors:
      return RunSafetensors(file);
    case Kind::kTokenizerJson:
      return RunTokenizerJson(file);
    case Kind::kLlama2cCheckpoint:
      return RunLlama2cCheckpoint(file);
    case Kind::kLlama2cTokenizer:
      return RunLlama2cTokenizer(file);
    case Kind::kConfig:
      return RunConfig(file);
    case Kind::kFolder:
      return RunFolder(file);
  }
}

// --- Mutations ----------------------------------------------------------------------------------

using Random = std::minstd_rand;

uint32_t Below(Random& random, size_t bound) { return static_cast<uint32_t>(random() % bound); }

void CollectNodes(Json& json, std::vector<Json*>& nodes) {
  nodes.push_back(&json);
  if (!json.is_structured()) return;
  for (Json& child : json) CollectNodes(child, nodes);
}

Json BoundaryValue(Random& random) {
  static const Json kValues[] = {0,
                                 1,
                                 2,
                                 -1,
                                 7,
                                 1.5,
                                 1e300,
                                 255,
                                 65536,
                                 1u << 20,
                                 0x7fffffff,
                                 0x80000000u,
                                 0xffffffffu,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 63,
                                 ~uint64_t{0},
                                 true,
                                 nullptr,
                                 "",
                                 "F32",
                                 "F16",
                                 "I64",
                                 "default",
                                 "a b",
                                 "\xc4\xa0",
                                 Json::array(),
                                 Json::object(),
                                 Json::array({0, 4})};
  return kValues[Below(random, std::size(kValues))];
}

// Deeper than any recursion should go.
Json Nested(Json value, Random& random) {
  for (uint32_t depth = 1 + Below(random, 2000); depth > 0; --depth) {
    value = Json::array({std::move(value)});
  }
  return value;
}

void MutateList(Json& list, Random& random) {
  if (list.empty()) return list.push_back(BoundaryValue(random));
  const size_t at = Below(random, list.size());
  if (Below(random, 2) == 0) return list.erase(at);
  list.push_back(list[at]);
}

void MutateObject(Json& object, Random& random) {
  if (object.empty()) return;
  auto at = std::next(object.begin(), Below(random, object.size()));
  const std::string key = at.key();
  Json value = *at;
  if (Below(random, 2) == 0) object.erase(at);
  if (Below(random, 2) == 0) {
    auto other = std::next(object.begin(), Below(random, std::max<size_t>(object.size(), 1)));
    object[object.empty() ? "x" : other.key() + key.substr(0, 1)] = std::move(value);
  }
}

void MutateJson(Json& json, Random& random) {
  std::vector<Json*> nodes;
  CollectNodes(json, nodes);
  Json& node = *nodes[Below(random, nodes.size())];
  switch (Below(random, 8)) {
    case 0:
      node = *nodes[Below(random, nodes.size())];
      return;
    case 1:
      if (Below(random, 8) == 0) node = Nested(std::move(node), random);
      return;
    case 2:
    case 3:
      if (node.is_number_integer()) {
        const uint64_t step = Below(random, 2) == 0 ? 1 : ~uint64_t{0};
        node = static_cast<int64_t>(node.get<uint64_t>() + step);
      }
      return;
    default:
      if (node.is_array()) return MutateList(node, random);
      if (node.is_object()) return MutateObject(node, random);
      node = BoundaryValue(random);
  }
}

std::string MutateText(std::string_view text, Random& random) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::string(text);
  for (uint32_t changes = 1 + Below(random, 3); changes > 0; --changes) MutateJson(json, random);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A header that is changed and still has its length, mostly; the data longer or shorter at times.
std::string MutateSafetensors(std::string_view bytes, Random& random) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return std::string(bytes);
  std::memcpy(&length, bytes.data(), sizeof(length));
  length = std::min<uint64_t>(length, bytes.size() - kLengthBytes);
  std::string data(bytes.substr(kLengthBytes + length));
  if (Below(random, 4) == 0) data.resize(Below(random, data.size() + 16));
  const std::string header = MutateText(bytes.substr(kLengthBytes, length), random);
  length = header.size();
  if (Below(random, 16) == 0) length += Below(random, 64);
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file + header + data;
}

// One number of the header changes, and the file has the length that goes with it, mostly.
std::string MutateCheckpoint(std::string_view bytes, Random& random, size_t size_max) {
  int32_t header[kCheckpointInts] = {};
  std::memcpy(header, bytes.data(), std::min(bytes.size(), sizeof(header)));
  int32_t& field = header[Below(random, kCheckpointInts)];
  constexpr int32_t kValues[] = {0, 1, 2, 4, 6, 8, 16, -8, INT32_MIN, INT32_MAX, 1 << 17};
  field = kValues[Below(random, std::size(kValues))];
  std::string file(bytes);
  file.resize(std::max(file.size(), sizeof(header)));
  std::memcpy(file.data(), header, sizeof(header));
  const auto [dim, inner, layers, heads, kv_heads, vocabulary, positions] = std::tuple(
      double{1} * header[0], double{1} * header[1], double{1} * header[2], double{1} * header[3],
      double{1} * header[4], double{1} * header[5], double{1} * header[6]);
  const double head_dim = heads == 0 ? 0 : std::floor(dim / heads);
  const double floats =
      std::fabs(vocabulary) * dim * (vocabulary < 0 ? 2 : 1) +
      layers * (2 * dim + 2 * dim * dim + 2 * kv_heads * head_dim * dim + 3 * inner * dim) + dim +
      positions * head_dim;
  const double wanted = sizeof(header) + 4 * floats;
  if (wanted > 0 && wanted < static_cast<double>(size_max) && Below(random, 8) != 0) {
    file.resize(static_cast<size_t>(wanted), 'w');
  }
  return file;
}

std::string MutateFolder(std::string_view bytes, Random& random) {
  uint16_t length = 0;
  if (bytes.size() < sizeof(length)) return std::string(bytes);
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  std::string config(bytes.substr(0, length));
  std::string weights(bytes.substr(config.size()));
  if (Below(random, 2) == 0) {
    config = MutateText(config, random);
  } else {
    weights = MutateSafetensors(weights, random);
  }
  length = static_cast<uint16_t>(std::min<size_t>(config.size(), UINT16_MAX));
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + config + weights;
}

std::string MutateFile(Kind kind, std::string_view file, Random& random, size_t size_max) {
  switch (kind) {
    case Kind::kSafetensors:
      return MutateSafetensors(file, random);
    case Kind::kTokenizerJson:
    case Kind::kConfig:
      return MutateText(file, random);
    case Kind::kLlama2cCheckpoint:
      return MutateCheckpoint(file, random, size_max);
    case Kind::kFolder:
      return MutateFolder(file, random);
    case Kind::kLlama2cTokenizer:
      break;
  }
  return std::string(file);
}

}  // namespace
}  // namespace webnnd::generate

// libFuzzer's own; a replay has none.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size,
                                                         size_t size_max);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  webnnd::generate::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Half of the time as the format asks, else bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  namespace generate = webnnd::generate;
  generate::Random random(seed);
  if (size < 2 || generate::Below(random, 2) == 0) return LLVMFuzzerMutate(data, size, size_max);
  const auto kind = static_cast<generate::Kind>(data[0] % generate::kKindCount);
  const std::string file = generate::MutateFile(
      kind, {reinterpret_cast<const char*>(data + 1), size - 1}, random, size_max - 1);
  if (file.size() + 1 > size_max) return LLVMFuzzerMutate(data, size, size_max);
  std::memcpy(data + 1, file.data(), file.size());
  return file.size() + 1;
}

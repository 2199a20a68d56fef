#include "examples/generate/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "examples/generate/json.h"

namespace webnnd::generate {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
// A thousand bytes for each of sixteen thousand tensors; a header is a hundred bytes a tensor.
constexpr uint64_t kHeaderBytesMax = 16 << 20;
constexpr size_t kRankMax = 8;

std::optional<StoredType> ParseStoredType(std::string_view name) {
  for (StoredType type : {StoredType::kFloat32, StoredType::kFloat16, StoredType::kBfloat16}) {
    if (name == StoredTypeName(type)) return type;
  }
  return std::nullopt;
}

Result<std::vector<uint32_t>> ParseShape(const std::string& name, const Json& value) {
  INVALID_IF(!value.is_array() || value.size() > kRankMax,
             "the shape of tensor ({}) is not a list of at most {} numbers", name, kRankMax);
  std::vector<uint32_t> shape;
  for (const Json& dimension : value) {
    INVALID_IF(!dimension.is_number_unsigned() || dimension.get<uint64_t>() > UINT32_MAX,
               "a dimension of tensor ({}) is not a number of 32 bits ({})", name,
               dimension.dump());
    shape.push_back(static_cast<uint32_t>(dimension.get<uint64_t>()));
  }
  return shape;
}

// The bytes that a tensor of this type and shape takes; nullopt when they overflow.
std::optional<uint64_t> ByteLength(StoredType type, const std::vector<uint32_t>& shape) {
  uint64_t bytes = StoredTypeBytes(type);
  for (uint32_t dimension : shape) {
    auto product = CheckedMul<uint64_t>(bytes, dimension);
    if (!product) return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

}  // namespace

Result<Safetensors> Safetensors::Open(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, ReadOnlyFile::Open(path));
  uint8_t length_bytes[kLengthBytes];
  TRY(file->ReadAt(0, std::as_writable_bytes(std::span(length_bytes))));
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    header_bytes |= static_cast<uint64_t>(length_bytes[i]) << (8 * i);
  }
  INVALID_IF(header_bytes > kHeaderBytesMax,
             "the header length of {} ({}) exceeds {} bytes: the file is not safetensors", path,
             header_bytes, kHeaderBytesMax);
  std::string header;
  // Before the allocation, so that a short file costs nothing.
  INVALID_IF(header_bytes > file->size_bytes() - kLengthBytes,
             "the file ({}) is truncated: its header has {} bytes and the file {}", path,
             header_bytes, file->size_bytes());
  header.resize(header_bytes);
  TRY(file->ReadAt(kLengthBytes, std::as_writable_bytes(std::span(header))));
  Safetensors tensors(std::move(file));
  TRY_DOING(tensors.ParseHeader(header), "reading the header of ({})", path);
  TRY_DOING(tensors.CheckOverlaps(), "reading the header of ({})", path);
  return tensors;
}

Status Safetensors::ParseHeader(const std::string& text) {
  ASSIGN_OR_RETURN(Json json, ParseJsonObject("the header", text));
  uint64_t data_start = kLengthBytes + text.size();
  uint64_t data_bytes = file_->size_bytes() - data_start;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    INVALID_IF(!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
                   !value.contains("shape") || !value.contains("data_offsets"),
               "the entry of tensor ({}) lacks dtype, shape or data_offsets", name);
    Entry entry;
    entry.type_name = value["dtype"].get<std::string>();
    ASSIGN_OR_RETURN(entry.shape, ParseShape(name, value["shape"]));
    const Json& offsets = value["data_offsets"];
    INVALID_IF(!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
                   !offsets[1].is_number_unsigned(),
               "the data_offsets of tensor ({}) are not two numbers", name);
    uint64_t begin = offsets[0].get<uint64_t>();
    uint64_t end = offsets[1].get<uint64_t>();
    INVALID_IF(begin > end, "the data_offsets of tensor ({}) run backwards ({} to {})", name, begin,
               end);
    INVALID_IF(end > data_bytes,
               "the file is truncated: tensor ({}) ends at byte {} of the {} that follow the "
               "header",
               name, end, data_bytes);
    entry.offset_bytes = data_start + begin;
    entry.size_bytes = end - begin;
    if (auto type = ParseStoredType(entry.type_name)) {
      INVALID_IF(ByteLength(*type, entry.shape) != entry.size_bytes,
                 "the data_offsets of tensor ({}) hold {} bytes, which is not what its type and "
                 "shape take",
                 name, entry.size_bytes);
    }
    entries_.emplace(name, std::move(entry));
  }
  return {};
}

Status Safetensors::CheckOverlaps() const {
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& item : entries_) {
    if (item.second.size_bytes != 0) order.push_back(&item);
  }
  std::ranges::sort(order, {}, [](const auto* item) { return item->second.offset_bytes; });
  for (size_t i = 1; i < order.size(); ++i) {
    const auto& [name, entry] = *order[i - 1];
    INVALID_IF(entry.offset_bytes + entry.size_bytes > order[i]->second.offset_bytes,
               "the data of tensor ({}) overlap those of tensor ({})", name, order[i]->first);
  }
  return {};
}

Result<StoredTensor> Safetensors::Find(const std::string& name) const {
  auto found = entries_.find(name);
  INVALID_IF(found == entries_.end(), "the tensor ({}) is missing in {}", name, file_->path());
  const Entry& entry = found->second;
  auto type = ParseStoredType(entry.type_name);
  if (!type) {
    return NotSupportedError("the tensor {} is stored in a type ({}) other than F32, F16 or BF16",
                             name, entry.type_name);
  }
  return StoredTensor{.name = name,
                      .file = file_,
                      .offset_bytes = entry.offset_bytes,
                      .type = *type,
                      .shape = entry.shape};
}

}  // namespace webnnd::generate

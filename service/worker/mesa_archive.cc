#include "service/worker/mesa_archive.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace webnnd::service {
namespace {

constexpr size_t kHeadBytes = 16;
constexpr size_t kKeyBytes = 40;
constexpr size_t kNumbersBytes = 4 * sizeof(uint32_t);
constexpr size_t kIndexEntryBytes = kKeyBytes + kNumbersBytes + sizeof(uint64_t);

using Bytes = std::span<const std::byte>;

Error BadArchive(std::string_view what) {
  return ValidationError("it is no archive of kernels ({})", what);
}

template <typename T>
T NumberAt(Bytes bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.subspan(at, sizeof number).data(), sizeof number);
  return number;
}

bool AreEqual(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void Append(Bytes bytes, std::vector<std::byte>& to) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

struct IndexEntry {
  Bytes bytes;  // Of the whole.
  Bytes key() const { return bytes.first(kKeyBytes); }
  std::string_view key_text() const {
    return {reinterpret_cast<const char*>(bytes.data()), kKeyBytes};
  }
  uint64_t place() const { return NumberAt<uint64_t>(bytes, kKeyBytes + kNumbersBytes); }
};

Result<std::vector<IndexEntry>> EntriesOf(Bytes index) {
  if (index.size() < kHeadBytes) return BadArchive("the index has no head");
  if ((index.size() - kHeadBytes) % kIndexEntryBytes != 0)
    return BadArchive("the index ends early");
  std::vector<IndexEntry> entries;
  for (size_t at = kHeadBytes; at < index.size(); at += kIndexEntryBytes) {
    const IndexEntry entry{index.subspan(at, kIndexEntryBytes)};
    if (NumberAt<uint32_t>(entry.bytes, kKeyBytes) != sizeof(uint64_t)) {
      return BadArchive("the index has an entry of another size");
    }
    entries.push_back(entry);
  }
  return entries;
}

// The whole of what the index leads to.
Result<Bytes> FindKernel(Bytes archive, const IndexEntry& entry) {
  const uint64_t place = entry.place();
  if (place < kHeadBytes + kKeyBytes || place > archive.size() ||
      archive.size() - place < kNumbersBytes) {
    return BadArchive("the index leads out of it");
  }
  const size_t begin = static_cast<size_t>(place) - kKeyBytes;
  if (!AreEqual(archive.subspan(begin, kKeyBytes), entry.key())) {
    return BadArchive("the index leads to another kernel");
  }
  const auto bytes = NumberAt<uint32_t>(archive, static_cast<size_t>(place));
  if (archive.size() - place - kNumbersBytes < bytes) return BadArchive("it ends early");
  return archive.subspan(begin, kKeyBytes + kNumbersBytes + bytes);
}

}  // namespace

Result<MesaArchiveAdditions> FindAdditions(uint64_t archive_bytes, Bytes index,
                                           const MesaArchive& other) {
  ASSIGN_OR_RETURN(const std::vector<IndexEntry> ours, EntriesOf(index));
  ASSIGN_OR_RETURN(const std::vector<IndexEntry> theirs, EntriesOf(other.index));
  if (archive_bytes < kHeadBytes || other.archive.size() < kHeadBytes) {
    return BadArchive("it has no head");
  }
  if (!AreEqual(index.first(kHeadBytes), other.index.first(kHeadBytes))) {
    return BadArchive("it is of another format");
  }
  std::set<std::string_view> keys;
  for (const IndexEntry& entry : ours) keys.insert(entry.key_text());
  MesaArchiveAdditions additions;
  for (const IndexEntry& entry : theirs) {
    ASSIGN_OR_RETURN(const Bytes kernel, FindKernel(other.archive, entry));
    if (!keys.insert(entry.key_text()).second) continue;
    const uint64_t place = archive_bytes + additions.archive.size() + kKeyBytes;
    Append(kernel, additions.archive);
    Append(entry.bytes.first(kKeyBytes + kNumbersBytes), additions.index);
    Append(std::as_bytes(std::span(&place, 1)), additions.index);
  }
  return additions;
}

}  // namespace webnnd::service

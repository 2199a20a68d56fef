// Archives of kernels as Mesa writes them (service/worker/mesa_archive.h), for tests.
#ifndef WEBNND_TESTS_SERVICE_MESA_ARCHIVE_FILES_H_
#define WEBNND_TESTS_SERVICE_MESA_ARCHIVE_FILES_H_

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/fnv1a.h"

namespace webnnd {

struct ArchiveText {
  std::string archive;
  std::string index;
  friend bool operator==(const ArchiveText&, const ArchiveText&) = default;
};

inline std::string KeyOf(const std::string& kernel) {
  Fnv1a hash;
  hash.Add(std::as_bytes(std::span(kernel)));
  return fmt::format("{:040x}", hash.value());
}

// Of these kernels, in this order.
inline ArchiveText MakeArchive(const std::vector<std::string>& kernels) {
  const auto bytes = [](const auto& number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  // Size, format, checksum, size before compression.
  const auto numbers = [&](size_t size, uint32_t checksum) {
    const uint32_t four[4] = {static_cast<uint32_t>(size), 0, checksum,
                              static_cast<uint32_t>(size)};
    return bytes(four);
  };
  const std::string head(
      "\x81"
      "FOSSILIZEDB\0\0\0\6",
      16);
  ArchiveText text{head, head};
  for (const std::string& kernel : kernels) {
    const std::string key = KeyOf(kernel);
    text.archive += key;
    const uint64_t place = text.archive.size();
    text.archive += numbers(kernel.size(), 0x1234) + kernel;
    text.index += key + numbers(sizeof place, 0) + bytes(place);
  }
  return text;
}

inline void WriteArchive(const std::filesystem::path& directory, const ArchiveText& text) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "cache.foz") << text.archive;
  std::ofstream(directory / "cache_idx.foz") << text.index;
}

inline ArchiveText ReadArchive(const std::filesystem::path& directory) {
  const auto read = [](const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  return {read(directory / "cache.foz"), read(directory / "cache_idx.foz")};
}

}  // namespace webnnd

#endif  // WEBNND_TESTS_SERVICE_MESA_ARCHIVE_FILES_H_

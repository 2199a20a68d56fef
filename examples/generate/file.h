// Reading model files: positional reads of a regular file, whose length is known beforehand.
#ifndef WEBNND_EXAMPLES_GENERATE_FILE_H_
#define WEBNND_EXAMPLES_GENERATE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::generate {

class ReadOnlyFile {
 public:
  // Validation error when `path` cannot be opened or is no regular file (a folder, a pipe).
  static Result<std::shared_ptr<const ReadOnlyFile>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return fd_.get(); }

  // Fills `out` from `offset_bytes`. A file that ends earlier is a Validation error: pread, unlike
  // a mapping, turns a file that shrinks under us into an error and not into a signal.
  Status ReadAt(uint64_t offset_bytes, std::span<std::byte> out) const;

 private:
  ReadOnlyFile(std::string path, UniqueFd fd, uint64_t size_bytes)
      : path_(std::move(path)), fd_(std::move(fd)), size_bytes_(size_bytes) {}

  std::string path_;
  UniqueFd fd_;
  uint64_t size_bytes_;
};

// The whole of a small file; a Validation error when it is longer than `bytes_max`.
Result<std::string> ReadSmallFile(const std::string& path, uint64_t bytes_max);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_FILE_H_

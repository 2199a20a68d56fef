#include "examples/generate/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace webnnd::generate {

Result<std::shared_ptr<const ReadOnlyFile>> ReadOnlyFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang; regular files ignore it.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  INVALID_IF(!fd, "the file ({}) cannot be opened: {}", path, strerror(errno));
  struct stat status = {};
  INVALID_IF(fstat(fd.get(), &status) != 0, "the file ({}) cannot be examined: {}", path,
             strerror(errno));
  INVALID_IF(!S_ISREG(status.st_mode), "the path ({}) is not a regular file", path);
  return std::shared_ptr<const ReadOnlyFile>(
      new ReadOnlyFile(path, std::move(fd), static_cast<uint64_t>(status.st_size)));
}

Status ReadOnlyFile::ReadAt(uint64_t offset_bytes, std::span<std::byte> out) const {
  INVALID_IF(offset_bytes > size_bytes_ || out.size() > size_bytes_ - offset_bytes,
             "the file ({}) is truncated: it has {} bytes and byte ({}) is needed", path_,
             size_bytes_, offset_bytes + out.size());
  size_t done = 0;
  while (done < out.size()) {
    ssize_t count = pread(fd_.get(), out.data() + done, out.size() - done,
                          static_cast<off_t>(offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    INVALID_IF(count < 0, "the file ({}) cannot be read: {}", path_, strerror(errno));
    INVALID_IF(count == 0, "the file ({}) ends while it is being read", path_);
    done += static_cast<size_t>(count);
  }
  return {};
}

Result<std::string> ReadSmallFile(const std::string& path, uint64_t bytes_max) {
  ASSIGN_OR_RETURN(auto file, ReadOnlyFile::Open(path));
  INVALID_IF(file->size_bytes() > bytes_max, "the file ({}) has {} bytes, more than ({})", path,
             file->size_bytes(), bytes_max);
  std::string text(file->size_bytes(), '\0');
  TRY(file->ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace webnnd::generate

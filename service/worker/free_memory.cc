#include "service/worker/free_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace webnnd::service {
namespace {

uint64_t ReadAvailableBytes(int file) {
  // MemAvailable is the third line.
  char text[512];
  const ssize_t got = pread(file, text, sizeof text, 0);
  if (got <= 0) return 0;
  constexpr std::string_view kField = "MemAvailable:";
  std::string_view rest(text, static_cast<size_t>(got));
  const size_t at = rest.find(kField);
  if (at == std::string_view::npos) return 0;
  rest.remove_prefix(at + kField.size());
  const size_t digit = rest.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  uint64_t kilobytes = 0;
  std::from_chars(rest.data() + digit, rest.data() + rest.size(), kilobytes);
  return kilobytes << 10;
}

}  // namespace

Result<std::function<uint64_t()>> OpenFreeMemory() {
  auto file = std::make_shared<UniqueFd>(open("/proc/meminfo", O_RDONLY | O_CLOEXEC));
  if (!file->valid()) return ErrnoError("opening /proc/meminfo");
  return std::function<uint64_t()>([file] { return ReadAvailableBytes(file->get()); });
}

}  // namespace webnnd::service

#include "service/worker/resident_memory.h"

#include <gtest/gtest.h>
#include <link.h>
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace webnnd::service {
namespace {

struct Segment {
  const volatile char* begin = nullptr;
  size_t bytes = 0;
};

// The C++ library's code, which is larger than a MiB.
Segment FindCode() {
  Segment found;
  auto look = [](dl_phdr_info* library, size_t, void* data) {
    if (std::strstr(library->dlpi_name, "libstdc++") == nullptr) return 0;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = library->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      *static_cast<Segment*>(data) = {
          reinterpret_cast<const char*>(library->dlpi_addr + segment.p_vaddr), segment.p_filesz};
    }
    return 1;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

// Of the mapping that begins there, as the system counts them. Found out without the library.
uint64_t ResidentKilobytes(const Segment& segment) {
  char address[32];
  std::snprintf(address, sizeof address, "%lx-", reinterpret_cast<uintptr_t>(segment.begin));
  FILE* maps = std::fopen("/proc/self/smaps", "r");
  if (maps == nullptr) return 0;
  uint64_t kilobytes = 0;
  bool inside = false;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::strncmp(line, address, std::strlen(address)) == 0) inside = true;
    if (inside && std::sscanf(line, "Rss: %lu", &kilobytes) == 1) break;
  }
  std::fclose(maps);
  return kilobytes;
}

TEST(ResidentMemory, ReleaseLibraryPages_LetsGoOfWhatWasRead) {
  const Segment code = FindCode();
  ASSERT_GT(code.bytes, size_t{1} << 20) << "the C++ library is linked in";
  std::string before;
  for (size_t i = 0; i < code.bytes; i += 4096) before += code.begin[i];
  const uint64_t kilobytes = ResidentKilobytes(code);
  EXPECT_GE(kilobytes, code.bytes >> 10);
  ReleaseLibraryPages();
  EXPECT_LT(ResidentKilobytes(code), kilobytes / 2);
  // They come back as they were.
  std::string after;
  for (size_t i = 0; i < code.bytes; i += 4096) after += code.begin[i];
  EXPECT_EQ(after, before);
  std::ostringstream works;
  works << 1.5;
  EXPECT_EQ(works.str(), "1.5");
}

TEST(ResidentMemory, MapHeapBlocks_MapsThemOneByOne) {
#ifdef WEBNND_SANITIZERS
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  MapHeapBlocks();
  const size_t before = mallinfo2().hblks;
  // More than the heap has free.
  std::vector<void*> blocks(100);
  for (void*& block : blocks) block = std::malloc(40 << 10);
  EXPECT_GT(mallinfo2().hblks, before + blocks.size() / 2);
  for (void* block : blocks) std::free(block);
  EXPECT_EQ(mallinfo2().hblks, before);
  for (void*& block : blocks) block = std::malloc(20 << 10);
  EXPECT_EQ(mallinfo2().hblks, before);
  for (void* block : blocks) std::free(block);
}

}  // namespace
}  // namespace webnnd::service

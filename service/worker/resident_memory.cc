#include "service/worker/resident_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace webnnd::service {
namespace {

// Mesa makes the instructions of a shader by slabs of this size.
constexpr int kMappedBytesMin = 32 << 10;

// Smaller segments are not worth a call.
constexpr uint64_t kSegmentBytesMin = 1 << 20;

// Whether the loader has changed segments that nobody may write to, whose changes would be lost.
bool HasTextRelocations(const dl_phdr_info& library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + segment.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

int ReleasePages(dl_phdr_info* library, size_t /*bytes*/, void* /*data*/) {
  if (HasTextRelocations(*library)) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 ||
        segment.p_filesz < kSegmentBytesMin) {
      continue;
    }
    // Whole pages: what shares one with the segment may have been written to.
    const uintptr_t first = library->dlpi_addr + segment.p_vaddr;
    const uintptr_t begin = (first + page - 1) / page * page;
    const uintptr_t end = (first + segment.p_filesz) / page * page;
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void MapHeapBlocks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
#endif
}

void ReleaseLibraryPages() { dl_iterate_phdr(ReleasePages, nullptr); }

}  // namespace webnnd::service

// Mesa's archives of compiled kernels: what one has that another lacks.
//
// With MESA_DISK_CACHE_SINGLE_FILE Mesa keeps an archive and an index (its
// src/util/fossilize_db.c). Both begin with a head of 16 bytes. Entries follow: a key of 40
// hexadecimal digits, four numbers of 32 bits, of which the first is the size of what comes next,
// and that; in the archive a kernel, in the index where in the archive the numbers of that key's
// entry begin, in 64 bits. All are only added to.
#ifndef WEBNND_SERVICE_WORKER_MESA_ARCHIVE_H_
#define WEBNND_SERVICE_WORKER_MESA_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace webnnd::service {

struct MesaArchive {
  std::span<const std::byte> archive;
  std::span<const std::byte> index;
};

struct MesaArchiveAdditions {
  std::vector<std::byte> archive;
  std::vector<std::byte> index;
};

// What to add to an archive of `archive_bytes` bytes, and to its index, for it to have the kernels
// of `other`, too. An error: one of them is none, or is not whole, or the two are of other formats.
Result<MesaArchiveAdditions> FindAdditions(uint64_t archive_bytes, std::span<const std::byte> index,
                                           const MesaArchive& other);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_MESA_ARCHIVE_H_

// KernelImage: what drivers keep of compiled kernels, as one file that the broker stores and hands
// to workers unread.
#ifndef WEBNND_SERVICE_WORKER_KERNEL_IMAGE_H_
#define WEBNND_SERVICE_WORKER_KERNEL_IMAGE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::service {

// Of kernels, as devices tell them (DeviceOptions::on_compiled): those that an image has.
using KernelHashes = std::set<uint64_t>;

// Writes the files of the image in `file`, read from its beginning, below `directory`, and returns
// the hashes of its kernels. An error, and some of the files or none: it is no whole image.
Result<KernelHashes> UnpackKernelImage(int file, const std::string& directory);

// The files of drivers below a directory, opened: they can be read and added to once none can be
// opened any more.
class KernelFiles {
 public:
  KernelFiles() = default;
  // Those that are there and can be opened, but what a driver makes anew.
  static KernelFiles Open(const std::string& directory);
  // Their names below the directory, sorted.
  static std::vector<std::string> Names(const std::string& directory);

  // Writes an image of them to `file`, which is empty. Quota: it would be larger than
  // limits::kKernelImageBytesMax. The devices that write to them must be closed before: another
  // error, if one is seen at it.
  Status Pack(const KernelHashes& hashes, int file) const;

  // Adds those kernels of an image that these files lack, and returns the hashes of all that it
  // has. Drivers look again into a file that has grown for what they miss; they must not write any
  // more, as a worker's cannot, for want of the lock. An error, and nothing is added: it is no whole
  // image, or has other files. Where there is no room, a part is added that no index names.
  Result<KernelHashes> Extend(int image) const;

 private:
  struct File {
    std::string name;  // Below the directory.
    UniqueFd descriptor;
  };
  std::vector<File> files_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_KERNEL_IMAGE_H_

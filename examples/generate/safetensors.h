// The safetensors format: 8 bytes of header length, a JSON header {name: {dtype, shape,
// data_offsets}}, then the tensors' bytes. https://github.com/huggingface/safetensors#format
#ifndef WEBNND_EXAMPLES_GENERATE_SAFETENSORS_H_
#define WEBNND_EXAMPLES_GENERATE_SAFETENSORS_H_

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "examples/generate/file.h"
#include "examples/generate/weights.h"

namespace webnnd::generate {

class Safetensors {
 public:
  // Reads and checks the header: its length, every tensor's data type, shape and range (inside the
  // file, as long as type and shape say, no two overlapping). Validation error otherwise.
  static Result<Safetensors> Open(const std::string& path);

  bool Contains(const std::string& name) const { return entries_.contains(name); }
  // NotSupported when the tensor is stored in another type than F32, F16 or BF16.
  Result<StoredTensor> Find(const std::string& name) const;

 private:
  struct Entry {
    std::string type_name;
    std::vector<uint32_t> shape;
    uint64_t offset_bytes;  // From the beginning of the file.
    uint64_t size_bytes;
  };

  explicit Safetensors(std::shared_ptr<const ReadOnlyFile> file) : file_(std::move(file)) {}
  Status ParseHeader(const std::string& text);
  Status CheckOverlaps() const;

  std::shared_ptr<const ReadOnlyFile> file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_SAFETENSORS_H_

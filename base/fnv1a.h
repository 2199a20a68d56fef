// Fnv1a: "The FNV Non-Cryptographic Hash Algorithm" (RFC 9923), 64 bits.
#ifndef WEBNND_BASE_FNV1A_H_
#define WEBNND_BASE_FNV1A_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace webnnd {

// Finds accidents, and no forgery: who wants two inputs of one hash finds them.
class Fnv1a {
 public:
  void Add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_FNV1A_H_

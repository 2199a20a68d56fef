// Payloads and destinations: bulk data between a client's memory and staging memory.
#ifndef WEBNND_SERVICE_SESSION_PAYLOAD_H_
#define WEBNND_SERVICE_SESSION_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ipc/messages.h"
#include "ipc/shared_memory.h"

namespace webnnd::service {

// The mappings of a session's two arenas.
struct Arenas {
  ipc::SharedMapping up;
  ipc::SharedMapping down;
};

// A payload whose form has been checked: reading it cannot leave its range. The bytes may change at
// any time, so each is read once.
class PayloadSource {
 public:
  // BadMessage when an arena range is out of bounds, a file is of a wrong kind, or a sealed one is
  // too small; a regular file that is too small fails in Read.
  static Result<PayloadSource, BadMessage> Open(std::shared_ptr<const Arenas> arenas,
                                                ipc::Payload payload);

  uint64_t length() const;
  // The sequence to acknowledge once the bytes have been read; 0 for none.
  uint64_t sequence() const;
  // Reads [offset, offset + out.size()), inside length(). May block on a file: not for the I/O
  // thread.
  Status Read(uint64_t offset, std::span<std::byte> out) const;
  // Reads all of it now, so that nobody changes it any more. Errors and blocking as in Read.
  Status TakeIn();
  // The bytes of a payload that came inline or was taken in; null for others.
  std::shared_ptr<const std::vector<std::byte>> bytes() const { return bytes_; }

 private:
  PayloadSource() = default;
  std::shared_ptr<const Arenas> arenas_;  // Keeps the mapping alive.
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::span<const std::byte> range_;
  ipc::FilePayload file_;
  uint64_t sequence_ = 0;
};

// Where a read goes, checked likewise.
class ReadTarget {
 public:
  static Result<ReadTarget, BadMessage> Open(std::shared_ptr<const Arenas> arenas,
                                             ipc::Destination destination);
  // Bytes that fit.
  uint64_t capacity() const;
  // Stores `bytes`, at most capacity(); inline ones go to `reply`.
  Status Store(std::span<const std::byte> bytes, std::vector<std::byte>& reply) const;

 private:
  ReadTarget() = default;
  std::shared_ptr<const Arenas> arenas_;
  std::span<std::byte> range_;
  ipc::FileDestination file_;
  bool inline_ = false;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_PAYLOAD_H_

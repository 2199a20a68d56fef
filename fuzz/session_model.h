// SessionModel: which messages a service must take, and which answers it owes, kept apart from the
// service's own directory of handles.
#ifndef WEBNND_FUZZ_SESSION_MODEL_H_
#define WEBNND_FUZZ_SESSION_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/quota.h"
#include "ipc/messages.h"

namespace webnnd::fuzz {

class SessionModel {
 public:
  struct Named {
    ipc::Handle handle;
    ipc::ObjectType type;
    ipc::Handle context;  // Of what belongs to one.
    bool alive = true;
  };

  explicit SessionModel(const Quota& quota = {}) : quota_(quota) {}

  // Takes the next message. False where it breaks the protocol, which ends the session.
  bool Take(ipc::ClientMessage& message);

  // Everything that was made, by index; the last object of each.
  const std::map<uint32_t, Named>& objects() const { return objects_; }

  // --- Answers that are owed --------------------------------------------------------------------
  // Packed handles, and whether the object is over the quota: one that must be refused.
  using Owed = std::map<uint64_t, bool>;
  Owed contexts;
  Owed tensors;
  Owed graphs;
  struct Read {
    uint64_t bytes_max = 0;
    bool in_message = false;
  };
  // By request. A client that gives two the same number cannot tell which of them an answer is of.
  struct Reads {
    std::vector<Read> sent;
    size_t answered = 0;
  };
  std::map<uint64_t, Reads> reads;
  uint64_t sequence_max = 0;  // Of payloads in the arena.
  bool OwesNothing() const;

 private:
  bool TakeHandles(ipc::ClientMessage& message);
  void Remove(Named& named);
  // Of those that live, refused ones included.
  uint64_t CountOf(ipc::ObjectType type) const;

  Quota quota_;
  std::map<uint32_t, Named> objects_;
};

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_SESSION_MODEL_H_

// SessionModel: which messages a service must take, and which answers it owes, kept apart from the
// service's own directory of handles.
#ifndef WEBNND_FUZZ_SESSION_MODEL_H_
#define WEBNND_FUZZ_SESSION_MODEL_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

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

  // Takes the next message. False where it breaks the protocol, which ends the session.
  bool Take(ipc::ClientMessage& message);

  // Everything that was made, by index; the last object of each.
  const std::map<uint32_t, Named>& objects() const { return objects_; }

  // --- Answers that are owed
  // ---------------------------------------------------------------------- Packed handles, or
  // requests, each as often as it was asked for.
  std::multiset<uint64_t> contexts;
  std::multiset<uint64_t> tensors;
  std::multiset<uint64_t> graphs;
  struct Read {
    uint64_t request = 0;
    uint64_t bytes_max = 0;
    bool in_message = false;
  };
  std::vector<Read> reads;
  uint64_t sequence_max = 0;  // Of payloads in the arena.
  bool OwesNothing() const {
    return contexts.empty() && tensors.empty() && graphs.empty() && reads.empty();
  }

 private:
  bool TakeHandles(ipc::ClientMessage& message);
  void Remove(Named& named);

  std::map<uint32_t, Named> objects_;
};

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_SESSION_MODEL_H_

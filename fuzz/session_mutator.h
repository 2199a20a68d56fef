// Makes and changes what a client sends, by the types of messages and by the objects that live
// where a message stands.
#ifndef WEBNND_FUZZ_SESSION_MUTATOR_H_
#define WEBNND_FUZZ_SESSION_MUTATOR_H_

#include <cstdint>
#include <random>

#include "fuzz/session_sequence.h"

namespace webnnd::fuzz {

class SessionMutator {
 public:
  explicit SessionMutator(uint32_t seed) : random_(seed) {}

  // A few changes. Of most sequences every message stays one that an honest client could send.
  SessionSequence Mutate(SessionSequence sequence);
  // The first ones of one, then of the other: as they are, or on objects of their own.
  SessionSequence Cross(SessionSequence sequence, const SessionSequence& other);
  // A short session that an honest client could have. `kind` is below kEpisodeKinds.
  static constexpr uint32_t kEpisodeKinds = 5;
  SessionSequence MakeSession(uint32_t kind);

 private:
  void MutateOnce(SessionSequence& sequence);

  std::minstd_rand random_;
};

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_SESSION_MUTATOR_H_

// ServedSession: a worker's session with its client, on a device that computes nothing, and what
// must hold between them.
#ifndef WEBNND_TESTS_SIMULATION_SERVED_SESSION_H_
#define WEBNND_TESTS_SIMULATION_SERVED_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/quota.h"
#include "ipc/channel.h"
#include "service/session/session.h"
#include "tests/simulation/null_device.h"
#include "tests/simulation/peer.h"
#include "tests/simulation/tally.h"

namespace webnnd::service {

class ServedSession {
 public:
  // Called with what is wrong with the client, such as "has ...".
  using Fail = std::function<void(std::string)>;

  ServedSession(std::unique_ptr<ipc::Channel> channel, const Quota& quota, NullFlaw flaw,
                Fail fail);

  // Turns of the session. false, here and below: it has ended by itself.
  bool Step(int turns);
  // The device does so much of what is queued, or all.
  void RunDevice(size_t count);

  // The following are for a client that keeps the protocol and reads its answers.

  void CheckBounds() const;
  // Whether the client got further since the last call; for too many calls it must not wait
  // without.
  bool MovesOn(const Peer& peer);
  // For a client that has all its answers: nothing is in flight, and what there is, is what there
  // should be.
  bool CheckQuiet(const Peer& peer);
  // With a device that does nothing for a while, a session takes as much as its quotas allow.
  bool Flood(Peer& peer, Tally& tally);

  // Ends the session; bytes of device memory that it leaves behind.
  uint64_t End();

 private:
  const Quota quota_;
  const Fail fail_;
  uint64_t work_done_ = 0;  // By the device.
  // Turns in which the client waited and nothing came of it, and what had come before.
  int still_turns_ = 0;
  uint64_t moved_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_SERVED_SESSION_H_

// What the broker and a worker say to each other, over a SOCK_SEQPACKET pair.
#ifndef WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_
#define WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_

#include <cstdint>

namespace webnnd::service {

enum class ControlType : uint32_t {
  kReady = 1,  // worker: locked down, devices open, waiting for a client
  kPing = 2,   // broker: are you alive?
  kPong = 3,   // worker: yes, `sequence` as in the ping
  kServe = 4,  // broker: the client's socket travels along
};

// One packet. The broker distrusts what a worker sends: any other size, or a message that it does
// not expect, costs the worker its life.
struct ControlMessage {
  ControlType type;
  uint32_t sequence = 0;
};
static_assert(sizeof(ControlMessage) == 8);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_

// What the broker and a worker say to each other, over a SOCK_SEQPACKET pair.
#ifndef WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_
#define WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_

#include <cstdint>
#include <type_traits>

#include "base/client_figures.h"
#include "base/compiled_kernel.h"
#include "base/result.h"

namespace webnnd::service {

enum class ControlType : uint32_t {
  kReady = 1,   // worker: locked down, devices open, waiting for a client
  kPing = 2,    // broker: are you alive?
  kPong = 3,    // worker: yes, `sequence` as in the ping
  kServe = 4,   // broker: a client's socket travels along, `sequence` is the client's number
  kReport = 5,  // worker: the figures of the client with the number `sequence`; before a pong
  kGone = 6,    // worker: the client with the number `sequence` has left (shared isolation only)
  kTrace = 7,   // broker: a file for the trace travels along; before any kServe
  kKernel = 8,  // worker: a kernel that it compiles and no cache has; kKernelReportsMax at most
  kFetch = 9,   // worker: waits for those it has named since the last; `sequence` counts
  kImage = 10,  // broker: nothing more is compiled for the fetch `sequence`; the image of kernels
                // travels along, if there is one
};

// One packet. The broker distrusts what a worker sends: any other size, or a message that it does
// not expect, costs the worker its life.
struct ControlMessage {
  ControlType type;
  uint32_t sequence = 0;
};
static_assert(sizeof(ControlMessage) == 8);

// The packet of a kReport, at most one for each client and ping.
struct ReportMessage {
  ControlMessage header;
  ClientFigures figures;
};
static_assert(std::has_unique_object_representations_v<ReportMessage>);

// The packet of a kKernel.
struct KernelMessage {
  ControlMessage header{.type = ControlType::kKernel};
  CompiledKernel kernel;
};
static_assert(std::has_unique_object_representations_v<KernelMessage>);
static_assert(sizeof(KernelMessage) != sizeof(ReportMessage));

// Sends one packet with a descriptor, and `flags` of sendmsg.
Status SendWithDescriptor(int socket, const ControlMessage& message, int descriptor, int flags);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_CONTROL_MESSAGE_H_

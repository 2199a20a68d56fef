// ClientFigures: what a worker tells of one client, for `webnnd stats`.
#ifndef WEBNND_BASE_CLIENT_FIGURES_H_
#define WEBNND_BASE_CLIENT_FIGURES_H_

#include <cstdint>
#include <type_traits>

namespace webnnd {

// Numbers alone, of fixed size and without padding: they travel as they are from a worker to the
// broker, which shows them and believes none.
struct ClientFigures {
  uint32_t contexts = 0;
  uint32_t tensors = 0;
  uint32_t graphs = 0;
  uint32_t bindings = 0;
  // Tensors, constants and memory of graphs, in bytes, as the client's quota counts them.
  uint64_t device_bytes = 0;
  // Since the client came.
  uint64_t dispatches = 0;
  uint64_t dispatches_failed = 0;
  // Of those, the ones that took longer than they may.
  uint64_t dispatches_stopped = 0;
  uint64_t dispatches_in_flight = 0;
  // From the worker's accepting a dispatch to the device's end of it, of all that did not fail, to
  // an eighth; 0 when there was none.
  uint64_t latency_median_us = 0;
  uint64_t latency_p95_us = 0;
};
static_assert(std::has_unique_object_representations_v<ClientFigures>);

}  // namespace webnnd

#endif  // WEBNND_BASE_CLIENT_FIGURES_H_

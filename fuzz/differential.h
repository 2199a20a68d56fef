// What the differential fuzzer holds: client and service have one verdict on every graph.
#ifndef WEBNND_FUZZ_DIFFERENTIAL_H_
#define WEBNND_FUZZ_DIFFERENTIAL_H_

#include "fuzz/sent_graph.h"
#include "fuzz/verdict_client.h"

namespace webnnd::fuzz {

enum class Outcome : uint8_t { kAccepted, kRefused, kInexpressible };

// Aborts, with both verdicts in words, unless
// - both accept the graph, and what the client sends of it is the same graph: operators,
// attributes,
//   shapes and endpoints; or
// - both refuse it, for one cause and with one sentence; or
// - the client's API cannot say it, and the service refuses it.
Outcome CheckVerdicts(VerdictClient& client, const SentGraph& graph);

}  // namespace webnnd::fuzz

#endif  // WEBNND_FUZZ_DIFFERENTIAL_H_

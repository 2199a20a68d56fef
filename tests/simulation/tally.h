// Tally: how often worlds met their quotas.
#ifndef WEBNND_TESTS_SIMULATION_TALLY_H_
#define WEBNND_TESTS_SIMULATION_TALLY_H_

#include <cstdint>
#include <vector>

#include "tests/simulation/mirror.h"

namespace webnnd::service {

// How often something reached its limit.
struct Tally {
  uint64_t clients = 0, answers = 0;
  // Calls over a quota.
  Mirror::Refusals refused;
  // Floods that had to wait for the quota.
  uint64_t tasks = 0, dispatches = 0, bytes = 0;

  void Add(const Mirror::Refusals& more) {
    refused.contexts += more.contexts;
    refused.tensors += more.tensors;
    refused.graphs += more.graphs;
    refused.bindings += more.bindings;
    refused.operators += more.operators;
    refused.device_bytes += more.device_bytes;
    refused.dispatch_ms += more.dispatch_ms;
  }
  struct Row {
    const char* quota;
    uint64_t times;
  };
  std::vector<Row> Rows() const {
    return {{"contexts", refused.contexts},       {"tensors", refused.tensors},
            {"graphs", refused.graphs},           {"bindings", refused.bindings},
            {"operators", refused.operators},     {"device-bytes", refused.device_bytes},
            {"dispatch-ms", refused.dispatch_ms}, {"tasks in flight", tasks},
            {"dispatches-in-flight", dispatches}, {"bytes-in-flight", bytes}};
  }
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_TALLY_H_

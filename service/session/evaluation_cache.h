// EvaluationCache: what has been computed of constants, for the next graph that needs the same.
#ifndef WEBNND_SERVICE_SESSION_EVALUATION_CACHE_H_
#define WEBNND_SERVICE_SESSION_EVALUATION_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "service/plan/plan.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

// Of one context. Graphs share constant tensors, so that each would pack the same weights once
// more: a prompt's and those of a step. Contents of constants never change. Keeps nothing alive.
class EvaluationCache {
 public:
  using Buffers = std::vector<std::shared_ptr<Buffer>>;

  static constexpr size_t kEntriesMax = 8;
  // Larger plans are not kept: the host's memory would be the client's to fill.
  static constexpr size_t kCallsMax = 4096;

  // What the plan gave for these constants, as long as somebody holds all of it.
  std::optional<Buffers> Find(const Plan& plan, const Buffers& constants) const;
  // In place of the oldest where there are kEntriesMax.
  void Add(Plan plan, const Buffers& constants, const Buffers& outputs);
  size_t size() const { return entries_.size(); }

 private:
  using WeakBuffers = std::vector<std::weak_ptr<Buffer>>;
  struct Entry {
    Plan plan;
    WeakBuffers constants;
    WeakBuffers outputs;
  };
  std::list<Entry> entries_;  // The oldest first.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_EVALUATION_CACHE_H_

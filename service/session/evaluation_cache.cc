#include "service/session/evaluation_cache.h"

#include <utility>

namespace webnnd::service {
namespace {

using Buffers = EvaluationCache::Buffers;

// Empty where one of them is gone.
std::optional<Buffers> LockAll(const std::vector<std::weak_ptr<Buffer>>& weak) {
  Buffers buffers;
  for (const std::weak_ptr<Buffer>& one : weak) {
    buffers.push_back(one.lock());
    if (buffers.back() == nullptr) return std::nullopt;
  }
  return buffers;
}

}  // namespace

std::optional<Buffers> EvaluationCache::Find(const Plan& plan, const Buffers& constants) const {
  for (const Entry& entry : entries_) {
    // By the objects that they were: another one may lie where one was.
    if (LockAll(entry.constants) != constants || entry.plan != plan) continue;
    if (auto outputs = LockAll(entry.outputs)) return outputs;
  }
  return std::nullopt;
}

void EvaluationCache::Add(Plan plan, const Buffers& constants, const Buffers& outputs) {
  entries_.remove_if([](const Entry& entry) { return !LockAll(entry.outputs); });
  if (plan.calls.size() > kCallsMax) return;
  if (entries_.size() == kEntriesMax) entries_.pop_front();
  entries_.push_back({std::move(plan), WeakBuffers(constants.begin(), constants.end()),
                      WeakBuffers(outputs.begin(), outputs.end())});
}

}  // namespace webnnd::service

#include "client/binding_cache.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace webnn {

std::optional<BindingCache::Handle> BindingCache::Find(const Key& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->binding;
}

std::optional<BindingCache::Handle> BindingCache::Insert(Key key, Handle binding) {
  std::optional<Handle> dropped;
  if (entries_.size() >= webnnd::limits::kBindingsCachedMax) {
    dropped = entries_.back().binding;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, binding});
  index_[std::move(key)] = entries_.begin();
  return dropped;
}

std::vector<BindingCache::Handle> BindingCache::Erase(uint64_t handle) {
  std::vector<Handle> erased;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (std::find(entry->key.begin(), entry->key.end(), handle) == entry->key.end()) {
      ++entry;
      continue;
    }
    erased.push_back(entry->binding);
    index_.erase(entry->key);
    entry = entries_.erase(entry);
  }
  return erased;
}

std::vector<BindingCache::Handle> BindingCache::Clear() {
  std::vector<Handle> erased;
  for (const Entry& entry : entries_) erased.push_back(entry.binding);
  index_.clear();
  entries_.clear();
  return erased;
}

}  // namespace webnn

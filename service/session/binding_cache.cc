#include "service/session/binding_cache.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace webnnd::service {

std::shared_ptr<Binding> BindingCache::Find(const Key& key) {
  auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->binding;
}

void BindingCache::Insert(Key key, std::shared_ptr<Binding> binding) {
  if (entries_.size() >= limits::kBindingsCachedMax) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, std::move(binding)});
  index_[std::move(key)] = entries_.begin();
}

void BindingCache::Erase(uint64_t serial) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (std::find(entry->key.begin(), entry->key.end(), serial) == entry->key.end()) {
      ++entry;
      continue;
    }
    index_.erase(entry->key);
    entry = entries_.erase(entry);
  }
}

void BindingCache::Clear() {
  index_.clear();
  entries_.clear();
}

}  // namespace webnnd::service

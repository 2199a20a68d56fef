// BindingCache: the bindings behind plain dispatches, so that the same graph with the same tensors
// records nothing again.
#ifndef WEBNND_SERVICE_SESSION_BINDING_CACHE_H_
#define WEBNND_SERVICE_SESSION_BINDING_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "service/vulkan/device.h"

namespace webnnd::service {

// Keys are serials: the graph's, then the tensors'. Least recently used first out, at
// limits::kBindingsCachedMax. Its owner erases by serial when an object is destroyed, so it keeps
// no memory alive for longer.
class BindingCache {
 public:
  using Key = std::vector<uint64_t>;

  // nullptr when absent.
  std::shared_ptr<Binding> Find(const Key& key);
  void Insert(Key key, std::shared_ptr<Binding> binding);
  // Drops the bindings that name this graph or tensor.
  void Erase(uint64_t serial);
  void Clear();
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<Binding> binding;
  };
  std::list<Entry> entries_;  // Most recently used first.
  std::map<Key, std::list<Entry>::iterator> index_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_BINDING_CACHE_H_

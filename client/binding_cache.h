// BindingCache: the bindings behind plain dispatches, so that the same graph with the same tensors
// costs the service nothing again.
#ifndef WEBNND_CLIENT_BINDING_CACHE_H_
#define WEBNND_CLIENT_BINDING_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "ipc/handle.h"

namespace webnn {

// Keys are packed handles: the graph's, then the tensors' in the graph's order. Holds no object:
// its owner erases by handle when one is destroyed. Least recently used first out, at
// limits::kBindingsCachedMax.
class BindingCache {
 public:
  using Key = std::vector<uint64_t>;
  using Handle = webnnd::ipc::Handle;

  std::optional<Handle> Find(const Key& key);
  // The binding that had to go for it, if any.
  std::optional<Handle> Insert(Key key, Handle binding);
  // The bindings that name this graph or tensor, which are in the cache no more.
  std::vector<Handle> Erase(uint64_t handle);
  std::vector<Handle> Clear();
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Key key;
    Handle binding;
  };
  std::list<Entry> entries_;  // Most recently used first.
  std::map<Key, std::list<Entry>::iterator> index_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_BINDING_CACHE_H_

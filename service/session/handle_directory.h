// HandleDirectory: from a client's handles to objects.
#ifndef WEBNND_SERVICE_SESSION_HANDLE_DIRECTORY_H_
#define WEBNND_SERVICE_SESSION_HANDLE_DIRECTORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "ipc/handle.h"
#include "service/session/objects.h"

namespace webnnd::service {

// Used by the I/O thread alone, but for count(). A handle that was never made, or names another
// type, is BadMessage; one whose object was destroyed finds nullptr, for the client's message may
// have crossed ours.
class HandleDirectory {
 public:
  // BadMessage when the index is in use or out of limits::kObjectsPerSessionMax, or the generation
  // is not greater than the index's last one.
  Result<void, BadMessage> Insert(std::shared_ptr<Object> object);

  template <class T>
  Result<std::shared_ptr<T>, BadMessage> Find(ipc::Handle handle) const {
    ASSIGN_OR_RETURN(std::shared_ptr<Object> object, FindAny(handle, T::kType));
    return std::static_pointer_cast<T>(std::move(object));
  }
  // Find, and the handle names nothing from now on.
  template <class T>
  Result<std::shared_ptr<T>, BadMessage> Remove(ipc::Handle handle) {
    ASSIGN_OR_RETURN(std::shared_ptr<T> object, Find<T>(handle));
    if (object != nullptr) Clear(entries_[handle.index]);
    return object;
  }

  // Removes everything that belongs to the context; returns it.
  std::vector<std::shared_ptr<Object>> RemoveOf(const ContextObject& context);

  uint32_t count(ipc::ObjectType type) const {
    return counts_[static_cast<size_t>(type)].load(std::memory_order_relaxed);
  }

 private:
  struct Entry {
    uint32_t generation = 0;
    ipc::ObjectType type{};
    std::shared_ptr<Object> object;  // nullptr: destroyed.
  };

  Result<std::shared_ptr<Object>, BadMessage> FindAny(ipc::Handle handle,
                                                      ipc::ObjectType type) const;
  void Clear(Entry& entry);

  std::vector<Entry> entries_;
  std::array<std::atomic<uint32_t>, ipc::kObjectTypeCount> counts_{};
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_HANDLE_DIRECTORY_H_

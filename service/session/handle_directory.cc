#include "service/session/handle_directory.h"

#include <utility>

#include "base/limits.h"

namespace webnnd::service {

Result<void, BadMessage> HandleDirectory::Insert(std::shared_ptr<Object> object) {
  ipc::Handle handle = object->handle;
  if (handle.index == 0 || handle.index >= limits::kObjectsPerSessionMax) {
    return MakeBadMessage("the handle's index ({}) is out of range", handle.index);
  }
  if (handle.index >= entries_.size()) entries_.resize(handle.index + 1);
  Entry& entry = entries_[handle.index];
  if (entry.object != nullptr) {
    return MakeBadMessage("the handle's index ({}) is in use", handle.index);
  }
  if (handle.generation <= entry.generation) {
    return MakeBadMessage("the handle's generation ({}) is not greater than the last ({})",
                          handle.generation, entry.generation);
  }
  entry.generation = handle.generation;
  entry.type = object->type;
  ++counts_[static_cast<size_t>(object->type)];
  entry.object = std::move(object);
  return {};
}

Result<std::shared_ptr<Object>, BadMessage> HandleDirectory::FindAny(ipc::Handle handle,
                                                                     ipc::ObjectType type) const {
  if (handle.index == 0 || handle.index >= entries_.size() ||
      handle.generation > entries_[handle.index].generation || handle.generation == 0) {
    return MakeBadMessage("the handle ({}, {}) was never made", handle.index, handle.generation);
  }
  const Entry& entry = entries_[handle.index];
  if (handle.generation < entry.generation) return std::shared_ptr<Object>();
  if (entry.type != type) {
    return MakeBadMessage("the handle ({}, {}) is of another type ({}, not {})", handle.index,
                          handle.generation, static_cast<int>(entry.type), static_cast<int>(type));
  }
  return entry.object;
}

std::vector<std::shared_ptr<Object>> HandleDirectory::RemoveOf(const ContextObject& context) {
  std::vector<std::shared_ptr<Object>> removed;
  for (Entry& entry : entries_) {
    if (entry.object == nullptr || entry.object->context.get() != &context) continue;
    removed.push_back(entry.object);
    Clear(entry);
  }
  return removed;
}

void HandleDirectory::Clear(Entry& entry) {
  --counts_[static_cast<size_t>(entry.type)];
  entry.object = nullptr;
}

}  // namespace webnnd::service

#include "fuzz/session_model.h"

#include <algorithm>
#include <variant>

#include "base/checked_math.h"
#include "base/limits.h"
#include "fuzz/session_sequence.h"

namespace webnnd::fuzz {
namespace {

using ipc::ObjectType;

bool IsInside(uint64_t offset, uint64_t length, uint64_t bytes) {
  return offset <= bytes && length <= bytes - offset;
}

// Whether the payload is where it says.
bool IsThere(const ipc::Payload& payload) {
  if (const auto* in_arena = std::get_if<ipc::ArenaPayload>(&payload)) {
    return IsInside(in_arena->offset, in_arena->length, kSessionArenaBytes);
  }
  if (const auto* file = std::get_if<ipc::FilePayload>(&payload)) {
    return IsInside(file->offset, file->length, kFileBytes);
  }
  return true;
}

bool IsThere(const ipc::Destination& destination) {
  if (const auto* in_arena = std::get_if<ipc::ArenaDestination>(&destination)) {
    return IsInside(in_arena->offset, in_arena->length, kSessionArenaBytes);
  }
  if (const auto* file = std::get_if<ipc::FileDestination>(&destination)) {
    return file->length <= kFileBytes;
  }
  return true;
}

uint64_t BytesMax(const ipc::Destination& destination) {
  if (const auto* in_arena = std::get_if<ipc::ArenaDestination>(&destination)) {
    return in_arena->length;
  }
  if (const auto* file = std::get_if<ipc::FileDestination>(&destination)) return file->length;
  return limits::kInlinePayloadBytesMax;
}

ipc::Payload* PayloadOf(ipc::ClientMessage& message) {
  if (auto* m = std::get_if<ipc::WriteTensor>(&message)) return &m->data;
  if (auto* m = std::get_if<ipc::CreateConstantTensor>(&message)) return &m->data;
  if (auto* m = std::get_if<ipc::AddConstant>(&message)) return &m->data;
  return nullptr;
}

}  // namespace

void SessionModel::Remove(Named& named) {
  named.alive = false;
  if (named.type != ObjectType::kContext) return;
  for (auto& [index, other] : objects_) {
    if (other.context == named.handle) other.alive = false;
  }
}

bool SessionModel::TakeHandles(ipc::ClientMessage& message) {
  bool fine = true;
  ipc::Handle context;  // That what is made belongs to.
  const auto visit = [&](ipc::Handle& handle, ObjectType type, HandleRole role) {
    if (!fine) return;
    auto found = objects_.find(handle.index);
    if (role == HandleRole::kMakes) {
      const bool used = found != objects_.end() && found->second.alive;
      const uint32_t last = found == objects_.end() ? 0 : found->second.handle.generation;
      fine = handle.index != 0 && handle.index < limits::kObjectsPerSessionMax && !used &&
             handle.generation > last;
      if (fine) objects_[handle.index] = {handle, type, context, true};
      return;
    }
    if (handle.generation == 0 || found == objects_.end() ||
        handle.generation > found->second.handle.generation) {
      fine = false;
      return;
    }
    Named& named = found->second;
    // An older object of that index: gone.
    if (handle.generation < named.handle.generation) return;
    if (named.type != type) {
      fine = false;
      return;
    }
    if (!named.alive) return;
    // Graphs belong to their builder's context, bindings to their graph's.
    if (type == ObjectType::kContext) context = handle;
    if (type == ObjectType::kBuilder || type == ObjectType::kGraph) context = named.context;
    if (role == HandleRole::kRemoves) Remove(named);
  };
  VisitHandles(message, visit);
  return fine;
}

uint64_t SessionModel::CountOf(ObjectType type) const {
  return static_cast<uint64_t>(std::count_if(
      objects_.begin(), objects_.end(),
      [type](const auto& item) { return item.second.type == type && item.second.alive; }));
}

bool SessionModel::OwesNothing() const {
  return contexts.empty() && tensors.empty() && graphs.empty() &&
         std::all_of(reads.begin(), reads.end(), [](const auto& item) {
           return item.second.answered == item.second.sent.size();
         });
}

bool SessionModel::Take(ipc::ClientMessage& message) {
  if (std::holds_alternative<ipc::Hello>(message)) return false;
  if (!TakeHandles(message)) return false;
  if (const ipc::Payload* payload = PayloadOf(message)) {
    if (!IsThere(*payload)) return false;
    if (const auto* in_arena = std::get_if<ipc::ArenaPayload>(payload)) {
      sequence_max = std::max(sequence_max, in_arena->sequence);
    }
  }
  if (auto* m = std::get_if<ipc::CreateContext>(&message)) {
    contexts.emplace(m->context.Pack(), CountOf(ObjectType::kContext) > quota_.contexts);
  }
  const bool too_many_tensors = CountOf(ObjectType::kTensor) > quota_.tensors;
  if (auto* m = std::get_if<ipc::CreateTensor>(&message)) {
    tensors.emplace(m->tensor.Pack(), too_many_tensors);
  }
  if (auto* m = std::get_if<ipc::CreateConstantTensor>(&message)) {
    tensors.emplace(m->tensor.Pack(), too_many_tensors);
  }
  if (auto* m = std::get_if<ipc::Build>(&message)) {
    graphs.emplace(m->graph.Pack(), CountOf(ObjectType::kGraph) > quota_.graphs);
  }
  if (auto* m = std::get_if<ipc::ReadTensor>(&message)) {
    if (!IsThere(m->destination)) return false;
    reads[m->request].sent.push_back(
        {BytesMax(m->destination), std::holds_alternative<ipc::InlineDestination>(m->destination)});
  }
  return true;
}

}  // namespace webnnd::fuzz

// Handles: how the two sides name objects. The client chooses them, so that nothing waits.
#ifndef WEBNND_IPC_HANDLE_H_
#define WEBNND_IPC_HANDLE_H_

#include <cstddef>
#include <cstdint>

namespace webnnd::ipc {

enum class ObjectType : uint8_t { kContext, kTensor, kBuilder, kGraph, kBinding };
inline constexpr size_t kObjectTypeCount = 5;

// One space of indices for all types of a session. Index 0 is reserved for "none". An index is used
// again, with a greater generation, once its object was destroyed.
struct Handle {
  uint32_t index = 0;
  uint32_t generation = 0;

  uint64_t Pack() const { return (static_cast<uint64_t>(generation) << 32) | index; }
  static Handle Unpack(uint64_t packed) {
    return {static_cast<uint32_t>(packed), static_cast<uint32_t>(packed >> 32)};
  }
  friend bool operator==(Handle, Handle) = default;
};

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_HANDLE_H_

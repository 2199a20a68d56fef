// What memory goes with an object, here and in the worker, beside the JavaScript object itself. The
// garbage collector hears of it, so that it looks for dropped objects long before a client's share
// (base/limits.h: 16 contexts, 1024 graphs, 4096 bindings, 16384 tensors, 256 builders) is used up:
// V8 does after some 64 MiB.
#ifndef WEBNND_CLIENT_NODE_MEMORY_H_
#define WEBNND_CLIENT_NODE_MEMORY_H_

#include <cstdint>

#include "webidl/operand_descriptor.h"

namespace webnn::node {

inline constexpr int64_t kContextMemory = 16 << 20;
inline constexpr int64_t kGraphMemory = 256 << 10;
inline constexpr int64_t kBindingMemory = 64 << 10;

inline int64_t TensorMemory(const webnnd::webidl::OperandDescriptor& descriptor) {
  return (16 << 10) + static_cast<int64_t>(descriptor.byte_length());
}

}  // namespace webnn::node

#endif  // WEBNND_CLIENT_NODE_MEMORY_H_

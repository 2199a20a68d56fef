// The bytes of a scalar constant.
#ifndef WEBNND_CLIENT_SCALAR_BYTES_H_
#define WEBNND_CLIENT_SCALAR_BYTES_H_

#include <cstddef>
#include <vector>

#include "webidl/generated/types.h"

namespace webnn {

// One element of `type` that holds `number`, cast as the draft's "cast" does; little-endian. A
// 4-bit element stands in the low bits of its byte.
std::vector<std::byte> ScalarBytes(const webnnd::webidl::Number& number,
                                   webnnd::webidl::OperandDataType type);

}  // namespace webnn

#endif  // WEBNND_CLIENT_SCALAR_BYTES_H_

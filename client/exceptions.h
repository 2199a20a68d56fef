// Which exception the draft names for a failure: one table, method x cause (DESIGN section 9).
#ifndef WEBNND_CLIENT_EXCEPTIONS_H_
#define WEBNND_CLIENT_EXCEPTIONS_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace webnn {

enum class Method : uint8_t {
  kCreateContext,
  kCreateTensor,
  kCreateConstantTensor,
  kWriteTensor,  // And resize of a tensor.
  kReadTensor,
  kDispatch,
  kBuilder,  // The constructor, input, constant and every operator.
  kBuild,
};

// "TypeError", or the name of a DOMException such as "OperationError".
std::string_view ExceptionName(Method method, webnnd::Cause cause);

}  // namespace webnn

#endif  // WEBNND_CLIENT_EXCEPTIONS_H_

#include "client/exceptions.h"

#include <array>
#include <cstddef>

namespace webnn {
namespace {

using Row = std::array<std::string_view, 7>;

// What the draft says for the method; where it is silent, what its other methods do. Columns in the
// order of Cause: Validation, NotSupported, InvalidState, Quota, OutOfMemory, DeviceLost, Internal.
// "If aborted", which is the device lost under a pending call, is an InvalidStateError throughout.
// A TypeError comes of arguments alone: what the service finds invalid is Internal
// (AsCallersError).
constexpr std::string_view kType = "TypeError";
constexpr std::string_view kUnsupported = "NotSupportedError";
constexpr std::string_view kState = "InvalidStateError";
constexpr std::string_view kOperation = "OperationError";
constexpr std::string_view kUnknown = "UnknownError";

constexpr std::array<Row, 8> kTable = {{
    // createContext: the draft knows one failure, that no context can be made.
    {kType, kUnsupported, kUnsupported, kUnsupported, kUnsupported, kUnsupported, kUnsupported},
    // createTensor, createConstantTensor: "If that fails, reject with an UnknownError".
    {kType, kUnknown, kState, kUnknown, kUnknown, kState, kUnknown},
    {kType, kUnknown, kState, kUnknown, kUnknown, kState, kUnknown},
    // writeTensor.
    {kType, kUnsupported, kState, kOperation, kOperation, kState, kOperation},
    // readTensor: "If that fails, reject with an UnknownError".
    {kType, kUnknown, kState, kUnknown, kUnknown, kState, kUnknown},
    // dispatch.
    {kType, kUnsupported, kState, kOperation, kOperation, kState, kOperation},
    // The builder's synchronous methods.
    {kType, kUnsupported, kState, kOperation, kOperation, kState, kOperation},
    // build: "If the previous step failed, reject with an OperationError".
    {kType, kOperation, kState, kOperation, kOperation, kState, kOperation},
}};

}  // namespace

std::string_view ExceptionName(Method method, webnnd::Cause cause) {
  return kTable[static_cast<size_t>(method)][static_cast<size_t>(cause)];
}

}  // namespace webnn

#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace webnnd {

std::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kValidation:
      return "Validation";
    case Cause::kNotSupported:
      return "NotSupported";
    case Cause::kInvalidState:
      return "InvalidState";
    case Cause::kQuota:
      return "Quota";
    case Cause::kOutOfMemory:
      return "OutOfMemory";
    case Cause::kDeviceLost:
      return "DeviceLost";
    case Cause::kInternal:
      return "Internal";
  }
  UNREACHABLE();
}

std::string Error::ToString() const {
  std::string text = message_;
  for (const std::string& doing : context_) {
    text += "\n - While ";
    text += doing;
    text += '.';
  }
  return text;
}

Error ErrnoError(std::string_view call) {
  int number = errno;
  const char* name = strerrorname_np(number);
  Cause cause = number == ENOMEM ? Cause::kOutOfMemory : Cause::kInternal;
  return Error(cause, fmt::format("{} fails ({}: {})", call, name ? name : "unknown",
                                  strerror(number)));
}

}  // namespace webnnd

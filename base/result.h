// Result<T>: a value or an error. Our code does not throw (DESIGN section 2).
#ifndef WEBNND_BASE_RESULT_H_
#define WEBNND_BASE_RESULT_H_

#include <fmt/core.h>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/limits.h"

namespace webnnd {

// Why a call failed. The draft names the exception by method, so the client maps
// method x cause to it (client/exceptions.h); nothing else names exceptions.
enum class Cause : uint8_t {
  kValidation,    // The arguments break a rule of the draft.
  kNotSupported,  // The arguments are valid, and this build or device cannot do it.
  kInvalidState,  // An object was destroyed, lost or already built.
  kQuota,         // The client asks for more than its share (base/limits.h).
  kOutOfMemory,   // Host or device memory ran out.
  kDeviceLost,    // The device, or the worker process, is gone.
  kInternal,      // A defect of ours. Never the client's fault.
};

std::string_view CauseName(Cause cause);

// One sentence in the present tense with the value in parentheses; then, innermost first, what was
// being done when it happened.
class Error {
 public:
  Error(Cause cause, std::string message) : cause_(cause), message_(std::move(message)) {}

  Cause cause() const { return cause_; }
  // The sentence alone.
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }

  // The innermost limits::kErrorContextMax are kept: an error that poisons one tensor after the
  // other must not grow with every dispatch.
  Error& AddContext(std::string doing) & {
    if (context_.size() < limits::kErrorContextMax) context_.push_back(std::move(doing));
    return *this;
  }
  Error&& AddContext(std::string doing) && { return std::move(AddContext(std::move(doing))); }

  // "The sentence (value).\n - While doing this.\n - While doing that."
  std::string ToString() const;

  friend bool operator==(const Error&, const Error&) = default;

 private:
  Cause cause_;
  std::string message_;
  std::vector<std::string> context_;
};

// The other side broke the protocol: the session ends. Never turned into an Error.
struct BadMessage {
  std::string message;
};

// Error constructors: `return ValidationError("axis ({}) is not less than the rank ({})", a, r);`
template <class... Args>
Error ValidationError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kValidation, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error NotSupportedError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kNotSupported, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error InvalidStateError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kInvalidState, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error QuotaError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kQuota, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error OutOfMemoryError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kOutOfMemory, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error DeviceLostError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kDeviceLost, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error InternalError(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Cause::kInternal, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
BadMessage MakeBadMessage(fmt::format_string<Args...> format, Args&&... args) {
  return BadMessage{fmt::format(format, std::forward<Args>(args)...)};
}
// InternalError with errno's name: `ErrnoError("mmap")`.
Error ErrnoError(std::string_view call);

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  using Value = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  // Converting: Result<unique_ptr<Base>> from unique_ptr<Derived>.
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, E> && !std::is_same_v<std::decay_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

  const E& error() const& {
    CHECK(!ok());
    return std::get<1>(state_);
  }
  E&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  using Value = void;

  Result() = default;
  Result(E error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return error_.index() == 0; }
  explicit operator bool() const { return ok(); }
  void value() const { CHECK(ok()); }
  const E& error() const& {
    CHECK(!ok());
    return std::get<1>(error_);
  }
  E&& error() && {
    CHECK(!ok());
    return std::get<1>(std::move(error_));
  }

 private:
  std::variant<std::monostate, E> error_;
};

using Status = Result<void>;

}  // namespace webnnd

#define WEBNND_CONCAT_INNER_(a, b) a##b
#define WEBNND_CONCAT_(a, b) WEBNND_CONCAT_INNER_(a, b)

// Returns the error of `expression` from the enclosing function, or goes on.
#define TRY(...)                                          \
  do {                                                    \
    auto try_result = (__VA_ARGS__);                      \
    if (!try_result.ok()) {                               \
      return std::move(try_result).error();               \
    }                                                     \
  } while (false)

// Like TRY, adding what was being done: TRY_DOING(Upload(c), "uploading constant ({})", id).
#define TRY_DOING(expression, ...)                                                \
  do {                                                                            \
    auto try_result = (expression);                                               \
    if (!try_result.ok()) {                                                       \
      return std::move(try_result).error().AddContext(fmt::format(__VA_ARGS__));  \
    }                                                                             \
  } while (false)

// `ASSIGN_OR_RETURN(auto x, Compute());`
#define ASSIGN_OR_RETURN(declaration, ...) \
  ASSIGN_OR_RETURN_IMPL_(WEBNND_CONCAT_(result_, __LINE__), declaration, __VA_ARGS__)
#define ASSIGN_OR_RETURN_IMPL_(result, declaration, ...) \
  auto result = (__VA_ARGS__);                           \
  if (!result.ok()) {                                    \
    return std::move(result).error();                    \
  }                                                      \
  declaration = std::move(result).value()

// Returns a validation error when `condition` holds: the value stands in parentheses.
#define INVALID_IF(condition, ...)                  \
  do {                                              \
    if (condition) {                                \
      return ::webnnd::ValidationError(__VA_ARGS__); \
    }                                               \
  } while (false)

#endif  // WEBNND_BASE_RESULT_H_

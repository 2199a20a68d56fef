// CHECK: an assertion that stays on in release. It is for our own defects, never for input.
#ifndef WEBNND_BASE_CHECK_H_
#define WEBNND_BASE_CHECK_H_

namespace webnnd {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace webnnd

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) [[unlikely]] {                             \
      ::webnnd::CheckFailed(#condition, __FILE__, __LINE__);     \
    }                                                            \
  } while (false)

#define UNREACHABLE() ::webnnd::CheckFailed("unreachable", __FILE__, __LINE__)

#endif  // WEBNND_BASE_CHECK_H_

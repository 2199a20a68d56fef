// Runs a test program a second time as a user without privileges.
#ifndef WEBNND_TESTS_SANDBOX_UNPRIVILEGED_H_
#define WEBNND_TESTS_SANDBOX_UNPRIVILEGED_H_

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace webnnd::test {

inline constexpr uid_t kNobody = 65534;
inline constexpr int kCannotExecute = 126;

// The exit status of this program run as nobody; kCannotExecute where nobody may not run it.
inline int RunAgainAsNobody() {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
        setresuid(kNobody, kNobody, kNobody) != 0 || setenv("GTEST_OUTPUT", "", 1) != 0) {
      _exit(kCannotExecute);
    }
    execl("/proc/self/exe", "test", "--gtest_brief=1", nullptr);
    _exit(kCannotExecute);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace webnnd::test

// The test that every program of this kind has: all its tests hold for an unprivileged user too.
#define WEBNND_TEST_AS_UNPRIVILEGED_USER()                                                   \
  TEST(UnprivilegedUser, AllTests_PassAgain) {                                               \
    if (geteuid() != 0) GTEST_SKIP() << "this run is the unprivileged one";                  \
    int status = ::webnnd::test::RunAgainAsNobody();                                         \
    if (status == ::webnnd::test::kCannotExecute) {                                          \
      GTEST_SKIP() << "NOT TESTED as an unprivileged user: nobody may not run this program"; \
    }                                                                                        \
    EXPECT_EQ(status, 0);                                                                    \
  }                                                                                          \
  static_assert(true)

#endif  // WEBNND_TESTS_SANDBOX_UNPRIVILEGED_H_

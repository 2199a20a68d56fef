#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace webnnd {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesOnDestruction) {
  int raw = dup(STDERR_FILENO);
  { UniqueFd fd(raw); }
  EXPECT_FALSE(IsOpen(raw));
}

TEST(UniqueFd, Move_TransfersOwnership) {
  UniqueFd a(dup(STDERR_FILENO));
  int raw = a.get();
  UniqueFd b = std::move(a);
  EXPECT_FALSE(a.valid());
  EXPECT_EQ(b.get(), raw);
  EXPECT_TRUE(IsOpen(raw));
}

TEST(UniqueFd, Duplicate_IsCloseOnExec) {
  UniqueFd a(dup(STDERR_FILENO));
  UniqueFd b = a.Duplicate();
  ASSERT_TRUE(b.valid());
  EXPECT_NE(a.get(), b.get());
  EXPECT_EQ(fcntl(b.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(UniqueFd, NothingIn_NothingOut) {
  EXPECT_FALSE(UniqueFd().Duplicate().valid());
  UniqueFd a(dup(STDERR_FILENO));
  int raw = a.Release();
  EXPECT_FALSE(a.valid());
  EXPECT_EQ(a.Release(), -1);
  EXPECT_TRUE(IsOpen(raw));
  close(raw);
}

}  // namespace
}  // namespace webnnd

#include "client/binding_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace webnn {
namespace {

using Handle = webnnd::ipc::Handle;

TEST(BindingCache, Key_IsTheWholeOrderedList) {
  BindingCache cache;
  cache.Insert({1, 2, 3}, Handle{7, 1});
  EXPECT_EQ(cache.Find({1, 2, 3}), (Handle{7, 1}));
  EXPECT_EQ(cache.Find({1, 3, 2}), std::nullopt);
  EXPECT_EQ(cache.Find({1, 2}), std::nullopt);
  EXPECT_EQ(cache.Find({}), std::nullopt);
}

TEST(BindingCache, Full_DropsTheLeastRecentlyUsed) {
  BindingCache cache;
  for (uint32_t i = 0; i < webnnd::limits::kBindingsCachedMax; ++i) {
    EXPECT_EQ(cache.Insert({i}, Handle{i + 1, 1}), std::nullopt);
  }
  EXPECT_TRUE(cache.Find({0}));
  EXPECT_EQ(cache.Insert({1000}, Handle{1001, 1}), (Handle{2, 1}));
  EXPECT_EQ(cache.size(), webnnd::limits::kBindingsCachedMax);
  EXPECT_TRUE(cache.Find({0}));
  EXPECT_FALSE(cache.Find({1}));
  EXPECT_TRUE(cache.Find({1000}));
}

TEST(BindingCache, ErasedObject_TakesAllThatNameIt) {
  BindingCache cache;
  cache.Insert({1, 2, 3}, Handle{7, 1});
  cache.Insert({4, 2}, Handle{8, 1});
  cache.Insert({4, 5}, Handle{9, 1});
  EXPECT_THAT(cache.Erase(2), testing::UnorderedElementsAre(Handle{7, 1}, Handle{8, 1}));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_FALSE(cache.Find({1, 2, 3}));
  EXPECT_TRUE(cache.Find({4, 5}));
  EXPECT_TRUE(cache.Erase(99).empty());
  EXPECT_THAT(cache.Clear(), testing::ElementsAre(Handle{9, 1}));
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace webnn

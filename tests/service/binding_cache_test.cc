#include "service/session/binding_cache.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace webnnd::service {
namespace {

class FakeBinding : public Binding {};

TEST(BindingCache, Key_IsTheWholeOrderedList) {
  BindingCache cache;
  auto binding = std::make_shared<FakeBinding>();
  cache.Insert({1, 2, 3}, binding);
  EXPECT_EQ(cache.Find({1, 2, 3}), binding);
  EXPECT_EQ(cache.Find({1, 3, 2}), nullptr);
  EXPECT_EQ(cache.Find({1, 2}), nullptr);
  EXPECT_EQ(cache.Find({}), nullptr);
}

TEST(BindingCache, Full_DropsTheLeastRecentlyUsed) {
  BindingCache cache;
  for (uint64_t i = 0; i < limits::kBindingsCachedMax; ++i) {
    cache.Insert({i}, std::make_shared<FakeBinding>());
  }
  EXPECT_NE(cache.Find({0}), nullptr);
  cache.Insert({1000}, std::make_shared<FakeBinding>());
  EXPECT_EQ(cache.size(), limits::kBindingsCachedMax);
  EXPECT_NE(cache.Find({0}), nullptr);
  EXPECT_EQ(cache.Find({1}), nullptr);
  EXPECT_NE(cache.Find({1000}), nullptr);
}

TEST(BindingCache, ErasedSerial_TakesAllThatNameIt) {
  BindingCache cache;
  cache.Insert({1, 2, 3}, std::make_shared<FakeBinding>());
  cache.Insert({4, 2}, std::make_shared<FakeBinding>());
  cache.Insert({4, 5}, std::make_shared<FakeBinding>());
  cache.Erase(2);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.Find({1, 2, 3}), nullptr);
  EXPECT_EQ(cache.Find({4, 2}), nullptr);
  EXPECT_NE(cache.Find({4, 5}), nullptr);
  cache.Erase(99);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(BindingCache, WhatItDrops_IsFreed) {
  BindingCache cache;
  auto binding = std::make_shared<FakeBinding>();
  std::weak_ptr<Binding> weak = binding;
  cache.Insert({1}, std::move(binding));
  EXPECT_FALSE(weak.expired());
  cache.Clear();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace webnnd::service

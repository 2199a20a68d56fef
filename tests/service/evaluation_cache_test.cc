#include "service/session/evaluation_cache.h"

#include <gtest/gtest.h>

#include <utility>

namespace webnnd::service {
namespace {

struct FakeBuffer : Buffer {
  uint64_t bytes() const override { return 4; }
};

std::shared_ptr<Buffer> NewBuffer() { return std::make_shared<FakeBuffer>(); }

Plan PlanWith(std::vector<uint32_t> parameters, size_t calls = 1) {
  Plan plan;
  plan.calls.resize(calls);
  plan.calls[0].parameters = std::move(parameters);
  return plan;
}

class EvaluationCacheTest : public testing::Test {
 protected:
  const EvaluationCache::Buffers constants_ = {NewBuffer(), NewBuffer()};
  EvaluationCache::Buffers outputs_ = {NewBuffer()};
  EvaluationCache cache_;
};

TEST_F(EvaluationCacheTest, TheSamePlanOfTheSameConstants_IsFound) {
  EXPECT_EQ(cache_.Find(PlanWith({1}), constants_), std::nullopt);
  cache_.Add(PlanWith({1}), constants_, outputs_);
  EXPECT_EQ(cache_.Find(PlanWith({1}), constants_), outputs_);
}

TEST_F(EvaluationCacheTest, AnotherPlanOrOtherConstants_AreNot) {
  cache_.Add(PlanWith({1}), constants_, outputs_);
  EXPECT_EQ(cache_.Find(PlanWith({2}), constants_), std::nullopt);
  EXPECT_EQ(cache_.Find(PlanWith({1}), {constants_[1], constants_[0]}), std::nullopt);
  EXPECT_EQ(cache_.Find(PlanWith({1}), {constants_[0]}), std::nullopt);
}

TEST_F(EvaluationCacheTest, WhatNobodyHolds_IsNotKept) {
  cache_.Add(PlanWith({1}), constants_, outputs_);
  const std::weak_ptr<Buffer> output = outputs_[0];
  outputs_.clear();
  EXPECT_TRUE(output.expired());
  EXPECT_EQ(cache_.Find(PlanWith({1}), constants_), std::nullopt);
  outputs_ = {NewBuffer()};
  cache_.Add(PlanWith({2}), constants_, outputs_);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_F(EvaluationCacheTest, ConstantsThatAreGone_AreNotTakenForOthers) {
  {
    const EvaluationCache::Buffers gone = {NewBuffer(), NewBuffer()};
    cache_.Add(PlanWith({1}), gone, outputs_);
  }
  // Perhaps where those were.
  EXPECT_EQ(cache_.Find(PlanWith({1}), {NewBuffer(), NewBuffer()}), std::nullopt);
}

TEST_F(EvaluationCacheTest, BeyondItsSize_TheOldestGoes) {
  for (uint32_t i = 0; i <= EvaluationCache::kEntriesMax; ++i) {
    cache_.Add(PlanWith({i}), constants_, outputs_);
  }
  EXPECT_EQ(cache_.size(), EvaluationCache::kEntriesMax);
  EXPECT_EQ(cache_.Find(PlanWith({0}), constants_), std::nullopt);
  EXPECT_EQ(cache_.Find(PlanWith({EvaluationCache::kEntriesMax}), constants_), outputs_);
}

TEST_F(EvaluationCacheTest, LargePlans_AreNotKept) {
  cache_.Add(PlanWith({1}, EvaluationCache::kCallsMax + 1), constants_, outputs_);
  EXPECT_EQ(cache_.size(), 0u);
}

}  // namespace
}  // namespace webnnd::service

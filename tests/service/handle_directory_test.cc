#include "service/session/handle_directory.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace webnnd::service {
namespace {

using ipc::Handle;
using ipc::ObjectType;

class HandleDirectoryTest : public testing::Test {
 protected:
  static std::shared_ptr<ContextObject> Context(Handle handle) {
    return std::make_shared<ContextObject>(handle, ipc::CreateContext{});
  }
  std::shared_ptr<TensorObject> Tensor(Handle handle,
                                       std::shared_ptr<ContextObject> context = nullptr) {
    return std::make_shared<TensorObject>(handle, context ? context : context_);
  }
  bool Insert(std::shared_ptr<Object> object) { return directory_.Insert(std::move(object)).ok(); }

  HandleDirectory directory_;
  std::shared_ptr<ContextObject> context_ = Context({1, 1});
};

TEST_F(HandleDirectoryTest, Inserted_IsFound) {
  auto tensor = Tensor({5, 3});
  ASSERT_TRUE(Insert(tensor));
  auto found = directory_.Find<TensorObject>({5, 3});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, tensor);
  EXPECT_EQ(directory_.count(ObjectType::kTensor), 1u);
  EXPECT_EQ(directory_.count(ObjectType::kContext), 0u);
}

TEST_F(HandleDirectoryTest, NeverMade_IsBad) {
  EXPECT_FALSE(directory_.Find<TensorObject>({5, 1}).ok());
  ASSERT_TRUE(Insert(Tensor({5, 3})));
  EXPECT_FALSE(directory_.Find<TensorObject>({4, 1}).ok());  // A gap.
  EXPECT_FALSE(directory_.Find<TensorObject>({5, 4}).ok());
  EXPECT_FALSE(directory_.Find<TensorObject>({5, 0}).ok());
  EXPECT_FALSE(directory_.Find<TensorObject>({0, 1}).ok());
  EXPECT_FALSE(directory_.Find<TensorObject>({0xffffffff, 1}).ok());
}

TEST_F(HandleDirectoryTest, AnotherType_IsBadDeadOrAlive) {
  ASSERT_TRUE(Insert(Tensor({5, 1})));
  EXPECT_FALSE(directory_.Find<GraphObject>({5, 1}).ok());
  ASSERT_TRUE(directory_.Remove<TensorObject>({5, 1}).ok());
  EXPECT_FALSE(directory_.Find<GraphObject>({5, 1}).ok());
}

TEST_F(HandleDirectoryTest, Removed_IsNothing) {
  auto tensor = Tensor({5, 1});
  ASSERT_TRUE(Insert(tensor));
  EXPECT_EQ(*directory_.Remove<TensorObject>({5, 1}), tensor);
  EXPECT_EQ(*directory_.Find<TensorObject>({5, 1}), nullptr);
  EXPECT_EQ(*directory_.Remove<TensorObject>({5, 1}), nullptr);
  EXPECT_EQ(directory_.count(ObjectType::kTensor), 0u);
}

TEST_F(HandleDirectoryTest, Index_IsUsedAgainWithAGreaterGeneration) {
  ASSERT_TRUE(Insert(Tensor({5, 2})));
  EXPECT_FALSE(Insert(Tensor({5, 3})));  // In use.
  ASSERT_TRUE(directory_.Remove<TensorObject>({5, 2}).ok());
  EXPECT_FALSE(Insert(Tensor({5, 2})));
  EXPECT_FALSE(Insert(Tensor({5, 1})));
  auto next = Tensor({5, 9});
  ASSERT_TRUE(Insert(next));
  EXPECT_EQ(*directory_.Find<TensorObject>({5, 9}), next);
  EXPECT_EQ(*directory_.Find<TensorObject>({5, 2}), nullptr);
}

TEST_F(HandleDirectoryTest, IndexOutOfRange_IsBad) {
  EXPECT_FALSE(Insert(Tensor({0, 1})));
  EXPECT_FALSE(Insert(Tensor({limits::kObjectsPerSessionMax, 1})));
  EXPECT_FALSE(Insert(Tensor({0xffffffff, 1})));
  EXPECT_TRUE(Insert(Tensor({limits::kObjectsPerSessionMax - 1, 1})));
}

TEST_F(HandleDirectoryTest, GenerationZero_IsBad) { EXPECT_FALSE(Insert(Tensor({5, 0}))); }

TEST_F(HandleDirectoryTest, ObjectsOfAContext_AreRemovedTogether) {
  auto other = Context({2, 1});
  ASSERT_TRUE(Insert(context_));
  ASSERT_TRUE(Insert(other));
  ASSERT_TRUE(Insert(Tensor({3, 1})));
  ASSERT_TRUE(Insert(Tensor({4, 1}, other)));
  ASSERT_TRUE(Insert(std::make_shared<BuilderObject>(Handle{5, 1}, context_)));
  EXPECT_EQ(directory_.RemoveOf(*context_).size(), 2u);
  EXPECT_EQ(*directory_.Find<TensorObject>({3, 1}), nullptr);
  EXPECT_NE(*directory_.Find<TensorObject>({4, 1}), nullptr);
  EXPECT_EQ(directory_.count(ObjectType::kTensor), 1u);
  EXPECT_EQ(directory_.count(ObjectType::kBuilder), 0u);
  EXPECT_EQ(directory_.count(ObjectType::kContext), 2u);
}

}  // namespace
}  // namespace webnnd::service

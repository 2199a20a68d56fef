#include "base/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace webnnd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Quota, Texts_SetWhatTheyName) {
  Quota quota;
  ASSERT_TRUE(SetQuota("device-bytes=1G", quota).ok());
  ASSERT_TRUE(SetQuota("bytes-in-flight=3M", quota).ok());
  ASSERT_TRUE(SetQuota("operators=2K", quota).ok());
  ASSERT_TRUE(SetQuota("tensors=7", quota).ok());
  ASSERT_TRUE(SetQuota("dispatch-ms=50", quota).ok());
  EXPECT_EQ(quota.device_bytes, 1ull << 30);
  EXPECT_EQ(quota.bytes_in_flight, 3ull << 20);
  EXPECT_EQ(quota.operators, 2048u);
  EXPECT_EQ(quota.tensors, 7u);
  EXPECT_EQ(quota.dispatch_ms, 50u);
  EXPECT_EQ(quota.graphs, Quota().graphs);
}

TEST(Quota, TextsOfAQuota_MakeItAgain) {
  EXPECT_THAT(QuotaTexts(Quota()), IsEmpty());
  Quota quota;
  ASSERT_TRUE(SetQuota("contexts=1", quota).ok());
  ASSERT_TRUE(SetQuota("device-bytes=5K", quota).ok());
  EXPECT_THAT(QuotaTexts(quota), ElementsAre("device-bytes=5120", "contexts=1"));
  Quota again;
  for (const std::string& text : QuotaTexts(quota)) ASSERT_TRUE(SetQuota(text, again).ok());
  EXPECT_EQ(again, quota);
}

TEST(Quota, EveryName_CanBeSet) {
  std::string names = QuotaNames();
  size_t count = 0;
  for (size_t begin = 0; begin < names.size(); ++count) {
    size_t end = std::min(names.find(", ", begin), names.size());
    Quota quota;
    EXPECT_TRUE(SetQuota(names.substr(begin, end - begin) + "=3", quota).ok());
    EXPECT_NE(quota, Quota());
    begin = end + 2;
  }
  EXPECT_EQ(count, sizeof(Quota) / sizeof(uint64_t));
}

TEST(Quota, Nonsense_IsRefusedAndChangesNothing) {
  for (const char* text :
       {"", "tensors", "tensors=", "tensors=0", "tensors=-1", "tensors=1x", "tensors=K",
        "tensors=65537", "tensors=1T", "device-bytes=99999999999999999999",
        "device-bytes=17179869184G", "bogus=1", "=1", " tensors=1"}) {
    Quota quota;
    EXPECT_FALSE(SetQuota(text, quota).ok()) << text;
    EXPECT_EQ(quota, Quota()) << text;
  }
  Quota quota;
  EXPECT_THAT(SetQuota("bogus=1", quota).error().message(), HasSubstr("(bogus)"));
}

}  // namespace
}  // namespace webnnd

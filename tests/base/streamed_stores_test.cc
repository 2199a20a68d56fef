#include "base/streamed_stores.h"

#include <gtest/gtest.h>

namespace webnnd {
namespace {

// AVX10 of others, which nobody has measured, says nothing.
TEST(StreamedStores, AreThoseThatWereMeasured) {
  EXPECT_EQ(ChooseStreamedStores(/*is_intel=*/false, /*has_avx10=*/false), StreamedStores());
  EXPECT_EQ(ChooseStreamedStores(/*is_intel=*/false, /*has_avx10=*/true), StreamedStores());
  EXPECT_EQ(ChooseStreamedStores(/*is_intel=*/true, /*has_avx10=*/false),
            (StreamedStores{.gathered = true}));
  EXPECT_EQ(ChooseStreamedStores(/*is_intel=*/true, /*has_avx10=*/true),
            (StreamedStores{.gathered = true, .transposed_words = true}));
}

}  // namespace
}  // namespace webnnd

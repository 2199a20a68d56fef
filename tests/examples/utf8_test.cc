#include "examples/generate/utf8.h"

#include <gtest/gtest.h>

namespace webnnd::generate {
namespace {

TEST(DecodeUtf8, EachLength_GivesCodePoint) {
  for (uint32_t value :
       {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string bytes = EncodeUtf8(value);
    CodePoint point = DecodeUtf8(bytes);
    EXPECT_EQ(point.value, value);
    EXPECT_EQ(point.length, bytes.size());
  }
}

TEST(DecodeUtf8, MalformedBytes_AreInvalid) {
  EXPECT_EQ(DecodeUtf8("\x80").value, kInvalidCodePoint);              // A continuation alone.
  EXPECT_EQ(DecodeUtf8("\xc0\xaf").value, kInvalidCodePoint);          // Overlong.
  EXPECT_EQ(DecodeUtf8("\xed\xa0\x80").value, kInvalidCodePoint);      // A surrogate.
  EXPECT_EQ(DecodeUtf8("\xf4\x90\x80\x80").value, kInvalidCodePoint);  // Above U+10FFFF.
  EXPECT_EQ(DecodeUtf8("\xff").value, kInvalidCodePoint);
  CodePoint broken = DecodeUtf8("\xe2\x98x");
  EXPECT_EQ(broken.value, kInvalidCodePoint);
  EXPECT_EQ(broken.length, 2u);
  EXPECT_FALSE(broken.truncated);
}

TEST(Utf8Stream, SplitCharacter_ComesWhole) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("a\xe2"), "a");
  EXPECT_EQ(stream.Push("\x98"), "");
  EXPECT_EQ(stream.Push("\x83z"), "\xe2\x98\x83z");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(Utf8Stream, InvalidBytes_BecomeReplacementCharacters) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("\xff\xe2\x98x"), "\xef\xbf\xbd\xef\xbf\xbdx");
  EXPECT_EQ(stream.Push("\xf0\x9f"), "");
  EXPECT_EQ(stream.Flush(), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace webnnd::generate

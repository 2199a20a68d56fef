#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string_view>

namespace webnnd {
namespace {

using std::string_view_literals::operator""sv;

TEST(Utf8, WellFormedText_IsUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain\0zero"sv));
  EXPECT_TRUE(IsUtf8("\xc2\x80 \xdf\xbf"));                       // U+0080, U+07FF
  EXPECT_TRUE(IsUtf8("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80"));  // U+0800, U+D7FF, U+E000
  EXPECT_TRUE(IsUtf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));       // U+10000, U+10FFFF
}

TEST(Utf8, Truncated_IsNotUtf8) {
  EXPECT_FALSE(IsUtf8("\xc2"));
  EXPECT_FALSE(IsUtf8("\xe0\xa0"));
  EXPECT_FALSE(IsUtf8("a\xf0\x90\x80"));
  EXPECT_FALSE(IsUtf8("\xc2 a"));
}

TEST(Utf8, OverlongForm_IsNotUtf8) {
  EXPECT_FALSE(IsUtf8("\xc0\x80"));
  EXPECT_FALSE(IsUtf8("\xe0\x9f\xbf"));
  EXPECT_FALSE(IsUtf8("\xf0\x8f\xbf\xbf"));
}

TEST(Utf8, NoCodePoint_IsNotUtf8) {
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));      // U+D800
  EXPECT_FALSE(IsUtf8("\xed\xbf\xbf"));      // U+DFFF
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));  // U+110000
  EXPECT_FALSE(IsUtf8("\x80"));
  EXPECT_FALSE(IsUtf8("\xff"));
}

TEST(TruncateUtf8, Characters_AreNotSplit) {
  EXPECT_EQ(TruncateUtf8("abc", 3), "abc");
  EXPECT_EQ(TruncateUtf8("abc", 2), "ab");
  EXPECT_EQ(TruncateUtf8("aé", 2), "a");
  EXPECT_EQ(TruncateUtf8("aé", 3), "aé");
  EXPECT_EQ(TruncateUtf8("€", 2), "");
  EXPECT_EQ(TruncateUtf8("a😀b", 4), "a");
  EXPECT_EQ(TruncateUtf8("a😀b", 5), "a😀");
  EXPECT_EQ(TruncateUtf8("a", 0), "");
}

TEST(DisplayText, WhatMayDisguise_IsWrittenOut) {
  EXPECT_EQ(DisplayText(""), "");
  EXPECT_EQ(DisplayText("mul#1234 é € 😀"), "mul#1234 é € 😀");
  EXPECT_EQ(DisplayText(std::string("a\0b\n\x7f", 5)), "a\\u0000b\\u000A\\u007F");
  EXPECT_EQ(DisplayText("\u0085\u00A0"), "\\u0085\u00A0");
  EXPECT_EQ(DisplayText("\u2029\u202A\u202E\u202F"), "\u2029\\u202A\\u202E\u202F");
  EXPECT_EQ(DisplayText("\u2065\u2066\u2069\u206A"), "\u2065\\u2066\\u2069\u206A");
}

}  // namespace
}  // namespace webnnd

#include "examples/generate/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/examples/test_models.h"

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Opens the bytes as a file.
Result<Safetensors> Open(const TemporaryFolder& folder, std::string_view bytes) {
  WriteFile(folder.path() / "t.safetensors", bytes);
  return Safetensors::Open(folder.path() / "t.safetensors");
}

std::string ErrorOf(std::string_view bytes) {
  TemporaryFolder folder;
  auto result = Open(folder, bytes);
  return result.ok() ? "" : result.error().ToString();
}

std::string ErrorOfHeader(std::string_view header, size_t data_bytes = 16) {
  return ErrorOf(MakeSafetensors(header, std::string(data_bytes, '\0')));
}

constexpr std::string_view kTwoTensors =
    R"({"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},
        "b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},
        "c":{"dtype":"BF16","shape":[],"data_offsets":[14,16]}})";

std::string TwoTensorsData() {
  const float a[] = {1.5f, -2};
  const uint16_t b[] = {0x3c00, 0xc000, 0x0001};
  const uint16_t c = 0x3fc0;
  std::string data(16, '\0');
  memcpy(data.data(), a, 8);
  memcpy(data.data() + 8, b, 6);
  memcpy(data.data() + 14, &c, 2);
  return data;
}

TEST(Safetensors, ThreeTypes_AreWidened) {
  TemporaryFolder folder;
  auto file = Open(folder, MakeSafetensors(kTwoTensors, TwoTensorsData()));
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  auto a = file->Find("a");
  auto b = file->Find("b");
  auto c = file->Find("c");
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  std::vector<float> values(2);
  ASSERT_TRUE(a->ReadRows(0, values).ok());
  EXPECT_THAT(a->shape, ElementsAre(1, 2));
  EXPECT_THAT(values, ElementsAre(1.5f, -2.0f));
  values.resize(3);
  ASSERT_TRUE(b->ReadRows(0, values).ok());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f, std::ldexp(1.0f, -24)));
  values.resize(1);
  ASSERT_TRUE(c->ReadRows(0, values).ok());
  EXPECT_THAT(values, ElementsAre(1.5f));
}

TEST(Safetensors, MissingTensor_IsNamed) {
  TemporaryFolder folder;
  auto file = Open(folder, MakeSafetensors(kTwoTensors, TwoTensorsData()));
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->Contains("z"));
  auto found = file->Find("z");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message(), HasSubstr("the tensor (z) is missing"));
}

TEST(Safetensors, UnknownType_IsRefusedWhenItIsUsed) {
  TemporaryFolder folder;
  auto file =
      Open(folder, MakeSafetensors(R"({"i":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}})",
                                   std::string(16, '\0')));
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  auto found = file->Find("i");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().cause(), Cause::kNotSupported);
  EXPECT_THAT(found.error().message(), HasSubstr("(I64)"));
}

TEST(Safetensors, Truncated_IsRefused) {
  std::string bytes = MakeSafetensors(kTwoTensors, TwoTensorsData());
  EXPECT_THAT(ErrorOf(bytes.substr(0, bytes.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf(bytes.substr(0, 50)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf(bytes.substr(0, 5)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("truncated"));
  EXPECT_EQ(ErrorOf(bytes), "");
}

TEST(Safetensors, HugeHeaderLength_IsRefusedWithoutAllocating) {
  EXPECT_THAT(ErrorOf(std::string(8, '\xff')), HasSubstr("exceeds"));
  std::string bytes = MakeSafetensors(kTwoTensors, TwoTensorsData());
  bytes[3] = 1;  // 16 MiB more.
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("exceeds"));
  bytes[3] = 0;
  bytes[2] = 1;  // 64 KiB more: longer than the file.
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("truncated"));
}

TEST(Safetensors, BadHeader_IsRefused) {
  EXPECT_THAT(ErrorOfHeader("nonsense"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOfHeader("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":1})"), HasSubstr("lacks dtype, shape or data_offsets"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4]}})"), HasSubstr("data_offsets"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})"),
              HasSubstr("the shape of tensor (a)"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})"),
              HasSubstr("(-4)"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})"),
              HasSubstr("not two numbers"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,-1]}})"),
              HasSubstr("not two numbers"));
}

TEST(Safetensors, OffsetsThatDoNotFit_AreRefused) {
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})"),
              HasSubstr("backwards"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[4,20]}})"),
              HasSubstr("truncated"));
  EXPECT_THAT(
      ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,18446744073709551615]}})"),
      HasSubstr("truncated"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})"),
              HasSubstr("not what its type and shape take"));
  // A product that overflows to 0.
  EXPECT_THAT(
      ErrorOfHeader(
          R"({"a":{"dtype":"F32","shape":[4294967295,4294967295,4],"data_offsets":[0,0]}})"),
      HasSubstr("not what its type and shape take"));
  EXPECT_THAT(ErrorOfHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                                "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
              HasSubstr("the data of tensor (a) overlap those of tensor (b)"));
}

TEST(Safetensors, NoRegularFile_IsRefused) {
  TemporaryFolder folder;
  auto missing = Safetensors::Open(folder.path() / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("cannot be opened"));
  auto directory = Safetensors::Open(folder.path());
  ASSERT_FALSE(directory.ok());
  EXPECT_THAT(directory.error().message(), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  auto pipe = Safetensors::Open(folder.path() / "pipe");
  ASSERT_FALSE(pipe.ok());
  EXPECT_THAT(pipe.error().message(), HasSubstr("not a regular file"));
}

TEST(Safetensors, FileThatShrinks_IsAnErrorAndNoSignal) {
  TemporaryFolder folder;
  auto file = Open(folder, MakeSafetensors(kTwoTensors, TwoTensorsData()));
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(folder.path() / "t.safetensors", 20);
  auto a = file->Find("a");
  ASSERT_TRUE(a.ok());
  std::vector<float> values(2);
  Status status = a->ReadRows(0, values);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("ends while it is being read"));
}

TEST(HalfToFloat, EveryFiniteValue_IsExact) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    uint32_t exponent = half >> 10;
    uint32_t fraction = half & 0x3ff;
    float expected = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(0x400 + fraction),
                                                static_cast<int>(exponent) - 25);
    ASSERT_EQ(HalfToFloat(static_cast<uint16_t>(half)), expected) << half;
    ASSERT_EQ(HalfToFloat(static_cast<uint16_t>(half | 0x8000)), -expected) << half;
  }
  EXPECT_EQ(HalfToFloat(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(HalfToFloat(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(HalfToFloat(0x7e00)));
  EXPECT_TRUE(std::signbit(HalfToFloat(0x8000)));
}

}  // namespace
}  // namespace webnnd::generate

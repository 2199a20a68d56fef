#include "tests/service/elementwise_fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>

namespace webnnd::service::elementwise_test {
namespace {

// What a device that flushes subnormals may give for `value` is 0.
long double Flush(OperandDataType type, long double value) {
  if (type == OperandDataType::kFloat32 && std::fabs(value) < 1.17549436e-38L) return 0;
  return value;
}

}  // namespace

std::string Name(OperandDataType type) { return std::string(webidl::ToString(type)); }

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

Values Samples(OperandDataType type) {
  switch (type) {
    case OperandDataType::kFloat32:
      return {0.0L,  -0.0L, 1,         -1,         0.5L, -2.5L,   3.5L,  1e-30L, -3e38L,
              3e38L, 1e38L, kInfinity, -kInfinity, kNan, 100.25L, -0.1L, 2,      16777217};
    case OperandDataType::kFloat16:
      return {0.0L,  -0.0L, 1,         -1,         0.5L, -2.5L,   3.5L,  6.2e-5L, -65504,
              65504, 30000, kInfinity, -kInfinity, kNan, 100.25L, -0.1L, 2,       2049};
    case OperandDataType::kInt32:
      return {0, 1, -1, 2, -2, 7, -100, 65536, INT32_MAX, INT32_MIN, 46341, 3};
    case OperandDataType::kUint32:
      return {0, 1, 2, 3, 7, 100, 65536, INT32_MAX, 2147483648.0L, UINT32_MAX, 46341};
    case OperandDataType::kInt64:
      return {0, 1, -1, 2, -2, 7, -100, 4294967296.0L, INT64_MAX, INT64_MIN, 3037000500.0L, 3};
    case OperandDataType::kUint64:
      return {0, 1, 2, 3, 7, 100, 4294967296.0L, INT64_MAX, 9223372036854775808.0L, UINT64_MAX};
    case OperandDataType::kInt8:
      return {0, 1, -1, 2, -2, 7, -100, 127, -128, 12, 3};
    case OperandDataType::kUint8:
      return {0, 1, 2, 3, 7, 100, 127, 128, 255, 16};
    case OperandDataType::kInt4:
      return {0, 1, -1, 7, -8, 3, -5};
    case OperandDataType::kUint4:
      return {0, 1, 7, 8, 15, 3, 5};
  }
  return {};
}

HostTensor Vector(OperandDataType type, const Values& values) {
  return HostTensor::Create(type, {static_cast<uint32_t>(values.size())}, values);
}

size_t BroadcastIndex(const webidl::Shape& shape, const webidl::Shape& result, size_t index) {
  size_t offset = 0;
  size_t stride = 1;
  for (size_t d = result.size(); d-- > 0; index /= result[d]) {
    size_t missing = result.size() - shape.size();
    if (d < missing) continue;
    if (shape[d - missing] != 1) offset += index % result[d] * stride;
    stride *= shape[d - missing];
  }
  return offset;
}

HostTensor Counting(OperandDataType type, const webidl::Shape& shape, int start) {
  auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  Values values(descriptor->element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<long double>((start + static_cast<int>(i) * 7) % 61);
  }
  return HostTensor::Create(type, shape, values);
}

long double Wrap(OperandDataType type, __int128 value) {
  return RoundTo(type, static_cast<long double>(static_cast<int64_t>(value))) < 0 ||
                 type == OperandDataType::kInt64
             ? static_cast<long double>(static_cast<int64_t>(value))
             : static_cast<long double>(static_cast<uint64_t>(value));
}

void ExpectClose(const Values& expected, const HostTensor& actual, double ulp, double absolute) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = Flush(type, RoundTo(type, expected[i]));
    long double got = Flush(type, values[i]);
    if (std::fabs(want - got) <= absolute) continue;
    EXPECT_LE(UlpDistance(type, want, got), ulp)
        << Name(type) << " element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(got);
  }
}

}  // namespace webnnd::service::elementwise_test

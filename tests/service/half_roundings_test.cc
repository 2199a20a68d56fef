// Shaders round to float16 by one instruction where lavapipe compiles them, by the program's
// LLVMRunPasses (base/drivers_llvm/half_roundings.h): it finds FloatToHalf of shaders/tensor.glsl.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

constexpr webidl::OperandDataType kHalf = webidl::OperandDataType::kFloat16;

bool RoundsByOneInstruction() {
#if defined(__x86_64__) && !defined(WEBNND_SANITIZERS)
  // Whatever has AVX2 converts.
  return TestDevice()->adapter().name.find("llvmpipe") != std::string::npos &&
         __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

// Of NaN the instruction keeps bits that FloatToHalf does not.
TEST(HalfRoundings, OfShaders_AreFound) {
  if (!RoundsByOneInstruction()) GTEST_SKIP() << "only where lavapipe's LLVM and the processor do";
  constexpr uint16_t kNan = 0x7f00;
  const webidl::Shape shape = {4096};
  HostTensor a = HostTensor::Create(kHalf, shape, {1});
  for (size_t i = 0; i < a.bytes.size(); i += sizeof(kNan)) {
    std::memcpy(a.bytes.data() + i, &kNan, sizeof(kNan));
  }
  const HostTensor sum =
      RunOne(webidl::OperatorKind::kAdd, {a, HostTensor::Create(kHalf, shape, {1})});
  EXPECT_EQ(sum.bytes, a.bytes);
}

}  // namespace
}  // namespace webnnd::service

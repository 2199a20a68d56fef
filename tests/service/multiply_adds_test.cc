// Products and sums are one where lavapipe compiles them, by the program's LLVMRunPasses
// (base/drivers_llvm).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

constexpr webidl::OperandDataType kFloat = webidl::OperandDataType::kFloat32;

bool FusesMultiplyAdds() {
#if defined(__x86_64__) && !defined(WEBNND_SANITIZERS)
  return TestDevice()->adapter().name.find("llvmpipe") != std::string::npos &&
         __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

// -(1 + 2^-11) + (1 + 2^-12)^2 is 2^-24, and 0 if the square is rounded before.
TEST(MultiplyAdds, OfMatrixProducts_RoundOnce) {
  if (!FusesMultiplyAdds())
    GTEST_SKIP() << "only where lavapipe's LLVM and the processor have them";
  const uint32_t rows = 64;
  const uint32_t depth = 16;
  const long double x = 1 + 0x1p-12L;
  std::vector<long double> a(rows * depth);
  std::vector<long double> b(depth * rows);
  for (uint32_t i = 0; i < rows; ++i) {
    a[i * depth] = -1;
    a[i * depth + 1] = x;
    b[i] = 1 + 0x1p-11L;
    b[rows + i] = x;
  }
  const HostTensor product = RunOne(
      webidl::OperatorKind::kMatmul,
      {HostTensor::Create(kFloat, {rows, depth}, a), HostTensor::Create(kFloat, {depth, rows}, b)});
  for (long double value : product.Values()) ASSERT_EQ(value, 0x1p-24L);
}

// What PowPositive of math.glsl needs: the error of a product, from the product as it was rounded.
TEST(MultiplyAdds, OfProductsThatAreUsedAgain_RoundTwice) {
  std::vector<long double> x;
  std::vector<long double> y;
  for (int i = 1; i <= 4096; ++i) {
    x.push_back(RoundTo(kFloat, 1 + i / 4096.0L));
    y.push_back(RoundTo(kFloat, 100 - i / 64.0L));
  }
  const webidl::Shape shape = {4096};
  const std::vector<long double> powers =
      RunOne(webidl::OperatorKind::kPow,
             {HostTensor::Create(kFloat, shape, x), HostTensor::Create(kFloat, shape, y)})
          .Values();
  for (size_t i = 0; i < powers.size(); ++i) {
    const long double want = RoundTo(kFloat, std::pow(x[i], y[i]));
    ASSERT_LE(UlpDistance(kFloat, want, powers[i]), 4)
        << static_cast<double>(x[i]) << "^" << static_cast<double>(y[i]);
  }
}

}  // namespace
}  // namespace webnnd::service

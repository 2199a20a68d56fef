// What a driver's functions are compiled with, by the program's LLVMAddFunction
// (base/short_vectors.cc).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace webnnd {
namespace {

TEST(ShortVectors, FunctionsOfADriver_AreLlvmsAndHaveNoLongVectors) {
  void* driver = dlopen(WEBNND_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << dlerror();
  auto* compile = reinterpret_cast<void* (*)(const char*)>(dlsym(driver, "Compile"));
  auto* calls = reinterpret_cast<const char* (*)()>(dlsym(driver, "Calls"));
  ASSERT_NE(compile, nullptr);
  ASSERT_NE(calls, nullptr);
  EXPECT_NE(compile("f"), nullptr);
#ifdef WEBNND_SHORT_VECTORS_EVERYWHERE
  const bool is_short = true;
#else
  const bool is_short = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f");
#endif
  const std::string attributes = "min-legal-vector-width 256\nprefer-vector-width 256\n";
  EXPECT_EQ(calls(), "function f\n" + (is_short ? attributes : ""));
  EXPECT_EQ(dlclose(driver), 0);
  // It is gone with its LLVM: nothing holds what was found in them.
  EXPECT_EQ(dlopen(WEBNND_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace webnnd

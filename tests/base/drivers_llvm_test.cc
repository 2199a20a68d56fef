// What a driver's functions are compiled with, by the program's functions of LLVM's names
// (base/drivers_llvm.cc). That multiply-adds are fused: tests/service/multiply_adds_test.cc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace webnnd {
namespace {

TEST(DriversLlvm, FunctionsOfADriver_AreLlvmsAndHaveNoLongVectors) {
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
  EXPECT_EQ(calls(), "function f\nstackrealign \n" + (is_short ? attributes : ""));
  EXPECT_EQ(dlclose(driver), 0);
  // It is gone with its LLVM: nothing holds what was found in them.
  EXPECT_EQ(dlopen(WEBNND_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// Of an LLVM that lacks what walks through instructions, as any that is older or newer might.
TEST(DriversLlvm, PassesOfADriver_AreLlvms) {
  void* driver = dlopen(WEBNND_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << dlerror();
  auto* optimize = reinterpret_cast<void* (*)(const char*)>(dlsym(driver, "Optimize"));
  auto* calls = reinterpret_cast<const char* (*)()>(dlsym(driver, "Calls"));
  ASSERT_NE(optimize, nullptr);
  ASSERT_NE(calls, nullptr);
  EXPECT_EQ(optimize("instcombine"), nullptr);
  EXPECT_NE(optimize("unknown"), nullptr);
  EXPECT_STREQ(calls(), "passes instcombine\npasses unknown\n");
  EXPECT_EQ(dlclose(driver), 0);
}

}  // namespace
}  // namespace webnnd

// What a driver's functions are compiled with, by the program's functions of LLVM's names
// (base/drivers_llvm). That multiply-adds are fused: tests/service/multiply_adds_test.cc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace webnnd {
namespace {

// A driver, and the LLVM that it is linked to.
class Driver {
 public:
  explicit Driver(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  ~Driver() { EXPECT_EQ(dlclose(library_), 0); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void* Compile(const char* name) const { return Find<void*(const char*)>("Compile")(name); }
  void* Optimize(const char* passes) const { return Find<void*(const char*)>("Optimize")(passes); }
  void* Jit(void* function) const { return Find<void*(void*)>("Jit")(function); }
  void SetBlocks(int count) const { Find<void(int)>("SetBlocks")(count); }
  // In each block of the calling thread's modules.
  void SetMultiplyAdds(int count, int lanes) const {
    Find<void(int, int)>("SetMultiplyAdds")(count, lanes);
  }
  // From now on a compilation waits for another one that runs beside it.
  void ExpectAnother() const { Find<void()>("ExpectAnother")(); }
  // What LLVM was called with since the last time.
  std::string TakeCalls() const { return Find<const char*()>("TakeCalls")(); }

 private:
  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  void* library_;
};

TEST(DriversLlvm, FunctionsOfADriver_AreLlvmsAndAlignTheirStack) {
  {
    const Driver driver(WEBNND_FAKE_DRIVER);
    EXPECT_NE(driver.Compile("f"), nullptr);
    EXPECT_EQ(driver.TakeCalls(), "function f\nstackrealign \n");
  }
  // It is gone with its LLVM: nothing holds what was found in them.
  EXPECT_EQ(dlopen(WEBNND_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

// Of llvmpipe, before main (what the environment says stays: service/vulkan_lanes_*).
TEST(DriversLlvm, Subgroups_HaveSixteenLanesWhereThatPays) {
  const bool is_long = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  const char* bits = std::getenv("LP_NATIVE_VECTOR_WIDTH");
  EXPECT_EQ(bits != nullptr ? bits : "", std::string(is_long ? "512" : ""));
}

TEST(DriversLlvm, PassesOfADriver_UnrollToo) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  EXPECT_EQ(driver.Optimize("instcombine"), nullptr);
  const std::string calls = driver.TakeCalls();
  EXPECT_TRUE(calls.starts_with("passes instcombine\npasses cgscc(inline),")) << calls;
  // The LLVM of this driver does not know them.
  EXPECT_NE(calls.find("loop-unroll-full"), std::string::npos) << calls;
  EXPECT_TRUE(calls.ends_with("\nerror consumed\n")) << calls;
}

// Before it optimizes, and where it is not to.
TEST(DriversLlvm, PassesOfADriver_StayAsTheyAre) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  EXPECT_EQ(driver.Optimize("default<O0>"), nullptr);
  EXPECT_EQ(driver.TakeCalls(), "passes default<O0>\n");
  EXPECT_EQ(driver.Optimize("mem2reg"), nullptr);
  EXPECT_EQ(driver.TakeCalls(), "passes mem2reg\n");
  EXPECT_NE(driver.Optimize("unknown"), nullptr);
  EXPECT_EQ(driver.TakeCalls(), "passes unknown\n");
}

TEST(DriversLlvm, PassesOfALargeModule_OnlyTakeWhatIsUnusedAway) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  const std::string only = "passes instcombine\npasses function(adce)\n";
  driver.SetBlocks(350);
  EXPECT_EQ(driver.Optimize("instcombine"), nullptr);
  EXPECT_FALSE(driver.TakeCalls().starts_with(only));
  driver.SetBlocks(351);
  EXPECT_EQ(driver.Optimize("instcombine"), nullptr);
  const std::string calls = driver.TakeCalls();
  EXPECT_TRUE(calls.starts_with(only)) << calls;
}

constexpr char kInOrder[] =
    "-misched-topdown=true\n-disable-machine-sink=true\ncompiled, at once 1\n"
    "-misched-topdown=false\n-disable-machine-sink=false\n";
constexpr char kAsEver[] = "compiled, at once 1\n";

TEST(Scheduling, BlocksOfManyMultiplyAdds_KeepToTheProgramsOrder) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  int function;
  driver.SetBlocks(2);
  driver.SetMultiplyAdds(256, 16);
  EXPECT_EQ(driver.Jit(&function), &function);
  EXPECT_EQ(driver.TakeCalls(), kInOrder);
  for (const auto& [count, lanes] : {std::pair(255, 16), std::pair(256, 8)}) {
    driver.SetMultiplyAdds(count, lanes);
    EXPECT_EQ(driver.Jit(&function), &function);
    EXPECT_EQ(driver.TakeCalls(), kAsEver) << count << " of " << lanes << " lanes";
  }
}

// Of a product whose loads are checked, blocks are short.
TEST(Scheduling, ModulesOfManyMultiplyAdds_KeepToTheProgramsOrder) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  int function;
  driver.SetBlocks(4);
  for (const auto& [count, calls] : {std::pair(128, kInOrder), std::pair(127, kAsEver)}) {
    driver.SetMultiplyAdds(count, 16);
    EXPECT_EQ(driver.Jit(&function), &function);
    EXPECT_EQ(driver.TakeCalls(), calls) << count;
  }
}

// The order is one for all that is compiled at a time.
TEST(Scheduling, ModulesThatWantAnotherOrder_WaitForEachOther) {
  const Driver driver(WEBNND_FAKE_DRIVER);
  driver.SetBlocks(1);
  auto compile_together = [&](std::initializer_list<int> multiply_adds) {
    {
      std::vector<std::jthread> threads;
      for (const int count : multiply_adds) {
        threads.emplace_back([&driver, count] {
          int function;
          driver.SetMultiplyAdds(count, 16);
          driver.Jit(&function);
        });
      }
    }
    return driver.TakeCalls();
  };
  const std::string products = compile_together({256, 256});
  EXPECT_EQ(products, std::string(kInOrder) + kInOrder);
  const std::string mixed = compile_together({256, 1});
  EXPECT_TRUE(mixed == std::string(kInOrder) + kAsEver || mixed == std::string(kAsEver) + kInOrder)
      << mixed;
  driver.ExpectAnother();
  EXPECT_EQ(compile_together({1, 1}), "compiled, at once 2\ncompiled, at once 2\n");
}

// Of one that lacks what walks through instructions.
TEST(DriversLlvm, PassesOfAnotherLlvm_StayAsTheyAre) {
  const Driver driver(WEBNND_FAKE_DRIVER_OF_ANOTHER_LLVM);
  EXPECT_EQ(driver.Optimize("instcombine"), nullptr);
  EXPECT_NE(driver.Optimize("unknown"), nullptr);
  EXPECT_EQ(driver.TakeCalls(), "passes instcombine\npasses unknown\n");
  int function;
  EXPECT_EQ(driver.Jit(&function), &function);
  EXPECT_EQ(driver.TakeCalls(), kAsEver);
}

}  // namespace
}  // namespace webnnd

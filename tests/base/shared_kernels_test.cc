// What llvmpipe gets in place of a kernel: a function by which its threads share the workgroups
// (base/drivers_llvm/shared_kernels.h).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

using testing::Each;

constexpr uint32_t kGridX = 7;
constexpr uint32_t kGridY = 5;
constexpr uint32_t kGridZ = 3;
constexpr uint32_t kCount = kGridX * kGridY * kGridZ;
constexpr char kPasses[] = "function(instcombine)";

using Kernel = void(void* context, uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t x,
                    uint32_t y, uint32_t z, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                    uint32_t dimensions, void* thread);

// Adds block_x + 10 block_y + 100 block_z + 1000 dimensions to the word of its workgroup, and 1 to
// the thread's; to be made a kernel by what it is called, and by what comes with it.
std::string Text(const std::string& name, const std::string& y = "i32 %y",
                 const std::string& more = "") {
  return "define void @" + name + R"((i32* %context, i32 %bx, i32 %by, i32 %bz, i32 %x, )" + y +
         R"(, i32 %z, i32 %gx, i32 %gy, i32 %gz, i32 %dimensions, i32* %thread)" + more + R"() {
  %row = mul i32 %gy, %z
)" + (y == "i32 %y" ? "  %yz = add i32 %row, %y" : "  %yz = add i32 %row, 0") +
         R"(
  %before = mul i32 %yz, %gx
  %i = add i32 %before, %x
  %p = getelementptr i32, i32* %context, i32 %i
  %y10 = mul i32 %by, 10
  %z100 = mul i32 %bz, 100
  %d1000 = mul i32 %dimensions, 1000
  %s1 = add i32 %bx, %y10
  %s2 = add i32 %s1, %z100
  %s3 = add i32 %s2, %d1000
  %old = load i32, i32* %p
  %new = add i32 %old, %s3
  store i32 %new, i32* %p
  %told = load i32, i32* %thread
  %tnew = add i32 %told, 1
  store i32 %tnew, i32* %thread
  ret void
}
)";
}

// Of this program, not code that LLVM made.
bool IsEntry(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0;
}

class SharedKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }

  void Run(const std::string& text, const std::string& name,
           const std::function<void(Kernel*)>& body) const {
    llvm_.RunAsDriver(text, kPasses, {name}, [&](const std::vector<void*>& functions) {
      body(reinterpret_cast<Kernel*>(functions[0]));
    });
  }

  bool IsShared(const std::string& name, const std::string& text) const {
    bool is_shared = false;
    Run(text, name, [&](Kernel* kernel) { is_shared = IsEntry(reinterpret_cast<void*>(kernel)); });
    return is_shared;
  }

  DriverLlvm llvm_;
};

TEST_F(SharedKernels, OtherFunctions_StayAsTheyAre) {
  EXPECT_TRUE(IsShared("cs_variant", Text("cs_variant")));
  EXPECT_FALSE(IsShared("fs_variant", Text("fs_variant")));
  EXPECT_FALSE(IsShared("c", Text("c")));
  EXPECT_FALSE(IsShared("cs_variant", Text("cs_variant", "i64 %y")));
  EXPECT_FALSE(IsShared("cs_variant", Text("cs_variant", "i32* %y")));
  EXPECT_FALSE(IsShared("cs_variant", Text("cs_variant", "i32 %y", ", i32 %more")));
  EXPECT_FALSE(IsShared("cs", "define void @cs(i32* %context) {\n  ret void\n}\n"));
}

TEST_F(SharedKernels, FirstCall_RunsAllWorkgroupsWithWhatTheDriverSays) {
  Run(Text("cs_variant"), "cs_variant", [](Kernel* kernel) {
    // One that no grid has been in: those that were short are known.
    static std::deque<std::vector<uint32_t>> contexts;
    std::vector<uint32_t>& context = contexts.emplace_back(kCount);
    const auto call = [&](uint32_t i, uint32_t* thread) {
      kernel(context.data(), 1, 2, 3, i % kGridX, i / kGridX % kGridY, i / kGridX / kGridY, kGridX,
             kGridY, kGridZ, 4, thread);
    };
    uint32_t first = 0;
    uint32_t others = 0;
    call(50, &first);
    EXPECT_THAT(context, Each(4321));
    EXPECT_EQ(first, kCount);
    for (uint32_t i = 0; i < kCount; ++i) {
      if (i != 50) call(i, &others);
    }
    EXPECT_THAT(context, Each(4321));
    EXPECT_EQ(others, 0);
    // The next grid, whether it is shared again or was too short: each workgroup once.
    context.assign(kCount, 0);
    for (uint32_t i = 0; i < kCount; ++i) call(i, &others);
    EXPECT_THAT(context, Each(4321));
    // One workgroup is nobody's to share.
    kernel(context.data(), 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, &others);
    EXPECT_EQ(context[0], 4322);
  });
}

// What they leave in the program is for no other test: in a process of its own.
class SharedKernelsDeathTest : public SharedKernels {
 protected:
  static void ExpectToPass(const std::function<void()>& body) {
    const auto run = [&] {
      body();
      std::_Exit(HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  }
};

TEST_F(SharedKernelsDeathTest, ContextsBeyondThoseThatAreKnown_ShareNothing) {
  ExpectToPass([this] {
    Run(Text("cs_variant"), "cs_variant", [](Kernel* kernel) {
      std::vector<std::array<uint32_t, 4>> contexts(100);
      std::atomic<int> shared = 0;
      std::vector<std::thread> threads;
      for (uint32_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
          for (auto& context : contexts) {
            uint32_t ran = 0;
            for (uint32_t x : {2 * t, 2 * t + 1}) {
              kernel(context.data(), 7, 0, 0, x, 0, 0, 4, 1, 1, 0, &ran);
            }
            if (ran > 2) ++shared;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (const auto& context : contexts) EXPECT_THAT(context, Each(7));
      EXPECT_LE(shared, 32);
    });
  });
}

TEST_F(SharedKernelsDeathTest, KernelsBeyondThoseThatHaveEntries_RunAsTheyAre) {
  constexpr size_t kKernels = 1100;
  constexpr size_t kEntries = 1024;
  std::string text;
  std::vector<std::string> names;
  for (size_t i = 0; i < kKernels; ++i) {
    names.push_back("cs_" + std::to_string(i));
    text += "define void @" + names.back() +
            "(i32* %context, i32 %bx, i32 %by, i32 %bz, i32 %x, i32 %y, i32 %z, i32 %gx, i32 %gy, "
            "i32 %gz, i32 %dimensions, i32* %thread) {\n  store i32 " +
            std::to_string(i) + ", i32* %context\n  ret void\n}\n";
  }
  ExpectToPass([&] {
    llvm_.RunAsDriver(text, kPasses, names, [&](const std::vector<void*>& functions) {
      EXPECT_LE(std::ranges::count_if(functions, IsEntry), kEntries);
      EXPECT_TRUE(IsEntry(functions[kKernels / 2]));
      EXPECT_FALSE(IsEntry(functions[kKernels - 1]));
      EXPECT_EQ(std::set(functions.begin(), functions.end()).size(), kKernels);
      for (uint32_t i = 0; i < kKernels; ++i) {
        uint32_t context = 0;
        reinterpret_cast<Kernel*>(functions[i])(&context, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, nullptr);
        EXPECT_EQ(context, i);
      }
    });
  });
}

}  // namespace
}  // namespace webnnd

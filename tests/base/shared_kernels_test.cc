// What llvmpipe gets in place of a kernel: a function by which its threads share the workgroups
// (base/drivers_llvm/shared_kernels.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
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

class SharedKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!llvm_.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  }

  // Whether the driver gets something else than the code for that function.
  bool IsShared(const std::string& name, const std::string& text) const {
    bool is_shared = false;
    llvm_.Run(
        text, kPasses,
        [&](void* entry) { is_shared = InProgram(reinterpret_cast<const void*>(entry)); }, true,
        name.c_str());
    return is_shared;
  }

  // Of this program, not LLVM's.
  static bool InProgram(const void* address) {
    Dl_info info;
    return dladdr(address, &info) != 0;
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

TEST_F(SharedKernels, EachWorkgroup_RunsOnceWithWhatTheDriverSays) {
  llvm_.Run(
      Text("cs_variant"), kPasses,
      [](void* entry) {
        auto* kernel = reinterpret_cast<Kernel*>(entry);
        std::vector<uint32_t> context(kCount);
        uint32_t thread = 0;
        const auto call = [&](uint32_t i) {
          kernel(context.data(), 1, 2, 3, i % kGridX, i / kGridX % kGridY, i / kGridX / kGridY,
                 kGridX, kGridY, kGridZ, 4, &thread);
        };
        for (uint32_t i = 0; i < kCount; ++i) call(i);
        EXPECT_THAT(context, Each(4321));
        EXPECT_EQ(thread, kCount);
        // Until it is known to be short, the first call does it all.
        context.assign(kCount, 0);
        for (uint32_t i = kCount; i > 0; --i) call(i - 1);
        EXPECT_THAT(context, Each(4321));
        // One workgroup is nobody's to share.
        kernel(context.data(), 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, &thread);
        EXPECT_EQ(context[0], 4322);
      },
      true, "cs_variant");
}

// More than are told apart, one at a time: the entries of the first ones come again, or the code
// itself does.
TEST_F(SharedKernels, ManyKernels_Run) {
  for (int i = 0; i < 200; ++i) {
    llvm_.Run(
        Text("cs_variant"), kPasses,
        [](void* entry) {
          std::array<uint32_t, 2> context = {};
          uint32_t thread = 0;
          for (uint32_t x : {1, 0}) {
            reinterpret_cast<Kernel*>(entry)(context.data(), 5, 0, 0, x, 0, 0, 2, 1, 1, 0, &thread);
          }
          EXPECT_THAT(context, Each(5));
          EXPECT_EQ(thread, 2);
        },
        true, "cs_variant");
  }
}

// As many contexts of drivers as there may be, and more: at once, so that all have addresses of
// their own.
TEST_F(SharedKernels, ManyContexts_Run) {
  llvm_.Run(
      Text("cs_variant"), kPasses,
      [](void* entry) {
        constexpr size_t kContexts = 100;
        std::vector<std::array<uint32_t, 4>> contexts(kContexts);
        std::vector<std::thread> threads;
        for (uint32_t t = 0; t < 2; ++t) {
          threads.emplace_back([&, t] {
            uint32_t thread = 0;
            for (auto& context : contexts) {
              for (uint32_t x : {2 * t, 2 * t + 1}) {
                reinterpret_cast<Kernel*>(entry)(context.data(), 7, 0, 0, x, 0, 0, 4, 1, 1, 0,
                                                 &thread);
              }
            }
          });
        }
        for (std::thread& thread : threads) thread.join();
        for (const auto& context : contexts) EXPECT_THAT(context, Each(7));
      },
      true, "cs_variant");
}

}  // namespace
}  // namespace webnnd

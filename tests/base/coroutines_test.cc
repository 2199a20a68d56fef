// Coroutines like llvmpipe's, by the program's LLVMRunPasses (base/drivers_llvm) and the LLVM that
// lavapipe uses.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "tests/base/driver_llvm.h"

namespace webnnd {
namespace {

constexpr char kFirstPasses[] = "default<O0>";
constexpr uint32_t kCount = 5;

// Before its last suspension, if it has another one: @co then waits until all others do.
constexpr char kBarrier[] = R"(
  %waits = call i8 @llvm.coro.suspend(token none, i1 false)
  switch i8 %waits, label %suspend [ i8 0, label %second
                                     i8 1, label %cleanup ]
)";
constexpr char kNoBarrier[] = "  br label %second\n";

// @f(words, n) goes around n coroutines until they are done, as llvmpipe does around the subgroups
// of a workgroup. Number i stores i + 10, and in its second part adds what its neighbour has.
std::string Workgroup(const std::string& between, const std::string& cleanup = "",
                      const std::string& is_final = "true") {
  return R"(
declare token @llvm.coro.id(i32, i8*, i8*, i8*)
declare i32 @llvm.coro.size.i32()
declare i8* @llvm.coro.begin(token, i8*)
declare i8 @llvm.coro.suspend(token, i1)
declare i1 @llvm.coro.end(i8*, i1)
declare i1 @llvm.coro.done(i8*)
declare void @llvm.coro.destroy(i8*)
declare void @llvm.coro.resume(i8*)
declare i8* @llvm.coro.free(token, i8*)

define i8* @co(i8* %memory, i32* %words, i32 %i, i32 %n) presplitcoroutine {
entry:
  %id = call token @llvm.coro.id(i32 0, i8* null, i8* null, i8* null)
  %size = call i32 @llvm.coro.size.i32()
  %offset = mul i32 %size, %i
  %frame = getelementptr i8, i8* %memory, i32 %offset
  %handle = call i8* @llvm.coro.begin(token %id, i8* %frame)
  %own = getelementptr i32, i32* %words, i32 %i
  %value = add i32 %i, 10
  store i32 %value, i32* %own
)" + between +
         R"(
second:
  %next = add i32 %i, 1
  %neighbour = urem i32 %next, %n
  %other = getelementptr i32, i32* %words, i32 %neighbour
  %others = load i32, i32* %other
  %mine = load i32, i32* %own
  %sum = add i32 %mine, %others
  %sums = getelementptr i32, i32* %own, i32 %n
  store i32 %sum, i32* %sums
  %last = call i8 @llvm.coro.suspend(token none, i1 )" +
         is_final + R"()
  switch i8 %last, label %suspend [ i8 1, label %cleanup ]

cleanup:
  %twice = mul i32 %n, 2
  %count_at = getelementptr i32, i32* %words, i32 %twice
  %count = load i32, i32* %count_at
  %more = add i32 %count, 1
  store i32 %more, i32* %count_at
)" + cleanup +
         R"(
  br label %suspend

suspend:
  %end = call i1 @llvm.coro.end(i8* %handle, i1 false)
  ret i8* %handle
}

define void @f(i32* %words, i32 %n) {
entry:
  %memory = alloca i8, i32 4096, align 16
  %handles = alloca i8*, i32 %n
  br label %turn

turn:
  %turns = phi i32 [ 0, %entry ], [ %more_turns, %turn_end ]
  br label %each

each:
  %i = phi i32 [ 0, %turn ], [ %more, %each_end ]
  %so_far = phi i32 [ %turns, %turn ], [ %now, %each_end ]
  %at = getelementptr i8*, i8** %handles, i32 %i
  %is_first = icmp eq i32 %turns, 0
  br i1 %is_first, label %begins, label %goes_on

begins:
  %new = call i8* @co(i8* %memory, i32* %words, i32 %i, i32 %n)
  store i8* %new, i8** %at
  br label %each_end

goes_on:
  %handle = load i8*, i8** %at
  %is_done = call i1 @llvm.coro.done(i8* %handle)
  br i1 %is_done, label %ends, label %resumes

ends:
  call void @llvm.coro.destroy(i8* %handle)
  br label %each_end

resumes:
  call void @llvm.coro.resume(i8* %handle)
  br label %each_end

each_end:
  %now = phi i32 [ %so_far, %begins ], [ 1000, %ends ], [ %so_far, %resumes ]
  %more = add i32 %i, 1
  %is_last = icmp eq i32 %more, %n
  br i1 %is_last, label %turn_end, label %each

turn_end:
  %more_turns = add i32 %now, 1
  %is_over = icmp ugt i32 %now, 999
  br i1 %is_over, label %exit, label %turn

exit:
  %twice = mul i32 %n, 2
  %behind = add i32 %twice, 1
  %turns_at = getelementptr i32, i32* %words, i32 %behind
  store i32 %turns, i32* %turns_at
  ret void
}
)";
}

using Words = std::array<uint32_t, 2 * kCount + 2>;

Words Stored(const DriverLlvm& llvm, const std::string& text) {
  Words words = {};
  llvm.Run(text, kFirstPasses, [&](void* function) {
    reinterpret_cast<void (*)(uint32_t*, uint32_t)>(function)(words.data(), kCount);
  });
  return words;
}

bool IsSplit(const DriverLlvm& llvm, const std::string& text) {
  return llvm.Optimize(text, kFirstPasses).find("co.resume") != std::string::npos;
}

TEST(Coroutines, ThatNeverWait_AreFunctions) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string code = llvm.Optimize(Workgroup(kNoBarrier), kFirstPasses);
  EXPECT_EQ(code.find("co.resume"), std::string::npos) << code;
  EXPECT_EQ(code.find("call i8 @llvm.coro"), std::string::npos) << code;
  EXPECT_EQ(code.find("presplitcoroutine"), std::string::npos) << code;
  // Blocks are joined, as they are where coroutines are split: else no loop over lanes is found.
  EXPECT_EQ(code.find("\nsecond:"), std::string::npos) << code;
  // Each is whole before the next: of its neighbour the last one alone sees what that stored.
  EXPECT_EQ(Stored(llvm, Workgroup(kNoBarrier)),
            (Words{10, 11, 12, 13, 14, 10, 11, 12, 13, 24, kCount, 1}));
}

TEST(Coroutines, ThatWait_AreResumed) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  EXPECT_TRUE(IsSplit(llvm, Workgroup(kBarrier)));
  EXPECT_EQ(Stored(llvm, Workgroup(kBarrier)),
            (Words{10, 11, 12, 13, 14, 21, 23, 25, 27, 24, kCount, 2}));
}

TEST(Coroutines, ThatMayBeResumedInTheEnd_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  EXPECT_TRUE(IsSplit(llvm, Workgroup(kNoBarrier, "", "false")));
}

TEST(Coroutines, ThatFreeTheirMemory_StayAsTheyAre) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string frees =
      Workgroup(kNoBarrier, "  %freed = call i8* @llvm.coro.free(token %id, i8* %handle)");
  EXPECT_TRUE(IsSplit(llvm, frees));
  EXPECT_EQ(Stored(llvm, frees), (Words{10, 11, 12, 13, 14, 10, 11, 12, 13, 24, kCount, 1}));
}

TEST(Coroutines, WhereThereAreNone_NothingChanges) {
  const DriverLlvm llvm;
  if (!llvm.Exists()) GTEST_SKIP() << "there is no lavapipe, or it has another LLVM";
  const std::string code =
      llvm.Optimize("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n", kFirstPasses);
  EXPECT_NE(code.find("ret i32 %x"), std::string::npos);
}

}  // namespace
}  // namespace webnnd

// What a real daemon keeps of compiled kernels, and what becomes of it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/fnv1a.h"
#include "base/unique_fd.h"
#include "service/worker/kernel_image.h"
#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"

namespace webnnd {
namespace {

using testing::HasSubstr;
using testing::Not;
using webnn::Connect;

constexpr char kCompiles[] = "are compiled for the cache";
constexpr double kPeaceMs = 1400;

bool Eventually(const std::function<bool()>& condition) {
  for (const double end = NowMs() + 30000; NowMs() < end; usleep(5000)) {
    if (condition()) return true;
  }
  return false;
}

// Or a zombie of somebody else's.
bool IsGone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string word, state;
  return !(file >> word >> word >> state) || state == "Z";
}

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Where each entry of one of Mesa's archives begins, by its key: archives and their indices are of
// a head and of entries, each a key in hexadecimal digits, four numbers, of which the first is the
// size, and bytes.
std::map<std::string, size_t> EntriesOf(const std::string& archive) {
  constexpr size_t kHeadBytes = 16, kKeyBytes = 40, kNumbersBytes = 16;
  std::map<std::string, size_t> entries;
  for (size_t at = kHeadBytes; at < archive.size();) {
    const std::string key = archive.substr(at, kKeyBytes);
    at += kKeyBytes;
    uint32_t size = 0;
    if (archive.size() >= at + kNumbersBytes) std::memcpy(&size, &archive[at], sizeof size);
    const bool is_whole = size > 0 && archive.size() >= at + kNumbersBytes + size &&
                          key.find_first_not_of("0123456789abcdef") == std::string::npos;
    EXPECT_TRUE(is_whole) << "an entry is none, before " << at;
    if (!is_whole) break;
    EXPECT_TRUE(entries.emplace(key, at).second) << key;
    at += kNumbersBytes + size;
  }
  return entries;
}

// Mesa takes what an index leads to for the kernel of that key, and does not look at the key there.
// Returns how many it leads to.
size_t ExpectIndexLeadsToKernels(const std::string& archive, const std::string& index) {
  constexpr size_t kNumbersBytes = 16;
  const std::map<std::string, size_t> kernels = EntriesOf(archive), named = EntriesOf(index);
  EXPECT_GT(kernels.size(), 0u);
  EXPECT_EQ(kernels.size(), named.size());
  for (const auto& [key, at] : named) {
    uint64_t offset = 0;
    std::memcpy(&offset, &index[at + kNumbersBytes], sizeof offset);
    const auto kernel = kernels.find(key);
    EXPECT_TRUE(kernel != kernels.end() && kernel->second == offset) << key << " at " << offset;
  }
  return named.size();
}

class CachedKernels : public testing::Test {
 protected:
  CachedKernels() { EXPECT_NE(mkdtemp(directory_.data()), nullptr); }
  ~CachedKernels() override { std::filesystem::remove_all(directory_); }

  // Whatever a test has done, the image is a right one in the end.
  void TearDown() override {
    const UniqueFd file(open(image().c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return;
    const std::string unpacked = directory_ + "/unpacked";
    std::filesystem::create_directory(unpacked);
    const auto hashes = service::UnpackKernelImage(file.get(), unpacked);
    ASSERT_TRUE(hashes.ok()) << hashes.error().ToString();
    const std::string end = "_idx.foz";
    size_t kernels = 0;
    for (const std::string& name : service::KernelFiles::Names(unpacked)) {
      if (!name.ends_with(end)) continue;
      const std::string stem = unpacked + "/" + name.substr(0, name.size() - end.size());
      kernels += ExpectIndexLeadsToKernels(TextOf(stem + ".foz"), TextOf(stem + end));
    }
    EXPECT_GE(kernels, hashes->size()) << "a worker would believe that it has some, and has not";
  }

  std::string image() const { return directory_ + "/cache/kernels"; }

  // A daemon with the cache and a client. What it logs, once it has nothing to do any more.
  std::string Serve() {
    const std::string log = directory_ + "/log";
    {
      DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
      Count(daemon);
      AwaitPeace(daemon, log);
    }
    return TextOf(log);
  }
  // Until the log has not grown, with a spare for the only child, for longer than the daemon
  // gathers kernels and keeps a spare that is stale.
  static void AwaitPeace(const DaemonProcess& daemon, const std::string& log) {
    std::string text;
    double since = NowMs();
    for (const double end = since + 60000; NowMs() < end; usleep(5000)) {
      if (std::string now = TextOf(log); now != text || daemon.Workers().size() != 1) {
        text = std::move(now);
        since = NowMs();
      }
      if (NowMs() - since > kPeaceMs) return;
    }
    FAIL() << "the daemon does not come to rest\n" << text;
  }
  static void Count(const DaemonProcess& daemon) {
    CountingClient client(Connect::ToSocket(daemon.socket()));
    client.Open();
    for (int i = 0; i < 3; ++i) {
      auto status = client.Step();
      ASSERT_TRUE(status.ok()) << status.error().ToString();
    }
  }
  std::string directory_ = "/tmp/webnnd-cache-XXXXXX";
};

// Several kernels that no other kind of graph has.
enum class Kind { kOne, kOther };

// Builds a graph, runs it, and says what is wrong.
Result<void> Compute(const DaemonProcess& daemon, Kind kind) {
  webnn::ML ml(Connect::ToSocket(daemon.socket()));
  ASSIGN_OR_RETURN(auto context, ml.Wait(ml.CreateContext()));
  webnn::GraphBuilder builder(context);
  const auto type = webnn::OperandDataType::kFloat32;
  ASSIGN_OR_RETURN(auto x, builder.Input("x", type, webnn::Shape{2, 3}));
  webnn::NamedOperands outputs;
  if (kind == Kind::kOne) {
    ASSIGN_OR_RETURN(auto sum, builder.ReduceSum(x));
    ASSIGN_OR_RETURN(auto sums, builder.CumulativeSum(x, 1));
    ASSIGN_OR_RETURN(auto softmax, builder.Softmax(x, 1));
    outputs = {{"sum", sum}, {"sums", sums}, {"softmax", softmax}};
  } else {
    ASSIGN_OR_RETURN(auto sum, builder.ReduceL1(x));
    ASSIGN_OR_RETURN(auto product, builder.ReduceProduct(x));
    ASSIGN_OR_RETURN(auto triangle, builder.Triangular(x));
    outputs = {{"sum", sum}, {"product", product}, {"triangle", triangle}};
  }
  ASSIGN_OR_RETURN(auto graph, ml.Wait(builder.Build(outputs)));
  ASSIGN_OR_RETURN(auto input, ml.Wait(context->CreateTensor({type, {2, 3}, true, true})));
  const float values[6] = {1, 2, 3, 4, 5, 6};
  TRY(context->WriteTensor(*input, std::as_bytes(std::span(values))));
  webnn::NamedTensors results;
  for (const auto& [name, operand] : outputs) {
    ASSIGN_OR_RETURN(results[name], ml.Wait(context->CreateTensor({type, operand.shape(), true})));
  }
  TRY(context->Dispatch(*graph, {{"x", input}}, results));
  ASSIGN_OR_RETURN(const auto bytes, ml.Wait(context->ReadTensor(*results["sum"])));
  float sum = 0;
  std::memcpy(&sum, bytes.data(), sizeof sum);
  if (sum != 21) return InternalError("the sum ({}) is wrong", sum);
  return {};
}

// The process that compiles; the log names it once more each time.
pid_t AwaitCompiler(const std::string& log, int times) {
  pid_t pid = -1;
  EXPECT_TRUE(Eventually([&] {
    const std::string text = TextOf(log);
    size_t at = 0;
    for (int i = 0; i < times; ++i) {
      at = text.find(kCompiles, at);
      if (at == std::string::npos) return false;
      at += std::strlen(kCompiles);
    }
    return std::sscanf(&text[at], " (pid %d)", &pid) == 1;
  })) << TextOf(log);
  return pid;
}

TEST_F(CachedKernels, WhatOneWorkerCompiles_LaterOnesHave) {
  EXPECT_THAT(Serve(), HasSubstr(kCompiles));
  ASSERT_TRUE(std::filesystem::exists(image()));
  const auto size = std::filesystem::file_size(image());
  // Mesa's archive, with code in it.
  EXPECT_THAT(TextOf(image()), HasSubstr("FOSSILIZEDB"));
  EXPECT_GT(size, 4000u);
  EXPECT_FALSE(std::filesystem::exists(image() + ".new"));
  // Nothing new, in a daemon of its own.
  EXPECT_THAT(Serve(), Not(HasSubstr(kCompiles)));
  EXPECT_EQ(std::filesystem::file_size(image()), size);
}

// They are there when the graph is, and its worker has nothing to tell of.
TEST_F(CachedKernels, KernelsOfAGraph_AreFetched) {
  const std::string log = directory_ + "/log";
  setenv("WEBNND_LOG", "debug", 1);
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  unsetenv("WEBNND_LOG");
  AwaitPeace(daemon, log);  // The kernel that each device warms up with.
  const std::string before = TextOf(image());
  const std::string log_before = TextOf(log);
  for (const Kind kind : {Kind::kOne, Kind::kOther}) {
    const auto computed = Compute(daemon, kind);
    ASSERT_TRUE(computed.ok()) << computed.error().ToString();
    const std::string after = TextOf(image());
    EXPECT_GT(after.size(), before.size());
    AwaitPeace(daemon, log);
    EXPECT_EQ(TextOf(image()).size(), after.size()) << TextOf(log);
  }
  const std::string told = TextOf(log).substr(log_before.size());
  EXPECT_THAT(told, Not(HasSubstr("not fetched")));
#ifndef WEBNND_SANITIZERS  // Without base/drivers_llvm nothing is told.
  EXPECT_THAT(told, HasSubstr("compiler] [debug] LLVM optimizes a kernel"));
  EXPECT_THAT(told, Not(testing::ContainsRegex("worker [0-9]+\\] \\[debug\\] LLVM optimizes")));
#endif
}

TEST_F(CachedKernels, CompilerThatEnds_LeavesItsKernelsToTheWorker) {
  const std::string log = directory_ + "/log";
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  AwaitPeace(daemon, log);
  auto computed = std::async([&] { return Compute(daemon, Kind::kOne); });
  const pid_t compiler = AwaitCompiler(log, 2);
  ASSERT_EQ(kill(compiler, SIGKILL), 0);
  const auto result = computed.get();
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_THAT(TextOf(log), HasSubstr("the compiler ends early"));
}

// Who would have to wait for another's kernels compiles its own.
TEST_F(CachedKernels, FetchOfOneClient_KeepsNoOtherWaiting) {
  const std::string log = directory_ + "/log";
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  AwaitPeace(daemon, log);
  auto first = std::async([&] { return Compute(daemon, Kind::kOne); });
  const pid_t compiler = AwaitCompiler(log, 2);
  ASSERT_EQ(kill(compiler, SIGSTOP), 0);
  const auto other = Compute(daemon, Kind::kOther);
  EXPECT_TRUE(other.ok()) << other.error().ToString();
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  ASSERT_EQ(kill(compiler, SIGCONT), 0);
  const auto result = first.get();
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  AwaitPeace(daemon, log);
}

TEST_F(CachedKernels, ImageThatIsSpoilt_IsMadeAgain) {
  Serve();
  std::string spoilt = TextOf(image());
  spoilt.back() = static_cast<char>(spoilt.back() ^ 1);
  std::ofstream(image(), std::ios::trunc) << spoilt;
  const std::string log = Serve();
  EXPECT_THAT(log, HasSubstr("cached kernels are compiled again"));
  EXPECT_THAT(log, HasSubstr(kCompiles));
  EXPECT_NE(TextOf(image()), spoilt);
}

// Drivers name their files by their build and by the processor: what others made is of no use.
TEST_F(CachedKernels, ImageOfAnotherDriver_IsAddedTo) {
  Serve();
  std::string whole = TextOf(image());
  const std::string directory = "mesa_shader_cache_sf/";
  ASSERT_NE(whole.find(directory), std::string::npos);
  for (size_t at = whole.find(directory); at != std::string::npos;
       at = whole.find(directory, at + 1)) {
    char& digit = whole[at + directory.size()];
    digit = digit == '0' ? '1' : '0';
  }
  // As the head has it (service/worker/kernel_image.cc).
  constexpr size_t kChecksumAt = 40, kHeaderBytes = 48;
  Fnv1a hash;
  hash.Add(std::as_bytes(std::span(whole)).subspan(kHeaderBytes));
  const uint64_t checksum = hash.value();
  std::memcpy(&whole[kChecksumAt], &checksum, sizeof checksum);
  std::ofstream(image(), std::ios::trunc) << whole;

  const std::string log = Serve();
  EXPECT_THAT(log, Not(HasSubstr("cached kernels are compiled again")));
  EXPECT_THAT(log, HasSubstr(kCompiles));
  EXPECT_GT(std::filesystem::file_size(image()), whole.size() * 3 / 2);
}

TEST_F(CachedKernels, DirectoryThatCannotBeUsed_CostsOnlyTheCache) {
  std::ofstream(directory_ + "/cache") << "a file";
  const std::string log = Serve();
  EXPECT_THAT(log, HasSubstr("kernels are not cached"));
  EXPECT_THAT(log, Not(HasSubstr(kCompiles)));
}

TEST_F(CachedKernels, AnotherDaemonAtIt_IsWaitedFor) {
  std::filesystem::create_directory(directory_ + "/cache");
  ASSERT_EQ(chmod((directory_ + "/cache").c_str(), 0700), 0);
  const int other = open((directory_ + "/cache").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const std::string log = directory_ + "/log";
  DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
  Count(daemon);
  usleep(700'000);
  EXPECT_THAT(TextOf(log), Not(HasSubstr(kCompiles)));
  close(other);
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(image()); })) << TextOf(log);
}

// However the daemon ends.
TEST_F(CachedKernels, DaemonThatEnds_LeavesNoCompiler) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    std::filesystem::remove_all(directory_ + "/cache");
    const std::string log = directory_ + "/log";
    DaemonProcess daemon({"--kernel-cache", directory_ + "/cache"}, log);
    ASSERT_TRUE(Eventually([&] { return TextOf(log).find(kCompiles) != std::string::npos; }));
    const std::vector<pid_t> children = daemon.Workers();
    EXPECT_EQ(daemon.Stop(signal), signal == SIGTERM ? 0 : -1);
    EXPECT_TRUE(Eventually([&] { return std::all_of(children.begin(), children.end(), IsGone); }));
    if (signal == SIGTERM) {
      EXPECT_FALSE(std::filesystem::exists(image() + ".new"));
    }
    unlink(daemon.socket().c_str());
    unlink((daemon.socket() + ".stats").c_str());
  }
}

}  // namespace
}  // namespace webnnd

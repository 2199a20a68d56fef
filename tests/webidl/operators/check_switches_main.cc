// Proves that every numbered check has a test: switches each off in turn and runs the tests that
// trip it, one of which must fail. `--report FILE` writes a line for each: number, operator,
// argument and test that fails, separated by tabs. tools/check-validation makes
// docs/validation.md of it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "webidl/check_switch.h"

namespace webnnd::webidl {
namespace {

// Random arguments find out which checks there are, but to fail by chance is not to be a test.
constexpr std::string_view kNoEvidence = "HostileArguments.";
// What a test without its check may take: a shape of 2^32 items must fail, not fill the machine.
constexpr rlim_t kChildBytesMax = 4ull << 30;
constexpr unsigned kChildSecondsMax = 20;

std::string NameOf(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

class TestNamer : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override { SetCurrentTest(NameOf(test)); }
};

// In the child: ends the process at the first failure, and leaves behind which test that was.
class FirstFailure : public testing::EmptyTestEventListener {
 public:
  FirstFailure(char* name, size_t size) : name_(name), size_(size) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(name_, size_, "%s", NameOf(test).c_str());
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) _exit(1);
  }
  char* name_;
  size_t size_;
};

// Memory that a child leaves behind.
class SharedText {
 public:
  SharedText() {
    void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    text_ = static_cast<char*>(memory);
  }
  ~SharedText() { munmap(text_, kSize); }
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;
  char* data() { return text_; }
  static constexpr size_t kSize = 256;

 private:
  char* text_ = nullptr;
};

[[noreturn]] void RunWithout(const CheckSite& check, const std::set<std::string>& tests,
                             char* failed) {
  const rlimit bytes{kChildBytesMax, kChildBytesMax};
  setrlimit(RLIMIT_AS, &bytes);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kChildSecondsMax);
  // Nothing of what a failing or crashing test says is news.
  if (freopen("/dev/null", "w", stdout) == nullptr ||
      freopen("/dev/null", "w", stderr) == nullptr) {
    abort();
  }
  std::string filter;
  for (const std::string& test : tests) filter += (filter.empty() ? "" : ":") + test;
  GTEST_FLAG_SET(filter, filter);
  testing::UnitTest::GetInstance()->listeners().Append(new FirstFailure(failed, SharedText::kSize));
  SwitchCheckOff(check);
  _exit(RUN_ALL_TESTS());
}

// The first of `tests` that fails, or crashes, without the check; empty if none does.
std::string FindFailingTest(const CheckSite& check, const std::set<std::string>& tests) {
  if (tests.empty()) return "";
  SharedText failed;
  std::cout.flush();
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) RunWithout(check, tests, failed.data());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : failed.data();
}

int Main(const std::string& report_path) {
  testing::UnitTest::GetInstance()->listeners().Append(new TestNamer);
  if (RUN_ALL_TESTS() != 0) return 1;
  const CheckLog log = GetCheckLog();
  std::ofstream report(report_path);
  size_t survivors = 0;
  for (auto [check, tests] : log) {
    std::erase_if(tests, [](const std::string& test) { return test.starts_with(kNoEvidence); });
    const std::string failing = FindFailingTest(check, tests);
    if (failing.empty()) {
      ++survivors;
      std::cout << "no test fails without check " << check.number << " of " << check.operator_name
                << " (" << check.argument << ")\n";
    }
    report << check.number << '\t' << check.operator_name << '\t' << check.argument << '\t'
           << failing << '\n';
  }
  report.close();
  std::cout << log.size() << " checks switched off, " << survivors
            << " of them without a test failing\n";
  return survivors == 0 && !report.fail() ? 0 : 1;
}

}  // namespace
}  // namespace webnnd::webidl

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // The same random arguments every time: the table of checks must not depend on chance.
  GTEST_FLAG_SET(random_seed, 1);
  std::string report = "/dev/null";
  if (argc == 3 && std::string_view(argv[1]) == "--report") report = argv[2];
  return webnnd::webidl::Main(report);
}

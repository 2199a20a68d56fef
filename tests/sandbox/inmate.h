// A process in the sandbox that does one thing and reports how it went.
#ifndef WEBNND_TESTS_SANDBOX_INMATE_H_
#define WEBNND_TESTS_SANDBOX_INMATE_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace webnnd::test {

struct Outcome {
  enum Kind {
    kDone,    // the call succeeded
    kDenied,  // the call failed with `number`, an errno
    kKilled,  // the process was killed by the signal `number`
    kBroken,  // the inmate did not come so far, and exited with `number`
  } kind;
  int number = 0;

  bool refused() const;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

// How an inmate is started, where that matters.
struct InmateOptions {
  std::vector<int> inherited_descriptors;
  bool namespaces = true;
};

// Runs `this program inmate ARGUMENTS...` in new namespaces.
Outcome RunInmate(const std::vector<std::string>& arguments, const InmateOptions& options = {});

// The variables that a sanitizer and the log want.
std::vector<std::string> InmateEnvironment();

// In the inmate: reports and ends. A negative `result` is a call's failure, with errno.
[[noreturn]] void Report(long result);
[[noreturn]] void ReportBroken(int number);

}  // namespace webnnd::test

#endif  // WEBNND_TESTS_SANDBOX_INMATE_H_

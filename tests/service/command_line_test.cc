// The daemon's command line: what it refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace webnnd::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Completed {
  int status;
  std::string output;  // both streams
};

Completed Webnnd(const std::string& arguments) {
  const char* program = std::getenv("WEBNND");
  std::string command = std::string(program != nullptr ? program : "webnnd") + " " + arguments;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  Completed run{-1, ""};
  char chunk[512];
  while (size_t got = fread(chunk, 1, sizeof chunk, pipe)) run.output.append(chunk, got);
  int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

void ExpectRefused(const std::string& arguments, const std::string& complaint) {
  Completed run = Webnnd(arguments);
  EXPECT_EQ(run.status, 2) << arguments;
  EXPECT_THAT(run.output, HasSubstr(complaint)) << arguments;
}

TEST(CommandLine, HelpAndVersion_ArePrinted) {
  Completed help = Webnnd("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("webnnd serve --socket PATH"));
  Completed version = Webnnd("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.output, StartsWith("webnnd "));
}

TEST(CommandLine, NoCommand_ShowsTheUsage) {
  Completed run = Webnnd("");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, HasSubstr("usage:"));
}

TEST(CommandLine, UnknownWords_AreNamed) {
  ExpectRefused("bogus", "the command is unknown (bogus)");
  ExpectRefused("serve --bogus", "the option is unknown (--bogus)");
  ExpectRefused("serve --socket s --sandbox-profile none",
                "none of strict, mesa, nvidia, debug (none)");
}

TEST(CommandLine, MissingOrBadValues_AreNamed) {
  ExpectRefused("serve", "serve needs --socket PATH or --fd N");
  ExpectRefused("serve --socket", "the option needs a value (--socket)");
  ExpectRefused("serve --socket a --socket b", "--socket is given twice (b)");
  ExpectRefused("serve --fd x", "the value of --fd is not a number");
  ExpectRefused("serve --fd 0", "a socket cannot be a standard stream (0)");
  ExpectRefused("serve --fd 99", "the descriptor is not open (99)");
  ExpectRefused("serve --fd 9 9</dev/null", "the descriptor is not a socket (9)");
  ExpectRefused("serve --socket s --isolation none", "neither process nor shared (none)");
  ExpectRefused("serve --socket s --workers-max 65", "the value of --workers-max is not a number");
  ExpectRefused("serve --socket s --workers-max 0", "without a worker no client is served");
  ExpectRefused("serve --socket s --clients-per-process 0", "without one of each process");
  ExpectRefused("serve --socket s --waiting-per-process 513", "--waiting-per-process is not");
  ExpectRefused("stats", "stats needs --socket PATH");
  ExpectRefused("stats --bogus", "the option is unknown (--bogus)");
  ExpectRefused("serve --socket s --device x", "the value of --device is not a number");
  ExpectRefused("serve --socket s --quota", "the option needs a value (--quota)");
  ExpectRefused("serve --socket s --quota tensors=0", "is not a number from 1 to");
  ExpectRefused("serve --socket s --quota bogus=1", "there is no such quota (bogus)");
}

TEST(CommandLine, WorkerByHand_IsRefused) { ExpectRefused("worker", "only the broker starts one"); }

}  // namespace
}  // namespace webnnd::test

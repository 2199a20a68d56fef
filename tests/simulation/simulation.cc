// The broker's decisions, and the workers' sessions on a device that computes nothing, under random
// clients: one thread, a clock of its own, no process. Everything follows from a seed.
//
// simulation [--seed N] [--seeds COUNT] [--seconds S] [--forget-dead-workers] [--forget-to-retire]
//            [--forget-to-submit]
//
// Runs the seeds N, N + 1, ...; a seed that fails is named, and runs alike again. The last three
// break the world on purpose, to see that it is noticed.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "tests/simulation/tally.h"
#include "tests/simulation/world.h"

namespace webnnd::service {
namespace {

// Of one world, in real time: something waits that never must.
constexpr unsigned kWorldRealSecondsMax = 60;
// So many worlds meet every quota.
constexpr uint64_t kWorldsForAllQuotas = 20;

// What a signal's handler says: code that is tested may abort, or wait for ever.
std::atomic<uint64_t> current_seed{0};

void OnDeadlySignal(int signal) {
  char text[128];
  const int length =
      snprintf(text, sizeof text, "seed %llu fails: client %u: %s\n",
               static_cast<unsigned long long>(current_seed.load()), World::current_client(),
               signal == SIGALRM ? "its turn does not end" : "a check fails, or memory");
  (void)!write(STDOUT_FILENO, text, static_cast<size_t>(length));
  if (signal == SIGALRM) _exit(1);
  // As without a handler.
  ::signal(signal, SIG_DFL);
  raise(signal);
}

size_t CountDescriptors() {
  size_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

int Main(std::span<char*> arguments) {
  InitLog("simulation", LogLevel::kOff);
  WorldOptions options;
  uint64_t seeds = 1;
  double seconds_max = 0;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    const char* value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (name == "--forget-dead-workers") {
      options.forget_dead_workers = true;
      continue;
    }
    if (name == "--forget-to-retire") {
      options.flaw = NullFlaw::kForgetsToNotify;
      continue;
    }
    if (name == "--forget-to-submit") {
      options.flaw = NullFlaw::kDoesNotSubmit;
      continue;
    }
    ++i;
    if (name == "--seed") {
      options.seed = strtoull(value, nullptr, 10);
    } else if (name == "--seeds") {
      seeds = strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      seconds_max = strtod(value, nullptr);
      seeds = UINT64_MAX;
    } else {
      fprintf(stderr, "simulation: the option is unknown (%s)\n", arguments[i - 1]);
      return 2;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV}) ::signal(signal, OnDeadlySignal);
  uint64_t worlds = 0;
  Tally tally;
  const size_t descriptors = CountDescriptors();
  for (; worlds < seeds && (seconds_max == 0 || elapsed() < seconds_max); ++worlds) {
    std::optional<std::string> wrong;
    current_seed = options.seed;
    alarm(kWorldRealSecondsMax);
    {
      World world(options, tally);
      wrong = world.Run();
    }
    if (!wrong && CountDescriptors() != descriptors) wrong = "descriptors are left";
    if (wrong) {
      printf("seed %llu fails: %s\n", static_cast<unsigned long long>(options.seed),
             wrong->c_str());
      return 1;
    }
    ++options.seed;
  }
  printf("%llu worlds, %llu clients, %llu answers; %.1f s\n",
         static_cast<unsigned long long>(worlds), static_cast<unsigned long long>(tally.clients),
         static_cast<unsigned long long>(tally.answers), elapsed());
  for (const Tally::Row& row : tally.Rows()) {
    printf("%10llu times over the quota of %s\n", static_cast<unsigned long long>(row.times),
           row.quota);
    if (worlds >= kWorldsForAllQuotas && row.times == 0) {
      printf("nobody goes over the quota of %s\n", row.quota);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace webnnd::service

int main(int argc, char** argv) { return webnnd::service::Main({argv, static_cast<size_t>(argc)}); }

// main() of a test program whose workers are the program itself.
#ifndef WEBNND_TESTS_SANDBOX_RUN_TESTS_OR_WORKER_H_
#define WEBNND_TESTS_SANDBOX_RUN_TESTS_OR_WORKER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "service/worker/worker.h"

namespace webnnd::test {

// With "worker" as the first argument, `run` takes those behind it, and does not return.
inline int RunTestsOrWorker(int argc, char** argv, void (*run)(const service::WorkerOptions&)) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    auto options = service::ParseWorkerOptions(std::vector<std::string>(argv + 2, argv + argc));
    if (!options.ok()) _exit(service::kWorkerBadOptions);
    run(*options);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace webnnd::test

#endif  // WEBNND_TESTS_SANDBOX_RUN_TESTS_OR_WORKER_H_

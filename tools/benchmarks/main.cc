// webnn-bench: the figures of docs/benchmarks.md. See --help.
#include <cstdio>
#include <span>

#include "base/log.h"
#include "tools/benchmarks/build_benchmark.h"
#include "tools/benchmarks/clients.h"
#include "tools/benchmarks/decode.h"
#include "tools/benchmarks/dispatch.h"
#include "tools/benchmarks/mobilenet_benchmark.h"
#include "tools/benchmarks/operators.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {
namespace {

Status Run(const Options& options) {
  switch (options.command) {
    case Command::kDispatch:
      TRY(RunDispatch(options));
      std::printf("\nThere is more: tools/bench --help\n");
      return {};
    case Command::kOperators:
      return RunOperators(options);
    case Command::kShapes:
      return RunShapes(options);
    case Command::kMobileNet:
      return RunMobileNet(options);
    case Command::kBuild:
      return RunBuild(options);
    case Command::kDecode:
      return RunDecode(options);
    case Command::kClients:
      return RunClients(options);
    case Command::kHelp:
      std::printf("%s", Usage());
      return {};
  }
  UNREACHABLE();
}

int Main(int argc, char** argv) {
  InitLog("webnn-bench", LogLevel::kError);
  Result<Options> options = ParseOptions(std::span(argv, argc).subspan(1));
  if (!options.ok()) {
    std::fprintf(stderr, "webnn-bench: %s\n%s", options.error().message().c_str(), Usage());
    return 2;
  }
  Status status = Run(*options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "webnn-bench: %s\n", status.error().ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace webnnd::benchmarks

int main(int argc, char** argv) { return webnnd::benchmarks::Main(argc, argv); }

// The command line of webnn-conformance.
#ifndef WEBNND_TESTS_CONFORMANCE_OPTIONS_H_
#define WEBNND_TESTS_CONFORMANCE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace webnnd::conformance {

struct Options {
  std::vector<std::string> cases;  // Files and folders.
  std::string op;                  // Only cases that use this operator; empty: all.
  bool kernels = false;
  std::string json_path;
  std::string socket_path;  // Empty: a private daemon.
  bool in_process = false;
  bool validation = false;                     // Validation layers; in-process only.
  std::vector<std::string> disabled_features;  // Of the device; not with a socket.
  bool fusion = true;
  bool constant_folding = true;
  // So many cases must pass at least, and none may be skipped.
  std::optional<uint64_t> require;
};

extern const char kUsage[];

Result<Options> ParseOptions(std::span<const char* const> arguments);

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_OPTIONS_H_

// The command line of webnn-generate.
#ifndef WEBNND_EXAMPLES_GENERATE_OPTIONS_H_
#define WEBNND_EXAMPLES_GENERATE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace webnnd::generate {

struct Options {
  bool help = false;
  std::string model;
  // Exactly one of the two.
  std::optional<std::string> prompt;
  std::optional<std::vector<int32_t>> prompt_ids;
  uint32_t tokens = 128;
  double temperature = 0;
  uint64_t seed = 0;
  bool json = false;
  bool ignore_eos = false;
  bool in_process = false;
  bool fusion = true;
  std::string fusions;  // Names of macro operators, separated by commas; empty: all.
  bool binding_cache = true;
  bool alias = true;
  bool host_cache = false;
  bool growing = false;   // Caches whose size is dynamic.
  bool quantize = false;  // Weights in blocks of four bits.
  std::string socket;     // Empty: start a private daemon.
};

std::string_view HelpText();

// `arguments` without the program's name. With --help nothing else is required.
Result<Options> ParseOptions(std::span<const std::string_view> arguments);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_OPTIONS_H_

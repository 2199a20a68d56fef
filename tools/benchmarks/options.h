// What webnn-bench is asked for on its command line.
#ifndef WEBNND_TOOLS_BENCHMARKS_OPTIONS_H_
#define WEBNND_TOOLS_BENCHMARKS_OPTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace webnnd::benchmarks {

enum class Command {
  kDispatch,  // Without a word: dispatch, start-up and memory.
  kOperators,
  kShapes,
  kMobileNet,
  kBuild,
  kDecode,
  kClients,
  kHelp,
};

inline constexpr int kRoundsDefault = 15;
// A round of decode takes a minute, one of clients a quarter of it.
inline constexpr int kDecodeRoundsDefault = 5;
inline constexpr const char* kDecodeModels[] = {"tiny", "smollm", "qwen2"};

struct Options {
  Command command = Command::kDispatch;
  std::string json;                 // The file to write the figures to; empty: none.
  std::string filter;               // Only cases whose names contain it; empty: all.
  int rounds = kRoundsDefault;      // kDecode: kDecodeRoundsDefault.
  std::vector<std::string> models;  // Of kDecode: some of kDecodeModels.
  bool in_process = false;  // Without daemon and sandbox; not for kDispatch, which does both.
  bool cpu_time = false;    // Count processor time; for kOperators and kShapes in process.
};

inline constexpr int kRoundsMax = 10'000;

// `words` without the program's name. Validation error for what it does not know.
Result<Options> ParseOptions(std::span<const char* const> words);

const char* Usage();

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_OPTIONS_H_

#include "tools/benchmarks/options.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace webnnd::benchmarks {
namespace {

std::optional<Command> FindCommand(std::string_view word) {
  if (word == "operators") return Command::kOperators;
  if (word == "mobilenet") return Command::kMobileNet;
  if (word == "build") return Command::kBuild;
  if (word == "--help") return Command::kHelp;
  return std::nullopt;
}

Result<int> ParseRounds(std::string_view text) {
  int rounds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounds);
  INVALID_IF(
      error != std::errc() || end != text.data() + text.size() || rounds < 1 || rounds > kRoundsMax,
      "the number of rounds ({}) is not one of 1 to {}", text, kRoundsMax);
  return rounds;
}

}  // namespace

Result<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (auto command = FindCommand(word)) {
      INVALID_IF(i != 0, "the command ({}) is not the first word", word);
      options.command = *command;
      continue;
    }
    if (word == "--in-process") {
      options.in_process = true;
      continue;
    }
    INVALID_IF(word != "--json" && word != "--filter" && word != "--rounds",
               "the word ({}) is not an option", word);
    INVALID_IF(i + 1 == words.size(), "the option ({}) has no value", word);
    std::string_view value = words[++i];
    if (word == "--json") {
      options.json = value;
    } else if (word == "--filter") {
      options.filter = value;
    } else {
      ASSIGN_OR_RETURN(options.rounds, ParseRounds(value));
    }
  }
  INVALID_IF(options.in_process && options.command == Command::kDispatch,
             "the option (--in-process) is not for dispatch, which is measured both ways");
  INVALID_IF(!options.filter.empty() && options.command != Command::kOperators,
             "the option (--filter) is for operators alone");
  return options;
}

const char* Usage() {
  return "usage: tools/bench [COMMAND] [--json FILE] [--rounds N]\n"
         "  (none)     dispatch, start-up and memory\n"
         "  operators  each operator against the machine [--filter NAME] [--in-process]\n"
         "  mobilenet  MobileNetV2, random weights, 224x224 [--in-process]\n"
         "  build      what a build takes, and does to dispatches meanwhile [--in-process]\n";
}

}  // namespace webnnd::benchmarks

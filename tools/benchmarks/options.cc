#include "tools/benchmarks/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>

namespace webnnd::benchmarks {
namespace {

std::optional<Command> FindCommand(std::string_view word) {
  if (word == "operators") return Command::kOperators;
  if (word == "shapes") return Command::kShapes;
  if (word == "mobilenet") return Command::kMobileNet;
  if (word == "build") return Command::kBuild;
  if (word == "decode") return Command::kDecode;
  if (word == "clients") return Command::kClients;
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

Result<std::vector<std::string>> ParseModels(std::string_view text) {
  std::vector<std::string> models;
  while (true) {
    size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    INVALID_IF(std::find(std::begin(kDecodeModels), std::end(kDecodeModels), name) ==
                   std::end(kDecodeModels),
               "the model ({}) is not tiny, smollm or qwen2", name);
    models.emplace_back(name);
    if (comma == std::string_view::npos) return models;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (auto command = FindCommand(word)) {
      INVALID_IF(i != 0, "the command ({}) is not the first word", word);
      options.command = *command;
      if (*command == Command::kClients) options.rounds = kDecodeRoundsDefault;
      if (*command == Command::kDecode) {
        options.rounds = kDecodeRoundsDefault;
        options.models.assign(std::begin(kDecodeModels), std::end(kDecodeModels));
      }
      continue;
    }
    if (word == "--in-process") {
      options.in_process = true;
      continue;
    }
    if (word == "--cpu-time") {
      options.cpu_time = true;
      continue;
    }
    INVALID_IF(word != "--json" && word != "--filter" && word != "--rounds" && word != "--models",
               "the word ({}) is not an option", word);
    INVALID_IF(i + 1 == words.size(), "the option ({}) has no value", word);
    std::string_view value = words[++i];
    if (word == "--json") {
      options.json = value;
    } else if (word == "--filter") {
      options.filter = value;
    } else if (word == "--models") {
      INVALID_IF(options.command != Command::kDecode, "the option (--models) is for decode alone");
      ASSIGN_OR_RETURN(options.models, ParseModels(value));
    } else {
      ASSIGN_OR_RETURN(options.rounds, ParseRounds(value));
    }
  }
  INVALID_IF(options.in_process &&
                 (options.command == Command::kDispatch || options.command == Command::kDecode),
             "the option (--in-process) is not for dispatch and decode, which are measured both "
             "ways");
  const bool has_cases =
      options.command == Command::kOperators || options.command == Command::kShapes;
  INVALID_IF(!options.filter.empty() && !has_cases,
             "the option (--filter) is for operators and shapes alone");
  INVALID_IF(options.cpu_time && !(has_cases && options.in_process),
             "the option (--cpu-time) is for operators and shapes with --in-process");
  return options;
}

const char* Usage() {
  return "usage: tools/bench [COMMAND] [--json FILE] [--rounds N]\n"
         "  (none)     dispatch, start-up and memory\n"
         "  operators  each operator against the machine [--filter NAME] [--in-process]\n"
         "             [--cpu-time]: in processor time, for machines that others use too\n"
         "  shapes     operators in shapes that models have, first what is furthest from the\n"
         "             machine's multiply-adds, or from the copy; options as for operators\n"
         "  mobilenet  MobileNetV2, random weights, 224x224 [--in-process]\n"
         "  build      what a build takes, and does to dispatches meanwhile [--in-process]\n"
         "  decode     language models: the ladder from decomposed operators to all that there\n"
         "             is, and what it comes to [--models tiny,smollm,qwen2]\n"
         "  clients    what clients do to each other: equal ones, and hostile ones "
         "[--in-process]\n";
}

}  // namespace webnnd::benchmarks

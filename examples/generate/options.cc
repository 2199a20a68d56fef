#include "examples/generate/options.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace webnnd::generate {
namespace {

// The longest sequence that a model may declare.
constexpr uint32_t kTokensMax = 1 << 20;

constexpr std::string_view kHelp =
    R"(usage: webnn-generate --model PATH (--prompt TEXT | --prompt-ids 1,2,3) [options]

Continues a text with a language model that runs in the sandboxed daemon webnnd.

  --model PATH        a folder with config.json, model.safetensors and tokenizer.json
                      (Llama, Qwen2), or a llama2.c checkpoint FILE.bin, or the folder of one,
                      with its tokenizer tok*.bin beside it
  --prompt TEXT       the text to continue; the id that begins a text goes in front
  --prompt-ids LIST   token ids instead of a text, taken as they are
  --tokens N          new tokens (default 128)
  --temperature T     0: always the likeliest token (default); else how freely to choose
  --seed S            seed of the choices (default 0)
  --quantize q4       keep the weights as blocks of 32 four-bit codes
  --dynamic           key/value caches that grow (present = concat(past, new)), and one graph
                      with dynamic dimensions for prompts of any length and for steps
  --ignore-eos        go on where the model ends the text
  --json              print one JSON object instead of the text

Where the work is done:
  --socket PATH       a daemon that is running (webnnd serve --socket PATH); without it a
                      private one is started: $WEBNND, or webnnd beside this program
  --in-process        no daemon and no sandbox: the service runs inside this program

Turning one thing off, to measure it or to search for a fault:
  --no-fusion         macro-operators run as the primitives they are made of
  --fusions LIST      of the macro-operators only those named: blockMatmul,rmsNormalization,...
  --no-alias          two sets of key/value caches that swap at every token, by plain
                      dispatches, in place of one that a binding updates where it is
  --no-binding-cache  every dispatch binds its tensors anew; implies --no-alias
  --host-kv           the key/value caches cross the socket at every token; implies
                      --no-alias
)";

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<std::vector<int32_t>> ParseIds(std::string_view text) {
  std::vector<int32_t> ids;
  while (true) {
    size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    auto id = ParseNumber<int32_t>(item);
    INVALID_IF(!id || *id < 0, "the value of --prompt-ids has an item that is no token id ({})",
               item);
    ids.push_back(*id);
    if (comma == std::string_view::npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

bool SetFlag(Options& options, std::string_view name) {
  struct Flag {
    std::string_view name;
    bool Options::*member;
    bool value;
  };
  static constexpr Flag kFlags[] = {
      {"--help", &Options::help, true},
      {"-h", &Options::help, true},
      {"--json", &Options::json, true},
      {"--ignore-eos", &Options::ignore_eos, true},
      {"--in-process", &Options::in_process, true},
      {"--no-fusion", &Options::fusion, false},
      {"--no-binding-cache", &Options::binding_cache, false},
      {"--no-alias", &Options::alias, false},
      {"--host-kv", &Options::host_cache, true},
      {"--dynamic", &Options::growing, true},
  };
  for (const Flag& flag : kFlags) {
    if (flag.name != name) continue;
    options.*flag.member = flag.value;
    return true;
  }
  return false;
}

Status SetValue(Options& options, std::string_view name, std::string_view value) {
  if (name == "--model") {
    options.model = value;
  } else if (name == "--prompt") {
    options.prompt = value;
  } else if (name == "--prompt-ids") {
    ASSIGN_OR_RETURN(options.prompt_ids, ParseIds(value));
  } else if (name == "--quantize") {
    INVALID_IF(value != "q4", "the value of --quantize ({}) is not q4", value);
    options.quantize = true;
  } else if (name == "--fusions") {
    INVALID_IF(value.empty(), "the value of --fusions is empty ({})", value);
    options.fusions = value;
  } else if (name == "--socket") {
    INVALID_IF(value.empty(), "the value of --socket is empty ({})", value);
    options.socket = value;
  } else if (name == "--tokens") {
    auto tokens = ParseNumber<uint32_t>(value);
    INVALID_IF(!tokens || *tokens == 0 || *tokens > kTokensMax,
               "the value of --tokens ({}) is not a number between 1 and {}", value, kTokensMax);
    options.tokens = *tokens;
  } else if (name == "--temperature") {
    auto temperature = ParseNumber<double>(value);
    INVALID_IF(!temperature || !std::isfinite(*temperature) || *temperature < 0,
               "the value of --temperature ({}) is not a number of 0 or more", value);
    options.temperature = *temperature;
  } else if (name == "--seed") {
    auto seed = ParseNumber<uint64_t>(value);
    INVALID_IF(!seed, "the value of --seed ({}) is not a number of 0 or more", value);
    options.seed = *seed;
  } else {
    return ValidationError("the option ({}) is unknown; --help lists them", name);
  }
  return {};
}

bool TakesValue(std::string_view name) {
  for (std::string_view known : {"--model", "--prompt", "--prompt-ids", "--socket", "--tokens",
                                 "--temperature", "--seed", "--quantize", "--fusions"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

std::string_view HelpText() { return kHelp; }

Result<Options> ParseOptions(std::span<const std::string_view> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (SetFlag(options, name)) continue;
    INVALID_IF(!TakesValue(name), "the option ({}) is unknown; --help lists them", name);
    INVALID_IF(i + 1 == arguments.size(), "the option ({}) lacks its value", name);
    TRY(SetValue(options, name, arguments[++i]));
  }
  if (options.help) return options;
  INVALID_IF(options.model.empty(), "the option ({}) is missing", "--model");
  INVALID_IF(options.prompt.has_value() == options.prompt_ids.has_value(),
             "exactly one of --prompt and --prompt-ids is needed ({} given)",
             options.prompt.has_value() ? "both" : "none");
  INVALID_IF(options.in_process && !options.socket.empty(),
             "--in-process and --socket ({}) exclude each other", options.socket);
  return options;
}

}  // namespace webnnd::generate

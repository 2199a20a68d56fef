// webnn-make-model: writes a checkpoint of a public model's shape with reproducible random weights,
// and what it says.
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/generate/model.h"
#include "tools/models/random_model.h"
#include "tools/models/reference_decoder.h"

namespace webnnd::models {
namespace {

constexpr char kUsage[] =
    "usage: webnn-make-model --shape smollm|qwen2 --out DIR [--layers N] [--seed S]\n"
    "                        [--expected TOKENS] [--quantize q4]\n"
    "Writes DIR/config.json and DIR/model.safetensors (float16). --expected also writes\n"
    "DIR/expected.json: a prompt and so many greedy tokens after it, in double precision,\n"
    "with plain weights or those of webnn-generate --quantize q4.\n";

// Any ids will do that every vocabulary has.
constexpr int32_t kPromptIds[] = {1, 4093, 28, 665, 253, 655, 30000, 15492};
constexpr size_t kFirstLogits = 16;

struct Options {
  std::string folder;
  RandomModel model;
  uint32_t expected_tokens = 0;
  ReferenceFormat format = ReferenceFormat::kExact;
};

Result<uint64_t> ParseNumber(std::string_view name, std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  INVALID_IF(error != std::errc() || end != text.data() + text.size() || value > UINT32_MAX,
             "the value of {} ({}) is not a number", name, text);
  return value;
}

Result<Options> ParseOptions(std::span<const std::string_view> words) {
  Options options;
  std::string_view shape;
  uint64_t layers = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    INVALID_IF(i + 1 == words.size(), "the option ({}) lacks its value", words[i]);
    std::string_view name = words[i], value = words[i + 1];
    if (name == "--shape") {
      shape = value;
    } else if (name == "--out") {
      options.folder = value;
    } else if (name == "--layers") {
      ASSIGN_OR_RETURN(layers, ParseNumber(name, value));
    } else if (name == "--seed") {
      ASSIGN_OR_RETURN(options.model.seed, ParseNumber(name, value));
    } else if (name == "--expected") {
      ASSIGN_OR_RETURN(uint64_t tokens, ParseNumber(name, value));
      options.expected_tokens = static_cast<uint32_t>(tokens);
    } else if (name == "--quantize" && value == "q4") {
      options.format = ReferenceFormat::kQ4;
    } else {
      return ValidationError("the option ({} {}) is unknown", name, value);
    }
  }
  INVALID_IF(options.folder.empty(), "the option ({}) is missing", "--out");
  INVALID_IF(shape != "smollm" && shape != "qwen2", "the shape ({}) is not smollm or qwen2", shape);
  options.model.config = shape == "smollm" ? SmolLmShape() : Qwen2Shape();
  if (layers != 0) options.model.config.layer_count = static_cast<uint32_t>(layers);
  return options;
}

Status WriteExpected(const Options& options) {
  ASSIGN_OR_RETURN(generate::Model model,
                   generate::OpenModel(options.folder, generate::TokenizerNeed::kIfPresent));
  ASSIGN_OR_RETURN(ReferenceDecoder decoder, ReferenceDecoder::Create(model, options.format));
  std::vector<int32_t> generated;
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (GreedyStep& step : GenerateGreedily(decoder, kPromptIds, options.expected_tokens)) {
    generated.push_back(step.id);
    double largest = step.logits[static_cast<size_t>(step.id)];
    step.logits.resize(kFirstLogits);
    steps.push_back(
        {{"id", step.id}, {"max", largest}, {"gap", step.gap}, {"first16", step.logits}});
  }
  nlohmann::ordered_json json = {{"prompt_ids", kPromptIds},
                                 {"generated_ids", generated},
                                 {"quantize", options.format == ReferenceFormat::kQ4 ? "q4" : ""},
                                 {"steps", steps}};
  std::ofstream file(options.folder + "/expected.json", std::ios::trunc);
  file << json.dump(1) << "\n";
  file.close();
  if (!file.good()) return InternalError("expected.json cannot be written ({})", options.folder);
  return {};
}

Status Run(const Options& options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  TRY(WriteRandomModel(options.folder, options.model));
  if (options.expected_tokens == 0) return {};
  return WriteExpected(options);
}

int Main(std::span<const std::string_view> words) {
  if (words.size() == 1 && words[0] == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  auto options = ParseOptions(words);
  if (!options.ok()) {
    fmt::print(stderr, "webnn-make-model: {}\n{}", options.error().ToString(), kUsage);
    return 2;
  }
  Status status = Run(*options);
  if (status.ok()) return 0;
  fmt::print(stderr, "webnn-make-model: {}\n", status.error().ToString());
  return 1;
}

}  // namespace
}  // namespace webnnd::models

int main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  return webnnd::models::Main(words);
}

#include "examples/generate/json.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace webnnd::generate {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 64;

// How many arrays and objects lie around the innermost value, in text that may be no JSON at all.
int DepthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

Result<Json> ParseJsonObject(std::string_view what, std::string_view text) {
  const int depth = DepthOf(text);
  INVALID_IF(depth > kDepthMax, "{} nests values deeper ({}) than {}", what, depth, kDepthMax);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  INVALID_IF(!json.is_object(), "{} is not a JSON object ({} bytes)", what, text.size());
  return json;
}

}  // namespace webnnd::generate

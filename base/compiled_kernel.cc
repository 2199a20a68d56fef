#include "base/compiled_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace webnnd {
namespace {

// Takes a number and what ends it, `end` or the end of the text.
Result<uint32_t> TakeNumber(std::string_view& text, char end) {
  uint32_t number = 0;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto length = static_cast<size_t>(behind - text.data());
  const bool ends = length == text.size() || text[length] == end;
  INVALID_IF(error != std::errc() || !ends, "a number is expected ({})", text);
  text.remove_prefix(std::min(length + 1, text.size()));
  return number;
}

}  // namespace

bool CompiledKernel::well_formed() const {
  return constant_count <= kConstantsMax &&
         std::all_of(constants.begin() + constant_count, constants.end(),
                     [](uint32_t constant) { return constant == 0; });
}

std::string ToText(const CompiledKernel& kernel) {
  return fmt::format("{}:{}:{}", kernel.adapter, kernel.shader, fmt::join(kernel.Constants(), ","));
}

Result<CompiledKernel> ParseCompiledKernel(std::string_view text) {
  CompiledKernel kernel;
  INVALID_IF(std::count(text.begin(), text.end(), ':') != 2,
             "a kernel is ADAPTER:SHADER:CONSTANT,... ({})", text);
  ASSIGN_OR_RETURN(kernel.adapter, TakeNumber(text, ':'));
  ASSIGN_OR_RETURN(kernel.shader, TakeNumber(text, ':'));
  INVALID_IF(text.ends_with(','), "a number is expected ({})", text);
  while (!text.empty()) {
    INVALID_IF(kernel.constant_count == CompiledKernel::kConstantsMax,
               "a kernel has too many constants (over {})", CompiledKernel::kConstantsMax);
    ASSIGN_OR_RETURN(kernel.constants[kernel.constant_count++], TakeNumber(text, ','));
  }
  return kernel;
}

}  // namespace webnnd

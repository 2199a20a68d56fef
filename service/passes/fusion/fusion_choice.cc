#include "service/passes/fusion/fusion_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace webnnd::service {
namespace {

std::string_view FusionName(const Macro& macro) {
  // It has no name of its own: a node goes by what comes before it.
  if (std::holds_alternative<Epilogue>(macro)) return "epilogue";
  return MacroName(macro);
}

// Of every macro operator that there is.
template <size_t... kIndices>
std::set<std::string, std::less<>> ListFusionNames(std::index_sequence<kIndices...>) {
  std::set<std::string, std::less<>> names;
  (names.emplace(FusionName(Macro(std::in_place_index<kIndices>))), ...);
  names.erase("");
  return names;
}

}  // namespace

std::vector<std::string> FusionChoice::Names() {
  const auto names = ListFusionNames(std::make_index_sequence<std::variant_size_v<Macro>>());
  return {names.begin(), names.end()};
}

Result<FusionChoice> FusionChoice::Parse(std::string_view names) {
  FusionChoice choice;
  if (names.empty()) return choice;
  const std::vector<std::string> known = Names();
  while (true) {
    size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    const bool is_left_out = name.starts_with('-');
    if (is_left_out) name.remove_prefix(1);
    INVALID_IF(std::find(known.begin(), known.end(), name) == known.end(),
               "the macro operator ({}) is not one of {}", name, fmt::join(known, ", "));
    (is_left_out ? choice.left_out_ : choice.names_).emplace(name);
    if (comma == std::string_view::npos) return choice;
    names.remove_prefix(comma + 1);
  }
}

bool FusionChoice::Allows(const Macro& macro) const {
  std::string_view name = FusionName(macro);
  return (names_.empty() || names_.contains(name)) && !left_out_.contains(name);
}

}  // namespace webnnd::service

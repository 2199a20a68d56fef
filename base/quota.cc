#include "base/quota.h"

#include <charconv>
#include <optional>

#include "base/checked_math.h"

namespace webnnd {
namespace {

struct Row {
  std::string_view name;
  uint64_t Quota::*value;
  // Beyond it other bounds hold, or numbers overflow.
  uint64_t max;
};

constexpr uint64_t kBytesMax = 1ull << 40;
constexpr uint64_t kObjectsMax = limits::kObjectsPerSessionMax;

constexpr Row kRows[] = {
    {"device-bytes", &Quota::device_bytes, kBytesMax},
    {"bytes-in-flight", &Quota::bytes_in_flight, kBytesMax},
    {"contexts", &Quota::contexts, kObjectsMax},
    {"tensors", &Quota::tensors, kObjectsMax},
    {"graphs", &Quota::graphs, kObjectsMax},
    {"bindings", &Quota::bindings, kObjectsMax},
    {"operators", &Quota::operators, 1ull << 30},
    {"dispatches-in-flight", &Quota::dispatches_in_flight, limits::kTasksInFlightMax},
    {"dispatch-ms", &Quota::dispatch_ms, 24ull * 3600 * 1000},
};
static_assert(sizeof(Quota) == sizeof(uint64_t) * std::size(kRows), "a quota has no name");

// "12", "12K", "12M", "12G"
std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t unit = 1;
  if (!text.empty()) {
    const size_t power = std::string_view("KMG").find(text.back());
    if (power != std::string_view::npos) {
      unit = 1ull << (10 * (power + 1));
      text.remove_suffix(1);
    }
  }
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return CheckedMul(count, unit);
}

}  // namespace

Status SetQuota(std::string_view text, Quota& quota) {
  const size_t equals = text.find('=');
  INVALID_IF(equals == std::string_view::npos, "the quota is not NAME=VALUE ({})", text);
  const std::string_view name = text.substr(0, equals);
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    const std::optional<uint64_t> value = ParseCount(text.substr(equals + 1));
    INVALID_IF(!value || *value == 0 || *value > row.max,
               "the quota's value is not a number from 1 to {} ({})", row.max, text);
    quota.*row.value = *value;
    return {};
  }
  return ValidationError("there is no such quota ({}); there are {}", name, QuotaNames());
}

std::vector<std::string> QuotaTexts(const Quota& quota) {
  std::vector<std::string> texts;
  for (const Row& row : kRows) {
    if (quota.*row.value == Quota().*row.value) continue;
    texts.push_back(fmt::format("{}={}", row.name, quota.*row.value));
  }
  return texts;
}

std::string QuotaNames() {
  std::string names;
  for (const Row& row : kRows) {
    names += names.empty() ? "" : ", ";
    names += row.name;
  }
  return names;
}

}  // namespace webnnd

#include "examples/generate/utf8.h"

namespace webnnd::generate {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// What may follow a lead byte: how many bytes, and the range of the first of them (the others are
// 80..BF). Table 3-7 of the Unicode standard.
struct Sequence {
  size_t continuation_count;
  uint8_t first_min;
  uint8_t first_max;
};

Sequence SequenceOf(uint8_t lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {1, 0x80, 0xbf};
  if (lead == 0xe0) return {2, 0xa0, 0xbf};
  if (lead == 0xed) return {2, 0x80, 0x9f};
  if (lead >= 0xe1 && lead <= 0xef) return {2, 0x80, 0xbf};
  if (lead == 0xf0) return {3, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {3, 0x80, 0xbf};
  if (lead == 0xf4) return {3, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text) {
  auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1, false};
  Sequence sequence = SequenceOf(lead);
  if (sequence.continuation_count == 0) return {};
  uint32_t value = lead & (0x3f >> sequence.continuation_count);
  for (size_t i = 1; i <= sequence.continuation_count; ++i) {
    if (i == text.size()) return {kInvalidCodePoint, i, true};
    auto byte = static_cast<uint8_t>(text[i]);
    uint8_t min = i == 1 ? sequence.first_min : 0x80;
    uint8_t max = i == 1 ? sequence.first_max : 0xbf;
    if (byte < min || byte > max) return {kInvalidCodePoint, i, false};
    value = (value << 6) | (byte & 0x3f);
  }
  return {value, sequence.continuation_count + 1, false};
}

std::string EncodeUtf8(uint32_t code_point) {
  auto byte = [](uint32_t value) { return static_cast<char>(value); };
  auto continuation = [&](uint32_t shift) { return byte(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) return {byte(code_point)};
  if (code_point < 0x800) return {byte(0xc0 | (code_point >> 6)), continuation(0)};
  if (code_point < 0x10000) {
    return {byte(0xe0 | (code_point >> 12)), continuation(6), continuation(0)};
  }
  return {byte(0xf0 | (code_point >> 18)), continuation(12), continuation(6), continuation(0)};
}

std::string Utf8Stream::Push(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    CodePoint point = DecodeUtf8(rest);
    if (point.truncated) break;
    out += point.value == kInvalidCodePoint ? kReplacement : rest.substr(0, point.length);
    rest.remove_prefix(point.length);
  }
  held_ = std::string(rest);
  return out;
}

std::string Utf8Stream::Flush() {
  std::string out(held_.empty() ? std::string_view() : kReplacement);
  held_.clear();
  return out;
}

}  // namespace webnnd::generate

#include "service/vulkan/float_controls.h"

#include <cstddef>

#include "base/check.h"

namespace webnnd::service {
namespace {

// Of the SPIR-V specification.
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpExecutionMode = 16;
constexpr uint32_t kOpCapability = 17;
constexpr uint32_t kFloatBits = 32;

struct Control {
  uint32_t capability;
  uint32_t execution_mode;
};
constexpr Control kDenormPreserve = {4464, 4459};
constexpr Control kSignedZeroInfNanPreserve = {4466, 4461};

constexpr uint32_t FirstWord(uint32_t operation, uint32_t words) { return words << 16 | operation; }

}  // namespace

std::vector<uint32_t> WithFloatControls(std::span<const uint32_t> code,
                                        const FloatControls& controls) {
  std::vector<Control> added;
  if (controls.keeps_subnormals) added.push_back(kDenormPreserve);
  if (controls.keeps_specials) added.push_back(kSignedZeroInfNanPreserve);

  CHECK(code.size() > kHeaderWords);
  std::vector<uint32_t> result(code.begin(), code.begin() + kHeaderWords);
  for (const Control& control : added) {
    result.insert(result.end(), {FirstWord(kOpCapability, 2), control.capability});
  }
  size_t words = 0;
  for (size_t at = kHeaderWords; at < code.size(); at += words) {
    words = code[at] >> 16;
    CHECK(words > 0 && words <= code.size() - at);
    result.insert(result.end(), code.begin() + at, code.begin() + at + words);
    if ((code[at] & 0xffff) != kOpEntryPoint) continue;
    const uint32_t entry_point = code[at + 2];
    for (const Control& control : added) {
      result.insert(result.end(), {FirstWord(kOpExecutionMode, 4), entry_point,
                                   control.execution_mode, kFloatBits});
    }
  }
  return result;
}

}  // namespace webnnd::service

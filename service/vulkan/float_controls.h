// FloatControls: what float32 arithmetic keeps, where a driver is told. Without being told it may
// take subnormal numbers for 0, and `x < 0 ? 0 : x` for max(x, 0), which has no NaN.
#ifndef WEBNND_SERVICE_VULKAN_FLOAT_CONTROLS_H_
#define WEBNND_SERVICE_VULKAN_FLOAT_CONTROLS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace webnnd::service {

struct FloatControls {
  bool keeps_subnormals = false;  // DenormPreserve
  bool keeps_specials = false;    // SignedZeroInfNanPreserve

  bool any() const { return keeps_subnormals || keeps_specials; }
};

// A SPIR-V module of one entry point, version 1.4 or later, with the execution modes that say so
// (SPIR-V specification, 2.4, "Logical Layout of a Module").
std::vector<uint32_t> WithFloatControls(std::span<const uint32_t> code,
                                        const FloatControls& controls);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_FLOAT_CONTROLS_H_

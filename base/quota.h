// Quota: what one client may take of the service. base/limits.h has the defaults and their reasons.
#ifndef WEBNND_BASE_QUOTA_H_
#define WEBNND_BASE_QUOTA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"

namespace webnnd {

// Over one of the quotas in flight, nothing more is read from the client until some of its work is
// done; over any other, the call alone fails (Cause::kQuota).
struct Quota {
  // Device memory of tensors, constants, intermediates, parameters and descriptors.
  uint64_t device_bytes = limits::kDeviceBytesPerSessionMax;
  // Of transfers accepted and not yet done.
  uint64_t bytes_in_flight = limits::kBytesInFlightMax;
  uint64_t contexts = limits::kContextsPerSessionMax;
  uint64_t tensors = limits::kTensorsPerSessionMax;
  uint64_t graphs = limits::kGraphsPerSessionMax;
  uint64_t bindings = limits::kBindingsPerSessionMax;
  // Of all graphs that live, and of those being described.
  uint64_t operators = limits::kOperatorsPerSessionMax;
  uint64_t dispatches_in_flight = limits::kDispatchesInFlightMax;
  // What the device may work on one dispatch; then it is stopped, and fails.
  uint64_t dispatch_ms = limits::kDispatchMsMax;

  friend bool operator==(const Quota&, const Quota&) = default;
};

// Sets what `text` says: "tensors=100", "device-bytes=1G" (K, M and G are powers of 1024).
// Validation error for another name, or a value that is 0, too large, or no number.
Status SetQuota(std::string_view text, Quota& quota);

// A text for SetQuota for each that is not the default.
std::vector<std::string> QuotaTexts(const Quota& quota);

// "device-bytes, bytes-in-flight, ..."
std::string QuotaNames();

}  // namespace webnnd

#endif  // WEBNND_BASE_QUOTA_H_

#include "service/worker/worker_options.h"

#include <charconv>
#include <climits>
#include <optional>

namespace webnnd::service {
namespace {

// Adapters of one machine, and features of one adapter: more than any has.
constexpr size_t kRepeatsMax = 64;

}  // namespace

Result<std::string> ValueOf(std::span<const std::string> arguments, size_t at) {
  INVALID_IF(at + 1 >= arguments.size(), "the option needs a value ({})", arguments[at]);
  return arguments[at + 1];
}

Result<uint32_t> ParseNumber(std::string_view option, std::string_view text, uint32_t max) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  INVALID_IF(error != std::errc() || end != text.data() + text.size() || value > max,
             "the value of {} is not a number up to {} ({})", option, max, text);
  return value;
}

Result<size_t> ParseCommonOption(std::span<const std::string> arguments, size_t at,
                                 WorkerOptions& options) {
  const std::string& name = arguments[at];
  if (name == "--no-sandbox") {
    options.no_sandbox = true;
    return 1;
  }
  if (name == "--validation") {
    options.validation = true;
    return 1;
  }
  if (name == "--sandbox-profile") {
    ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
    std::optional<SandboxProfile> profile = SandboxProfileFromName(text);
    INVALID_IF(!profile, "the sandbox profile is none of strict, mesa, nvidia, debug ({})", text);
    options.profile = *profile;
    return 2;
  }
  if (name == "--isolation") {
    ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
    INVALID_IF(text != "process" && text != "shared",
               "the isolation is neither process nor shared ({})", text);
    options.shared = text == "shared";
    return 2;
  }
  if (name == "--device") {
    ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
    ASSIGN_OR_RETURN(uint32_t device, ParseNumber(name, text, kRepeatsMax - 1));
    INVALID_IF(options.devices.size() >= kRepeatsMax, "--device is given too often ({})", text);
    options.devices.push_back(device);
    return 2;
  }
  if (name == "--disable-feature") {
    ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
    INVALID_IF(options.disabled_features.size() >= kRepeatsMax,
               "--disable-feature is given too often ({})", text);
    options.disabled_features.push_back(text);
    return 2;
  }
  if (name == "--quota") {
    ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
    TRY(SetQuota(text, options.quota));
    return 2;
  }
  return 0;
}

std::vector<std::string> ToArguments(const WorkerOptions& options) {
  std::vector<std::string> arguments = {"--id", fmt::format("{}", options.id), "--sandbox-profile",
                                        std::string(SandboxProfileName(options.profile))};
  if (options.control_fd >= 0) {
    arguments.insert(arguments.end(), {"--control-fd", fmt::format("{}", options.control_fd)});
  }
  if (options.no_sandbox) arguments.push_back("--no-sandbox");
  if (options.kernel_cache) arguments.push_back("--with-kernel-cache");
  if (options.kernel_image_fd >= 0) {
    arguments.insert(arguments.end(),
                     {"--kernel-image-fd", fmt::format("{}", options.kernel_image_fd)});
  }
  if (options.validation) arguments.push_back("--validation");
  if (options.shared) arguments.insert(arguments.end(), {"--isolation", "shared"});
  for (uint32_t device : options.devices) {
    arguments.insert(arguments.end(), {"--device", fmt::format("{}", device)});
  }
  for (const std::string& feature : options.disabled_features) {
    arguments.insert(arguments.end(), {"--disable-feature", feature});
  }
  for (const std::string& text : QuotaTexts(options.quota)) {
    arguments.insert(arguments.end(), {"--quota", text});
  }
  return arguments;
}

Result<WorkerOptions> ParseWorkerOptions(std::span<const std::string> arguments,
                                         bool with_control) {
  WorkerOptions options;
  for (size_t at = 0; at < arguments.size();) {
    ASSIGN_OR_RETURN(size_t taken, ParseCommonOption(arguments, at, options));
    if (taken == 0) {
      const std::string& name = arguments[at];
      if (name == "--with-kernel-cache") {
        options.kernel_cache = true;
        ++at;
        continue;
      }
      INVALID_IF(name != "--id" && name != "--control-fd" && name != "--kernel-image-fd",
                 "the option is unknown ({})", name);
      ASSIGN_OR_RETURN(std::string text, ValueOf(arguments, at));
      ASSIGN_OR_RETURN(uint32_t number, ParseNumber(name, text, INT_MAX));
      if (name == "--id") {
        options.id = number;
      } else if (name == "--control-fd") {
        options.control_fd = static_cast<int>(number);
      } else {
        options.kernel_image_fd = static_cast<int>(number);
      }
      taken = 2;
    }
    at += taken;
  }
  INVALID_IF(with_control && options.control_fd < 0,
             "a worker needs --control-fd; only the broker starts one");
  return options;
}

}  // namespace webnnd::service

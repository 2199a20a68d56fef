#include "tests/conformance/options.h"

#include <charconv>
#include <string_view>

namespace webnnd::conformance {

const char kUsage[] =
    "usage: webnn-conformance --cases FILE_OR_DIR... [options]\n"
    "  --op NAME           run only the cases that use this operator\n"
    "  --kernels           hold each graph to its case's expectedKernelsAtMost\n"
    "  --json FILE         write every case's result\n"
    "  --socket PATH       use the daemon at this socket, not a private one\n"
    "  --in-process        run the service in this process, without a sandbox\n"
    "  --validation        with --in-process: load validation layers, and fail on a message\n"
    "  --disable-feature NAME   do without a feature of the device, such as fp16; may be repeated\n"
    "  --no-fusion, --no-folding   turn one pass off\n"
    "  --require N         fail unless N cases pass, and where one is skipped\n";

Result<Options> ParseOptions(std::span<const char* const> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    auto value = [&]() -> Result<std::string> {
      INVALID_IF(i + 1 == arguments.size(), "the option ({}) has no value", name);
      return std::string(arguments[++i]);
    };
    if (name == "--cases") {
      while (i + 1 < arguments.size() && !std::string_view(arguments[i + 1]).starts_with("--")) {
        options.cases.push_back(arguments[++i]);
      }
    } else if (name == "--op") {
      ASSIGN_OR_RETURN(options.op, value());
    } else if (name == "--kernels") {
      options.kernels = true;
    } else if (name == "--json") {
      ASSIGN_OR_RETURN(options.json_path, value());
    } else if (name == "--socket") {
      ASSIGN_OR_RETURN(options.socket_path, value());
    } else if (name == "--in-process") {
      options.in_process = true;
    } else if (name == "--validation") {
      options.validation = true;
    } else if (name == "--disable-feature") {
      ASSIGN_OR_RETURN(std::string feature, value());
      options.disabled_features.push_back(std::move(feature));
    } else if (name == "--no-fusion") {
      options.fusion = false;
    } else if (name == "--no-folding") {
      options.constant_folding = false;
    } else if (name == "--require") {
      ASSIGN_OR_RETURN(std::string text, value());
      uint64_t count = 0;
      const char* end = text.data() + text.size();
      auto [at, error] = std::from_chars(text.data(), end, count);
      INVALID_IF(error != std::errc() || at != end, "the value ({}) is not a count", text);
      options.require = count;
    } else {
      return ValidationError("the option ({}) is unknown", name);
    }
  }
  INVALID_IF(options.cases.empty(), "no cases are given (--cases)");
  INVALID_IF(options.in_process && !options.socket_path.empty(),
             "both a socket ({}) and --in-process are given", options.socket_path);
  INVALID_IF(options.validation && !options.in_process, "--validation needs --in-process");
  INVALID_IF(
      !options.disabled_features.empty() && !options.socket_path.empty(),
      "--disable-feature ({}) is for a service that this program starts, and not for the one "
      "at a socket ({})",
      options.disabled_features.front(), options.socket_path);
  return options;
}

}  // namespace webnnd::conformance

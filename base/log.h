// Logging to standard error: LogInfo("worker ({}) is ready", pid). spdlog stays behind this door.
#ifndef WEBNND_BASE_LOG_H_
#define WEBNND_BASE_LOG_H_

#include <fmt/core.h>

#include <string_view>

namespace webnnd {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// `name` stands in every line: "webnnd", "worker 123". Level from WEBNND_LOG (debug, info, warning,
// error, off), else `fallback`.
void InitLog(std::string_view name, LogLevel fallback = LogLevel::kWarning);
bool LogEnabled(LogLevel level);
void LogLine(LogLevel level, std::string_view line);

template <class... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kDebug)) {
    LogLine(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kInfo)) {
    LogLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kWarning)) {
    LogLine(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kError)) {
    LogLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace webnnd

#endif  // WEBNND_BASE_LOG_H_

#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace webnnd {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

LogLevel LevelFromEnvironment(LogLevel fallback) {
  const char* value = std::getenv("WEBNND_LOG");
  if (value == nullptr) return fallback;
  std::string_view name = value;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return fallback;
}

// Never destroyed: a thread may log while the process exits.
spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("webnnd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(ToSpdlog(LevelFromEnvironment(LogLevel::kWarning)));
    return made;
  }();
  return *logger;
}

}  // namespace

void InitLog(std::string_view name, LogLevel fallback) {
  Logger().set_level(ToSpdlog(LevelFromEnvironment(fallback)));
  // UTC: the local time zone is a file, which a sandboxed worker cannot read.
  Logger().set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "[%H:%M:%S.%e] [" + std::string(name) + "] [%l] %v", spdlog::pattern_time_type::utc));
}

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

void LogLine(LogLevel level, std::string_view line) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace webnnd

#include "tools/benchmarks/statistics.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/check.h"

namespace webnnd::benchmarks {
namespace {

bool counts_processor_time = false;

}  // namespace

double Now() {
  if (counts_processor_time) {
    timespec time = {};
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
    const double seconds =
        static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    return seconds / std::max(1u, std::thread::hardware_concurrency());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void CountProcessorTime() { counts_processor_time = true; }

Summary Summarize(std::vector<double> samples) {
  CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  auto at = [&](double fraction) {
    return samples[static_cast<size_t>(fraction * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.05), at(0.95), samples.size()};
}

void Report::Add(std::string name, std::string unit, const std::vector<double>& samples) {
  rows_.push_back({std::move(name), std::move(unit), Summarize(samples), ""});
}

void Report::AddNote(std::string name, std::string text) {
  rows_.push_back({std::move(name), "", {}, std::move(text)});
}

void Report::Progress(const std::string& what) { std::fprintf(stderr, "... %s\n", what.c_str()); }

void Report::Print() const {
  std::printf("%-58s %12s %12s %12s  %-8s %s\n", "", "median", "5 %", "95 %", "unit", "samples");
  for (const Row& row : rows_) {
    if (row.unit.empty()) {
      std::printf("%-58s %s\n", row.name.c_str(), row.text.c_str());
    } else {
      std::printf("%-58s %12.3f %12.3f %12.3f  %-8s %zu\n", row.name.c_str(), row.summary.median,
                  row.summary.low, row.summary.high, row.unit.c_str(), row.summary.samples);
    }
  }
}

bool Report::WriteJson(const std::string& path) const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    if (row.unit.empty()) {
      rows.push_back({{"name", row.name}, {"text", row.text}});
    } else {
      rows.push_back({{"name", row.name},
                      {"unit", row.unit},
                      {"median", row.summary.median},
                      {"low", row.summary.low},
                      {"high", row.summary.high},
                      {"samples", row.summary.samples}});
    }
  }
  std::ofstream file(path);
  file << rows.dump(2) << '\n';
  return file.good();
}

}  // namespace webnnd::benchmarks

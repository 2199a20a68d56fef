// Medians, spreads and the report that they are printed in.
#ifndef WEBNND_TOOLS_BENCHMARKS_STATISTICS_H_
#define WEBNND_TOOLS_BENCHMARKS_STATISTICS_H_

#include <string>
#include <vector>

namespace webnnd::benchmarks {

struct Summary {
  double median = 0;
  double low = 0;   // 5th percentile.
  double high = 0;  // 95th percentile.
  size_t samples = 0;
};
// `samples` is not empty.
Summary Summarize(std::vector<double> samples);

// Seconds since some point in time; never goes back.
double Now();
// From now on, Now() gives the processor time of all threads of this process, in seconds that all
// cores would take for it: what work that keeps every core busy takes on a machine of its own.
void CountProcessorTime();

// Figures in the order in which they were measured, as a table for people and as JSON.
class Report {
 public:
  void Add(std::string name, std::string unit, const std::vector<double>& samples);
  void AddNote(std::string name, std::string text);
  // Says on standard error what is measured now: some measurements take minutes.
  static void Progress(const std::string& what);
  void Print() const;
  // False when the file cannot be written.
  bool WriteJson(const std::string& path) const;

 private:
  struct Row {
    std::string name;
    std::string unit;  // Empty: a note.
    Summary summary;
    std::string text;
  };
  std::vector<Row> rows_;
};

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_STATISTICS_H_

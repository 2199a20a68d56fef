// MeasuredService: what the benchmarks connect to: a daemon of their own, or this process.
#ifndef WEBNND_TOOLS_BENCHMARKS_MEASURED_SERVICE_H_
#define WEBNND_TOOLS_BENCHMARKS_MEASURED_SERVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "client/webnn.h"
#include "service/session/in_process.h"
#include "tools/benchmarks/daemon.h"

namespace webnnd::benchmarks {

// The path of a program that lies beside this one.
std::string BesideThisProgram(const char* name);

class MeasuredService {
 public:
  explicit MeasuredService(bool in_process);

  // Each connection has a worker, or a session in this process, of its own.
  webnn::Connect Connect() const;

 private:
  std::optional<Daemon> daemon_;
  std::unique_ptr<service::InProcessHost> host_;
};

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MEASURED_SERVICE_H_

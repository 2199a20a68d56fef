// One worker process, and the broker's end of the line to it.
#ifndef WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_
#define WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/broker/worker_pool.h"
#include "service/sandbox/spawn.h"
#include "service/worker/control_message.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

// What a process for such a worker finds in its environment.
std::vector<std::string> WorkerEnvironment(const WorkerOptions& options);

class WorkerProcess {
 public:
  // Starts `webnnd worker`. `kernel_image`, if valid, is an image of what the driver has compiled.
  static Result<WorkerProcess> Start(WorkerOptions options, const UniqueFd& kernel_image);

  pid_t pid() const { return process_.pid; }
  int control_descriptor() const { return control_.get(); }
  int pidfd() const { return process_.pidfd.get(); }

  enum class Received : uint8_t { kPacket, kNothing, kClosed, kFailed };
  // Takes one packet, of which as much as there is room for is written to the front of `packet`.
  Received Receive(std::span<std::byte>& packet);

  PingResult Ping(uint32_t sequence);

  // Hands the client over. Our copy of its socket is closed on success, so that the client sees
  // the end of the stream as soon as the worker dies; on failure `client` is kept.
  Status Serve(uint32_t number, UniqueFd& client);

  // Gives the worker a file to write its trace to; before any client.
  Status SendTraceFile(const UniqueFd& file);

  // Answers its fetch with the image of kernels, or with nothing.
  Status SendImage(uint32_t sequence, const UniqueFd& image);

  void Kill();

  // Reaps the process, which has ended, and says how: "exits (0)", "is killed by signal (SIGSYS)".
  std::string Reap(bool& failed);

 private:
  Status Send(const ControlMessage& message, int descriptor);

  WorkerProcess(SpawnedProcess process, UniqueFd control)
      : process_(std::move(process)), control_(std::move(control)) {}

  SpawnedProcess process_;
  UniqueFd control_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_

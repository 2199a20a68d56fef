// --in-process: the service inside this program. The one place of the example that is not the
// client; an embedder needs nothing of it.
#ifndef WEBNND_EXAMPLES_GENERATE_IN_PROCESS_H_
#define WEBNND_EXAMPLES_GENERATE_IN_PROCESS_H_

#include <memory>

#include "base/result.h"
#include "client/ml.h"

namespace webnnd::generate {

// Must outlive the ML that is connected to it.
class InProcess {
 public:
  InProcess();
  ~InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  // Opens the devices; NotSupported when there is none.
  Result<webnn::Connect> Start();

 private:
  struct Host;
  std::unique_ptr<Host> host_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_IN_PROCESS_H_

// The ways to a service, behind Connect.
#ifndef WEBNND_CLIENT_CONNECT_H_
#define WEBNND_CLIENT_CONNECT_H_

#include <memory>

#include "base/result.h"
#include "client/ml.h"
#include "ipc/channel.h"

namespace webnn {

struct Connect::State {
  virtual ~State() = default;
  // A new connection; every reconnecting calls it again. NotSupported when the service cannot be
  // reached.
  virtual webnnd::Result<std::unique_ptr<webnnd::ipc::Channel>> Open() = 0;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_CONNECT_H_

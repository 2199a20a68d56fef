// Channel: an ordered stream of bytes with descriptors, non-blocking. A Unix stream socket, or a
// pipe in memory with the same behaviour.
#ifndef WEBNND_IPC_CHANNEL_H_
#define WEBNND_IPC_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::ipc {

enum class ChannelState : uint8_t {
  kOpen,
  kClosed,  // The other side is gone, or the descriptor broke. Nothing more comes or goes.
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Poll for POLLIN: bytes or the end have come. For POLLOUT: Send can take more. Level-triggered.
  virtual int read_descriptor() const = 0;
  virtual int write_descriptor() const = 0;

  struct Received {
    size_t bytes = 0;  // 0 with kOpen: nothing there now.
    ChannelState state = ChannelState::kOpen;
  };
  // Reads what is there into `buffer`, appending descriptors that came with it (close-on-exec).
  // BadMessage when control data was truncated or is of another kind.
  virtual Result<Received, BadMessage> Receive(std::span<std::byte> buffer,
                                               std::deque<UniqueFd>& descriptors) = 0;

  struct Sent {
    size_t bytes = 0;  // 0 with kOpen: full; wait for POLLOUT.
    ChannelState state = ChannelState::kOpen;
  };
  // Sends from the front of `bytes`; `descriptors` travel with its first byte, and have travelled
  // when Sent.bytes > 0.
  virtual Sent Send(std::span<const std::byte> bytes, std::span<const int> descriptors) = 0;

  // Ends both directions; the other side reads to the end of what was sent, then kClosed.
  virtual void Close() = 0;
};

// Takes a connected SOCK_STREAM Unix socket; sets it non-blocking.
Result<std::unique_ptr<Channel>> MakeSocketChannel(UniqueFd socket);
// Two ends of a pipe in memory, of bounded size (about a socket's buffer).
Result<std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>> MakeMemoryChannelPair();

// What Connect::InProcess takes: a service that serves channels in this process.
class InProcessService {
 public:
  virtual ~InProcessService() = default;
  // The client's end of a new connection.
  virtual Result<std::unique_ptr<Channel>> Connect() = 0;
};

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_CHANNEL_H_

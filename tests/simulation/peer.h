// Peer: a client of the simulation, message by message, which never waits.
#ifndef WEBNND_TESTS_SIMULATION_PEER_H_
#define WEBNND_TESTS_SIMULATION_PEER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"

namespace webnnd::service {

// Makes a context, two inputs and an output, a graph and a binding, then writes, dispatches and
// reads, several rounds at a time, and holds every answer to what the null device must have
// computed.
class Peer {
 public:
  Peer(std::unique_ptr<ipc::Channel> channel, uint64_t seed, int rounds);

  // Takes what has come, unless it is slow to read at the moment, and says what it wants next.
  void Turn(bool reads);
  // Takes all that has come; says nothing more.
  void Drain();
  // The same to the end of the stream, of which the messages count for nothing: a process that is
  // killed does not send what a session sends as it is taken apart.
  void DrainToEnd();
  // A message that no honest client sends.
  void Misbehave();
  // Half a frame, and nothing after it.
  void StopInTheMiddle();
  // Asks for more than it may have, and wants to be told so.
  void AskTooMuch();
  void Close() { channel_->Close(); }

  bool done() const { return rounds_ == 0 && reads_.empty() && awaited_.empty(); }
  // The other side has closed.
  bool ended() const { return ended_; }
  int rounds_left() const { return rounds_ + static_cast<int>(reads_.size()); }
  size_t answers() const { return answers_; }
  const std::optional<std::string>& goodbye() const { return goodbye_; }
  // What was not right.
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  static constexpr uint32_t kElements = 4;
  using Bytes = std::vector<std::byte>;

  void Begin();
  void Round();
  void Receive();
  void OnMessage(ipc::ServiceMessage message);
  void Answered(ipc::Handle handle, bool has_error, const std::string& text);
  void Write(ipc::Handle tensor, Bytes& mirror);
  void Send(ipc::ClientMessage message);
  void Fail(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }
  uint32_t Draw(uint32_t bound);

  std::unique_ptr<ipc::Channel> channel_;
  ipc::FrameReader reader_;
  ipc::FrameWriter writer_;
  uint64_t state_;
  int rounds_;
  bool begun_ = false;
  bool ended_ = false;
  bool deaf_ = false;
  size_t answers_ = 0;
  // Creations without an answer, and whether an error is what is wanted.
  std::map<uint32_t, bool> awaited_;
  // Reads without an answer, and what they must answer.
  std::map<uint64_t, Bytes> reads_;
  uint64_t last_request_ = 0;
  uint32_t next_index_ = 20;
  // What the tensors hold once all that was sent is done.
  Bytes a_, b_, sum_;
  std::optional<std::string> goodbye_;
  std::optional<std::string> wrong_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_PEER_H_

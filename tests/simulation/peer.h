// Peer: a client of the simulation, message by message, which never waits.
#ifndef WEBNND_TESTS_SIMULATION_PEER_H_
#define WEBNND_TESTS_SIMULATION_PEER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quota.h"
#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"
#include "service/session/outbox.h"
#include "tests/simulation/mirror.h"

namespace webnnd::service {

// Makes what it needs for sums of tensors, then writes, dispatches and reads, several rounds at a
// time; in between it makes and destroys other objects, over its quotas too, and uses those that
// were refused. Every answer is held to the mirror. At the end it destroys all it has.
class Peer {
 public:
  // `quota`: what its session has. It must allow one context, graph, binding and operator, and
  // three tensors.
  Peer(std::unique_ptr<ipc::Channel> channel, uint64_t seed, int rounds, const Quota& quota);

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
  void Close() { channel_->Close(); }

  // Asks for so much work at once that some quota in flight may be reached. Returns what a session
  // must take of it before any is done, if it had nothing to do. FinishFlood follows.
  Load Flood();
  void FinishFlood();

  bool done() const { return rounds_ == 0 && gone_through_ && !waits(); }
  // The other side has closed.
  bool ended() const { return ended_; }
  bool waits() const { return !awaited_.empty() || !reads_.empty(); }
  // What for.
  std::string WaitsFor() const;
  // All that it has asked for so far has been answered.
  bool quiet() const { return begun_ && !ended_ && !waits() && writer_.pending_bytes() == 0; }
  int rounds_left() const { return rounds_ + (waits() ? 1 : 0); }
  size_t answers() const { return answers_; }
  const Mirror& mirror() const { return mirror_; }
  const std::optional<std::string>& goodbye() const { return goodbye_; }
  // What was not right.
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  using Handle = ipc::Handle;
  using Bytes = Mirror::Bytes;
  struct Awaited {
    const char* what;
    Mirror::Causes causes;
    uint32_t kernels = 0;
  };

  // --- What it does.
  void Begin();
  void Round();
  void Work();
  // Makes or destroys something.
  void Change();
  void Grow(uint32_t choice);
  void Shrink(uint32_t choice);
  void DestroyAll();

  // --- Messages, each told to the mirror as well.
  Handle MakeContext();
  Handle MakeTensor(Handle context, uint32_t elements);
  Handle MakeBuilder(Handle context);
  void AddChain(Handle builder, uint32_t count);
  Handle MakeGraph(Handle builder);
  Handle MakeBinding(Handle graph, std::vector<Handle> inputs, Handle output);
  void Destroy(ipc::ObjectType type, Handle handle);
  void Write(Handle tensor);
  void Read(Handle tensor);
  void Dispatch(Handle graph, const std::vector<Handle>& inputs, Handle output);
  void DispatchBinding(Handle binding);
  void AskTooMuch();

  // Tensors for a graph; nothing where there are too few. For a binding the output may be an input.
  struct Endpoints {
    std::vector<Handle> inputs;
    Handle output;
  };
  std::optional<Endpoints> DrawEndpoints(Handle graph, bool for_binding);

  void Receive();
  void OnMessage(ipc::ServiceMessage message);
  void OnRead(const ipc::TensorRead& read);
  // `error`: nullptr where there is none.
  void Answered(Handle handle, const Error* error, uint32_t kernels = 0);
  void Send(ipc::ClientMessage message);
  Handle NewHandle();
  void Fail(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }
  uint32_t Draw(uint32_t bound);
  bool OneIn(uint32_t n) { return Draw(n) == 0; }
  // One of the table; it must not be empty.
  template <class T>
  Handle DrawFrom(const Mirror::Table<T>& table);
  // Now and then one that is gone.
  Handle DrawContext();

  std::unique_ptr<ipc::Channel> channel_;
  ipc::FrameReader reader_;
  ipc::FrameWriter writer_;
  Mirror mirror_;
  uint64_t state_;
  int rounds_;
  const uint32_t elements_;  // Of all tensors.
  bool begun_ = false;
  bool ended_ = false;
  bool deaf_ = false;
  bool rests_ = false;         // It says nothing until all is answered.
  bool gone_through_ = false;  // It has destroyed all it had.
  size_t answers_ = 0;
  // Handles are used again.
  uint32_t last_index_ = 0;
  std::vector<Handle> free_;
  // Those that it keeps, so that there is always something to do.
  Handle context_, a_, b_, sum_, graph_, binding_;
  std::optional<Handle> destroyed_context_, destroyed_tensor_;
  std::map<uint32_t, uint32_t> chains_;  // The operators of a builder, by its index.
  // Without an answer.
  std::map<uint64_t, Awaited> awaited_;
  std::map<uint64_t, Mirror::Content> reads_;
  uint64_t last_request_ = 0;
  std::optional<std::string> goodbye_;
  std::optional<std::string> wrong_;
};

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_PEER_H_

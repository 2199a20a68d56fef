#include "tests/simulation/served_session.h"

#include <utility>

#include "base/limits.h"

namespace webnnd::service {
namespace {

// A client takes so many turns at least before it is said to get no further. One that is slow to
// read does so in one of eight.
constexpr int kStillTurnsMax = 200;
// Turns of a session after which it has taken all that it may: a pipe's worth is four.
constexpr int kTurnsToTakeAll = 16;
// And after which it has done all that there was, however few dispatches it takes at a time.
constexpr int kTurnsToDoAll = 1000;

}  // namespace

ServedSession::ServedSession(std::unique_ptr<ipc::Channel> channel, const Quota& quota,
                             NullFlaw flaw, Fail fail)
    : quota_(quota), fail_(std::move(fail)), device_(std::move(Device::Open(0, {})).value()) {
  SetFlaw(*device_, flaw);
  session_ =
      std::move(Session::Create(std::move(channel),
                                {.devices = {device_}, .quota = quota, .has_threads = false}))
          .value();
}

bool ServedSession::Step(int turns) {
  for (; turns > 0; --turns) {
    if (!session_->Step({}, /*timeout_ms=*/0)) return false;
  }
  return true;
}

void ServedSession::RunDevice(size_t count) { work_done_ += RunQueued(*device_, count); }

void ServedSession::CheckBounds() const {
  const Load load = session_->in_flight();
  // The last transfer may be the one that goes beyond; a build counts twice.
  if (load.dispatches > quota_.dispatches_in_flight ||
      load.bytes >= quota_.bytes_in_flight + limits::kInlinePayloadBytesMax ||
      load.tasks > 2 * limits::kTasksInFlightMax) {
    fail_(fmt::format("has too much in flight: {} tasks, {} dispatches, {} bytes", load.tasks,
                      load.dispatches, load.bytes));
  }
}

bool ServedSession::MovesOn(const Peer& peer) {
  const uint64_t moved = peer.answers() + work_done_;
  const bool moves = std::exchange(moved_, moved) != moved;
  if (moves || !peer.waits()) {
    still_turns_ = 0;
  } else if (++still_turns_ > kStillTurnsMax) {
    fail_(
        fmt::format("gets no further: it waits for {}, and for {} turns there is neither an "
                    "answer nor work done",
                    peer.WaitsFor(), still_turns_));
  }
  return moves;
}

bool ServedSession::CheckQuiet(const Peer& peer) {
  // What needs no answer may be on its way.
  int quiet_turns = 0;
  for (int turns = 0; turns < kTurnsToDoAll && quiet_turns < 3; ++turns) {
    if (!Step(1)) return false;
    const uint64_t done_before = work_done_;
    RunDevice(SIZE_MAX);
    const bool quiet = work_done_ == done_before && session_->in_flight() == Load();
    quiet_turns = quiet ? quiet_turns + 1 : 0;
  }
  const Load load = session_->in_flight();
  if (load != Load()) {
    fail_(fmt::format("has all its answers, and {} tasks, {} dispatches and {} bytes are in flight",
                      load.tasks, load.dispatches, load.bytes));
  }
  const ClientFigures figures = session_->Figures();
  const Mirror& mirror = peer.mirror();
  auto check = [&](const char* what, uint64_t is, uint64_t should_be) {
    if (is != should_be) fail_(fmt::format("has {} {}, not {}", is, what, should_be));
  };
  check("contexts", figures.contexts, mirror.contexts().size());
  check("tensors", figures.tensors, mirror.tensors().size());
  check("graphs", figures.graphs, mirror.graphs().size());
  check("bindings", figures.bindings, mirror.bindings().size());
  check("dispatches", figures.dispatches, mirror.dispatches());
  check("dispatches in flight", figures.dispatches_in_flight, 0);
  if (peer.done()) check("bytes of device memory", figures.device_bytes, 0);
  return true;
}

bool ServedSession::Flood(Peer& peer, Tally& tally) {
  const Load wanted = peer.Flood();
  if (!Step(kTurnsToTakeAll)) return false;
  const Load load = session_->in_flight();
  if (load != wanted) {
    fail_(fmt::format(
        "floods, and {} tasks, {} dispatches and {} bytes are in flight, not {}, {} "
        "and {}",
        load.tasks, load.dispatches, load.bytes, wanted.tasks, wanted.dispatches, wanted.bytes));
  }
  tally.tasks += load.tasks >= limits::kTasksInFlightMax ? 1 : 0;
  tally.dispatches += load.dispatches >= quota_.dispatches_in_flight ? 1 : 0;
  tally.bytes += load.bytes >= quota_.bytes_in_flight ? 1 : 0;
  peer.FinishFlood();
  return true;
}

uint64_t ServedSession::End() {
  session_ = nullptr;
  return device_->bytes_in_use();
}

}  // namespace webnnd::service

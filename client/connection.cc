#include "client/connection.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <variant>

#include "base/fault.h"
#include "ipc/codec.h"

namespace webnn {
namespace {

using webnnd::BadMessage;
using webnnd::Cause;
using webnnd::ErrnoError;
using webnnd::Error;
using webnnd::Result;
using webnnd::UniqueFd;
using webnnd::fault::Fails;
using webnnd::fault::Kind;
namespace ipc = webnnd::ipc;
namespace limits = webnnd::limits;

// How long the service may take to say why it stopped reading, before the connection is given up.
constexpr int kFarewellMs = 1000;

Result<void> WriteFile(int fd, std::span<const std::byte> data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t written = SYS_CALL(
        Kind::kFile, pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(done)));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return webnnd::OutOfMemoryError("shared memory cannot be written ({})", strerror(errno));
    }
    done += static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Start(std::unique_ptr<ipc::Channel> channel,
                                                      Events events, const Options& options) {
  std::unique_ptr<Connection> connection(
      new Connection(std::move(channel), std::move(events), options));
  if (!connection->wake_) return ErrnoError("eventfd");
  if (!connection->readable_) return ErrnoError("epoll_create1");
  epoll_event readable{.events = EPOLLIN, .data = {}};
  if (SYS_CALL(Kind::kDescriptor, epoll_ctl(connection->readable_.get(), EPOLL_CTL_ADD,
                                            connection->channel_->read_descriptor(), &readable)) !=
      0) {
    return ErrnoError("epoll_ctl");
  }
  ASSIGN_OR_RETURN(UniqueFd up, ipc::CreateSealedMemfd("webnn-up", options.up_arena_bytes));
  ASSIGN_OR_RETURN(UniqueFd down, ipc::CreateSealedMemfd("webnn-down", options.down_arena_bytes));
  ASSIGN_OR_RETURN(connection->up_,
                   ipc::SharedMapping::Map(up.get(), options.up_arena_bytes,
                                           ipc::SharedMapping::Access::kReadWrite));
  ASSIGN_OR_RETURN(connection->down_, ipc::SharedMapping::Map(down.get(), options.down_arena_bytes,
                                                              ipc::SharedMapping::Access::kRead));
  connection->Send(ipc::Hello{.schema_hash = ipc::CurrentSchemaHash(),
                              .up_arena = std::move(up),
                              .up_bytes = options.up_arena_bytes,
                              .down_arena = std::move(down),
                              .down_bytes = options.down_arena_bytes});
  TRY(connection->StartThread());
  return connection;
}

Connection::Connection(std::unique_ptr<ipc::Channel> channel, Events events, const Options& options)
    : options_(options),
      events_(std::move(events)),
      channel_(std::move(channel)),
      reader_(*channel_),
      writer_(*channel_),
      wake_(SYS_CALL(Kind::kDescriptor, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      readable_(SYS_CALL(Kind::kDescriptor, epoll_create1(EPOLL_CLOEXEC))),
      up_ranges_(options.up_arena_bytes),
      down_ranges_(options.down_arena_bytes) {}

Connection::~Connection() {
  if (thread_started_) {
    closing_.store(true, std::memory_order_release);
    Wake();
    pthread_join(thread_, nullptr);
  }
  channel_->Close();
}

Result<void> Connection::StartThread() {
  // The embedder's signal handlers must not run on a thread that it does not know.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &ThreadMain, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return webnnd::OutOfMemoryError("a thread cannot start ({})", strerror(error));
  thread_started_ = true;
  pthread_setname_np(thread_, "webnn-io");
  return {};
}

void* Connection::ThreadMain(void* self) {
  static_cast<Connection*>(self)->Run();
  return nullptr;
}

// --- The ML's thread ----------------------------------------------------------------------------

Result<void> Connection::CheckRoom() {
  const uint64_t queued = writer_.pending_bytes() + UnsentFileBytes();
  if (queued >= options_.queue_bytes_max) {
    return webnnd::QuotaError("the service does not keep up: too many bytes are queued ({} of {})",
                              queued, options_.queue_bytes_max);
  }
  return {};
}

uint64_t Connection::UnsentFileBytes() {
  const uint64_t sent = writer_.sent_bytes();
  while (!queued_files_.empty() && queued_files_.front().stream_end <= sent) {
    queued_file_bytes_ -= queued_files_.front().bytes;
    queued_files_.pop_front();
  }
  return queued_file_bytes_;
}

void Connection::Queue(ipc::ClientMessage message) {
  if (ended()) return;
  ipc::Frame frame = ipc::Encode(std::move(message));
  CHECK(frame.bytes.size() <= limits::kFrameBytesMax);
  stream_bytes_ += frame.bytes.size();
  if (const uint64_t file_bytes = std::exchange(staged_file_bytes_, 0); file_bytes > 0) {
    queued_files_.push_back({stream_bytes_, file_bytes});
    queued_file_bytes_ += file_bytes;
  }
  writer_.Queue(std::move(frame));
}

void Connection::Flush() {
  if (ended()) return;
  // The I/O thread waits until the socket takes the rest; or finds out that it never will.
  if (writer_.Flush() || writer_.closed()) Wake();
}

void Connection::Send(ipc::ClientMessage message) {
  Queue(std::move(message));
  Flush();
}

Result<ipc::Payload> Connection::Stage(std::span<const std::byte> data) {
  if (data.size() <= limits::kInlinePayloadBytesMax) {
    return ipc::Payload(ipc::InlinePayload{{data.begin(), data.end()}});
  }
  std::optional<uint64_t> offset;
  uint64_t sequence = 0;
  {
    std::lock_guard lock(up_mutex_);
    if (!Fails(Kind::kPool)) offset = up_ranges_.Allocate(data.size());
    if (offset) {
      sequence = ++up_sequence_;
      up_staged_.push_back({sequence, *offset});
    }
  }
  // A full arena must not make the caller wait: the payload brings memory of its own then.
  if (!offset) return StageInFile(data);
  std::memcpy(up_.data() + *offset, data.data(), data.size());
  return ipc::Payload(ipc::ArenaPayload{*offset, data.size(), sequence});
}

void Connection::DiscardPagesOnceIdle() {
  std::lock_guard lock(up_mutex_);
  up_discards_ = true;
  DiscardIfDue();
}

void Connection::DiscardIfDue() {
  if (!up_discards_ || up_ranges_.bytes_in_use() != 0) return;
  up_.DiscardPages();
  up_discards_ = false;
}

Result<ipc::Payload> Connection::StageInFile(std::span<const std::byte> data) {
  auto file = ipc::CreateSealedMemfd("webnn-payload", data.size());
  if (!file.ok()) return Error(Cause::kOutOfMemory, file.error().message());
  TRY(WriteFile(file->get(), data));
  staged_file_bytes_ = data.size();
  return ipc::Payload(ipc::FilePayload{std::move(*file), 0, data.size()});
}

Result<Connection::Read> Connection::ReserveRead(uint64_t length) {
  Read read;
  read.target.length = length;
  if (length <= limits::kInlinePayloadBytesMax) {
    read.destination = ipc::InlineDestination{};
    return read;
  }
  std::optional<uint64_t> offset;
  if (!Fails(Kind::kPool)) offset = down_ranges_.Allocate(length);
  if (offset) {
    read.target.arena_offset = *offset;
    read.destination = ipc::ArenaDestination{*offset, length};
    return read;
  }
  auto file = ipc::CreateSealedMemfd("webnn-read", length);
  if (!file.ok()) return Error(Cause::kOutOfMemory, file.error().message());
  auto mapping = ipc::SharedMapping::Map(file->get(), length, ipc::SharedMapping::Access::kRead);
  if (!mapping.ok()) return Error(Cause::kOutOfMemory, mapping.error().message());
  read.target.file = std::move(*mapping);
  read.destination = ipc::FileDestination{std::move(*file), length};
  return read;
}

Result<std::span<const std::byte>, BadMessage> Connection::ReadBytes(
    const ReadTarget& target, const ipc::TensorRead& answer) const {
  const bool is_inline = !target.arena_offset && target.file.data() == nullptr;
  if (answer.length != target.length || answer.bytes.size() != (is_inline ? target.length : 0)) {
    return webnnd::MakeBadMessage("a read of {} bytes is answered with {} bytes", target.length,
                                  is_inline ? answer.bytes.size() : answer.length);
  }
  if (is_inline) return std::span<const std::byte>(answer.bytes);
  if (target.arena_offset) {
    return std::span<const std::byte>(down_.data() + *target.arena_offset, target.length);
  }
  return std::span<const std::byte>(target.file.data(), target.length);
}

void Connection::ReleaseRead(ReadTarget target) {
  if (target.arena_offset) down_ranges_.Free(*target.arena_offset);
}

void Connection::ReadUntil(int descriptor) {
  std::lock_guard reading(read_mutex_);  // The I/O thread holds it while it handles bytes.
  const bool reads = !read_ended_ && unhandled_bytes_.load() <= options_.completion_bytes_max;
  if (reads) WatchReads(false);
  std::array<pollfd, 2> entries = {{
      {.fd = descriptor, .events = POLLIN, .revents = 0},
      {.fd = reads ? channel_->read_descriptor() : -1, .events = POLLIN, .revents = 0},
  }};
  while (true) {
    if (poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[0].revents != 0) break;
    if (entries[1].revents != 0) HandleReadable();
    if (read_ended_) entries[1].fd = -1;
  }
  if (reads) WatchReads(true);
}

void Connection::WatchReads(bool watch) {
  epoll_event readable{.events = watch ? uint32_t{EPOLLIN} : 0, .data = {}};
  [[maybe_unused]] const int changed =
      epoll_ctl(readable_.get(), EPOLL_CTL_MOD, channel_->read_descriptor(), &readable);
}

void Connection::Handled(size_t bytes) {
  const uint64_t before = unhandled_bytes_.fetch_sub(bytes);
  if (before > options_.completion_bytes_max && before - bytes <= options_.completion_bytes_max) {
    Wake();
  }
}

void Connection::End(const std::string& reason) {
  {
    std::lock_guard lock(end_mutex_);
    if (!end_request_) end_request_ = reason;
  }
  Wake();
}

std::string Connection::end_reason() {
  std::lock_guard lock(end_mutex_);
  return end_reason_;
}

void Connection::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

// --- The I/O thread -----------------------------------------------------------------------------

void Connection::Run() {
  std::string reason;
  while (true) {
    // Paused while the embedder does not call ProcessEvents: the service's replies wait in the
    // socket then, and memory stays bounded.
    const bool paused = unhandled_bytes_.load() > options_.completion_bytes_max;
    const bool stopped = writer_.closed();
    const bool sending = !stopped && writer_.pending_bytes() > 0;
    std::array<pollfd, 3> entries = {{
        {.fd = wake_.get(), .events = POLLIN, .revents = 0},
        {.fd = paused ? -1 : readable_.get(), .events = POLLIN, .revents = 0},
        {.fd = sending ? channel_->write_descriptor() : -1, .events = POLLOUT, .revents = 0},
    }};
    const int ready = poll(entries.data(), entries.size(), stopped ? kFarewellMs : -1);
    if (ready < 0 && errno != EINTR) {
      reason = "the connection cannot be polled";
      break;
    }
    if (ready == 0 && stopped) {
      reason = "the service stopped reading";
      break;
    }
    if (entries[0].revents != 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof count);
      if (closing_.load(std::memory_order_acquire)) return;
      std::lock_guard lock(end_mutex_);
      if (end_request_) {
        reason = *end_request_;
        break;
      }
    }
    if (entries[2].revents != 0) writer_.Flush();
    if (entries[1].revents == 0) continue;
    // Where it is taken, the ML's thread reads.
    if (std::unique_lock reading(read_mutex_, std::try_to_lock); reading) HandleReadable();
  }
  channel_->Close();
  {
    std::lock_guard lock(end_mutex_);
    // Who asked first knows why.
    if (end_request_) reason = *end_request_;
    end_reason_ = reason;
  }
  // Before the event, so that whoever hears of it finds the connection ended.
  ended_.store(true, std::memory_order_release);
  events_.on_end(reason);
}

void Connection::HandleReadable() {
  std::string reason;
  if (read_ended_ || ReadOnce(&reason)) return;
  read_ended_ = true;
  End(reason);
}

bool Connection::ReadOnce(std::string* reason) {
  const auto state = reader_.Fill();
  if (!state.ok()) {
    *reason = fmt::format("the service broke the protocol: {}", state.error().message);
    return false;
  }
  while (true) {
    auto frame = reader_.Next();
    if (!frame.ok()) {
      *reason = fmt::format("the service broke the protocol: {}", frame.error().message);
      return false;
    }
    if (!frame->has_value()) break;
    if (!HandleFrame(**frame, reason)) return false;
  }
  if (*state == ipc::ChannelState::kOpen) return true;
  *reason = reader_.HasPartialFrame()
                ? "the service closed the connection in the middle of a message"
                : "the service closed the connection";
  return false;
}

bool Connection::HandleFrame(std::span<const std::byte> frame, std::string* reason) {
  bytes_received_.fetch_add(frame.size(), std::memory_order_relaxed);
  auto message = ipc::DecodeServiceMessage(frame, reader_.descriptors());
  reader_.descriptors().clear();  // No reply brings any.
  if (!message.ok()) {
    *reason = fmt::format("the service broke the protocol: {}", message.error().message);
    return false;
  }
  if (auto* goodbye = std::get_if<ipc::Goodbye>(&*message)) {
    *reason = std::move(goodbye->message);
    return false;
  }
  if (const auto* acknowledge = std::get_if<ipc::Acknowledge>(&*message)) {
    if (HandleAcknowledge(acknowledge->sequence)) return true;
    *reason = fmt::format("the service broke the protocol: it acknowledges what was not sent ({})",
                          acknowledge->sequence);
    return false;
  }
  const size_t cost = frame.size() + sizeof(ipc::ServiceMessage);
  unhandled_bytes_.fetch_add(cost);
  events_.on_message(std::move(*message), cost);
  return true;
}

bool Connection::HandleAcknowledge(uint64_t sequence) {
  std::lock_guard lock(up_mutex_);
  if (sequence > up_sequence_) return false;
  while (!up_staged_.empty() && up_staged_.front().sequence <= sequence) {
    up_ranges_.Free(up_staged_.front().offset);
    up_staged_.pop_front();
  }
  DiscardIfDue();
  return true;
}

}  // namespace webnn

#include "service/session/payload.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/fault.h"
#include "base/limits.h"

namespace webnnd::service {

Result<PayloadSource, BadMessage> PayloadSource::Open(std::shared_ptr<const Arenas> arenas,
                                                      ipc::Payload payload) {
  PayloadSource source;
  if (auto* in_message = std::get_if<ipc::InlinePayload>(&payload)) {
    source.bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(in_message->bytes));
    source.range_ = *source.bytes_;
    return source;
  }
  if (auto* in_arena = std::get_if<ipc::ArenaPayload>(&payload)) {
    ASSIGN_OR_RETURN(source.range_, arenas->up.Range(in_arena->offset, in_arena->length));
    source.sequence_ = in_arena->sequence;
    source.arenas_ = std::move(arenas);
    return source;
  }
  source.file_ = std::get<ipc::FilePayload>(std::move(payload));
  const int file = source.file_.file.get();
  const auto end = CheckedAdd(source.file_.offset, source.file_.length);
  if (!end || !std::in_range<off_t>(*end)) {
    return MakeBadMessage("the file's range (offset {}, length {}) overflows", source.file_.offset,
                          source.file_.length);
  }
  TRY(ipc::CheckFileRange(file, 0, 0));
  auto in_range = ipc::CheckFileRange(file, source.file_.offset, source.file_.length);
  // A regular file can be cut after an honest client has looked: reading it fails then. A sealed
  // one cannot.
  if (!in_range.ok() && ipc::CheckSealedMemfd(file, 0).ok()) return std::move(in_range).error();
  return source;
}

uint64_t PayloadSource::length() const { return file_.file.valid() ? file_.length : range_.size(); }

uint64_t PayloadSource::sequence() const { return sequence_; }

Status PayloadSource::Read(uint64_t offset, std::span<std::byte> out) const {
  CHECK(offset <= length() && out.size() <= length() - offset);
  if (!file_.file.valid()) {
    if (!out.empty()) std::memcpy(out.data(), range_.data() + offset, out.size());
    return {};
  }
  size_t done = 0;
  while (done < out.size()) {
    ssize_t got =
        SYS_CALL(fault::Kind::kFile, pread(file_.file.get(), out.data() + done, out.size() - done,
                                           static_cast<off_t>(file_.offset + offset + done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("pread");
    // It was long enough when checked; a regular file can be cut since.
    if (got == 0) return ValidationError("the file ends before its range does ({})", file_.length);
    done += static_cast<size_t>(got);
  }
  return {};
}

Status PayloadSource::TakeIn() {
  if (bytes_ != nullptr) return {};
  std::vector<std::byte> bytes(length());
  TRY(Read(0, bytes));
  bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  range_ = *bytes_;
  arenas_ = nullptr;
  file_ = {};
  return {};
}

Result<ReadTarget, BadMessage> ReadTarget::Open(std::shared_ptr<const Arenas> arenas,
                                                ipc::Destination destination) {
  ReadTarget target;
  if (std::holds_alternative<ipc::InlineDestination>(destination)) {
    target.inline_ = true;
    return target;
  }
  if (auto* in_arena = std::get_if<ipc::ArenaDestination>(&destination)) {
    ASSIGN_OR_RETURN(target.range_, arenas->down.Range(in_arena->offset, in_arena->length));
    target.arenas_ = std::move(arenas);
    return target;
  }
  target.file_ = std::get<ipc::FileDestination>(std::move(destination));
  TRY(ipc::CheckSealedMemfd(target.file_.file.get(), target.file_.length));
  return target;
}

uint64_t ReadTarget::capacity() const {
  if (inline_) return limits::kInlinePayloadBytesMax;
  return file_.file.valid() ? file_.length : range_.size();
}

Status ReadTarget::Store(std::span<const std::byte> bytes, std::vector<std::byte>& reply) const {
  CHECK(bytes.size() <= capacity());
  if (inline_) {
    reply.assign(bytes.begin(), bytes.end());
    return {};
  }
  if (!file_.file.valid()) {
    if (!bytes.empty()) std::memcpy(range_.data(), bytes.data(), bytes.size());
    return {};
  }
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put =
        SYS_CALL(fault::Kind::kFile, pwrite(file_.file.get(), bytes.data() + done,
                                            bytes.size() - done, static_cast<off_t>(done)));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return ErrnoError("pwrite");
    done += static_cast<size_t>(put);
  }
  return {};
}

}  // namespace webnnd::service

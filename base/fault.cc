#include "base/fault.h"

namespace webnnd::fault {
namespace {

std::atomic<uint64_t> calls{0};
std::atomic<uint64_t> first_failing{0};
std::atomic<bool> fails_forever{false};
std::atomic<uint32_t> counted_kinds{0};
std::atomic<int> wanted_answer{0};

}  // namespace

namespace internal {

std::atomic<bool> armed{false};

bool Take(Kind kind) {
  if ((counted_kinds.load() & Only(kind)) == 0) return false;
  uint64_t call = calls.fetch_add(1) + 1;
  uint64_t nth = first_failing.load();
  return nth != 0 && (fails_forever.load() ? call >= nth : call == nth);
}

}  // namespace internal

void Inject(const Fault& fault) {
  Clear();
  calls = 0;
  first_failing = fault.nth;
  fails_forever = fault.forever;
  counted_kinds = fault.kinds;
  wanted_answer = fault.answer;
  internal::armed = true;
}

void Clear() { internal::armed = false; }

uint64_t CallCount() { return calls.load(); }

int Answer(Kind kind) {
  if (int answer = wanted_answer.load(); answer != 0) return answer;
  switch (kind) {
    case Kind::kVulkan:
    case Kind::kPool:
    case Kind::kMemory:
      return ENOMEM;
    case Kind::kDescriptor:
      return EMFILE;
    case Kind::kFile:
      return EIO;
    case Kind::kSend:
    case Kind::kReceive:
      return ECONNRESET;
    case Kind::kProcess:
      return EAGAIN;
    case Kind::kWatch:
      return ENOSPC;
    case Kind::kWait:
      return EBADF;
  }
  return EIO;
}

}  // namespace webnnd::fault

// Fault injection: makes the n-th call that can fail do so, so that tests walk every error path.
// The macro that checks a call is where it is injected: SYS_CALL below, VK_TRY of service/vulkan.
#ifndef WEBNND_BASE_FAULT_H_
#define WEBNND_BASE_FAULT_H_

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace webnnd::fault {

// What can fail.
enum class Kind : uint8_t {
  kVulkan,
  kMemory,      // mmap, memfd_create and what makes one whole
  kDescriptor,  // eventfd, dup, socket, accept, open
  kFile,        // pread, pwrite, write to a file
  kSend,        // send, sendmsg, or the channel in memory
  kReceive,
  kPool,     // what is handed out of memory that is there already: buffers in blocks, quota
  kProcess,  // clone, and what signals or reaps by a pidfd
  kWatch,    // epoll_ctl that adds
  kWait,     // epoll_wait
};
inline constexpr int kKindCount = 10;

constexpr uint32_t Only(Kind kind) { return 1u << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kAllKinds = (1u << kKindCount) - 1;

struct Fault {
  // The call that fails, from 1; 0 counts only.
  uint64_t nth = 0;
  bool forever = false;        // And all later ones.
  uint32_t kinds = kAllKinds;  // The others are not counted either.
  // What it answers: an errno, or for kVulkan a VkResult; 0: what such calls fail with for want of
  // memory, of descriptors, or of the other side.
  int answer = 0;
};

// From now on calls of this process, of every thread, are counted; those that fail are not made.
void Inject(const Fault& fault);
// Ends counting and failing.
void Clear();
// Calls counted since Inject.
uint64_t CallCount();

namespace internal {
extern std::atomic<bool> armed;
bool Take(Kind kind);
}  // namespace internal

// Counts a call, and says whether it is to fail. One relaxed load where nothing is injected.
inline bool Fails(Kind kind) {
  return internal::armed.load(std::memory_order_relaxed) && internal::Take(kind);
}

// What a failing call answers, Fault::answer or else the usual.
int Answer(Kind kind);

}  // namespace webnnd::fault

// The result of a system call, or -1 with errno set in its place.
#define SYS_CALL(kind, call)                                                              \
  (::webnnd::fault::Fails(kind)                                                           \
       ? (errno = ::webnnd::fault::Answer(kind), (decltype(call))(static_cast<long>(-1))) \
       : (call))

#endif  // WEBNND_BASE_FAULT_H_

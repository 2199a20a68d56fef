// Adaptive condition variables: POSIX's, which spin for a while before they sleep, in place of the
// C library's.
//
// lavapipe hands each kernel call to a pool of threads that wait for it, and waits for them, on
// condition variables. A thread that sleeps is back after 10 to 25 us, and these are three sleeps
// for each kernel call, one after the other: together they take longer than most kernels of a small
// language model. Here who waits on a condition of lavapipe's looks for kSpinNs first, and lends
// the processor to whoever wants it meanwhile: another of its threads most often, which soon gives
// it back. Another program may keep it for milliseconds, where one that slept would have come
// before it; so nobody spins for a while after that. Other conditions, the client's among them, do
// not spin.
//
// The queue is one thread more than there are processors, but for what it does for the pool while
// it waits (base/stand_ins.h).
//
// For the scheduler a thread that spins works like any other. It leaves two threads of a pool on
// one processor, for seconds, while the one that waits for both has another to itself; where that
// one sleeps, the other processor gets one of them soon. So who waits alone, as lavapipe's queue
// does for what is left of a kernel call, does not spin for long while nobody takes what it lends,
// and next to not at all where its last wait was long.
//
// A program that links this object has them everywhere, also in the libraries that it loads later:
// symbols of the program come before those of libraries. As POSIX has them (IEEE Std 1003.1-2017,
// pthread_cond_timedwait), but that they are no cancellation points. The sanitizers have their own.
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "base/stand_ins.h"

namespace webnnd {
namespace {

constexpr int64_t kSpinNs = 200'000;
// Who waits alone: for a short time at most, and for less than waking takes after a longer wait.
// Most kernels of a small language model stay below it, and those of two threads that share one
// processor do not.
constexpr int64_t kShortWaitNs = 40'000;
constexpr int64_t kLoneSpinNs = 500;
// Who is back earlier lent the processor to nobody, or to another that waits.
constexpr int64_t kTakenNs = 5'000;
// Few: a thread that waits may have the processor of another one, which has just been called.
constexpr int kLooksPerYield = 4;
constexpr int kLockAttempts = 100;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// Lies in a pthread_cond_t. All 0 is what PTHREAD_COND_INITIALIZER means.
struct Condition {
  std::atomic<uint32_t> sequence;  // Of signals and broadcasts.
  std::atomic<uint32_t> sleeping;  // Threads that only the kernel can wake.
  std::atomic<uint32_t> waiting;   // Threads that will touch it again.
  bool monotonic;
  bool shared;                   // Between processes.
  bool spins;                    // It is lavapipe's.
  std::atomic<bool> is_of_many;  // Several threads have waited for it at once: a pool.
  std::atomic<bool> wakes_one;   // Who signals it wants one thread, perhaps a certain one.
};
static_assert(sizeof(Condition) <= sizeof(pthread_cond_t));
static_assert(alignof(Condition) <= alignof(pthread_cond_t));
static_assert(std::atomic<uint32_t>::is_always_lock_free);

Condition& Of(pthread_cond_t* condition) { return *reinterpret_cast<Condition*>(condition); }

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; }

int64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}

#ifdef WEBNND_SPIN_EVERYWHERE  // For tests.
constexpr bool kSpinEverywhere = true;
#else
constexpr bool kSpinEverywhere = false;
#endif

bool FindLavapipe(const void* instruction, dl_find_object& found) {
  return _dl_find_object(const_cast<void*>(instruction), &found) == 0 &&
         std::strstr(found.dlfo_link_map->l_name, "/libvulkan_lvp.") != nullptr;
}

// Whether an instruction is one of the driver, or lies where it once was.
bool IsLavapipes(const void* instruction) {
  static std::atomic<uintptr_t> begin{0};
  static std::atomic<uintptr_t> bytes{0};
  const auto address = reinterpret_cast<uintptr_t>(instruction);
  if (address - begin.load() < bytes.load()) return true;
  dl_find_object found;
  if (!FindLavapipe(instruction, found)) return false;
  begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  bytes = reinterpret_cast<uintptr_t>(found.dlfo_map_end) - begin;
  return true;
}

// Whether spinning pays. Of the whole program; what threads do to it at once may be lost.
class Contention {
 public:
  bool MaySpin(int64_t now_ns) const { return now_ns >= sleep_until_ns_.load(kRelaxed); }
  void OnYield(int64_t now_ns, int64_t away_ns) {
    if (away_ns < kLongYieldNs) return;
    const int64_t sleep_ns = std::min(2 * sleep_ns_.load(kRelaxed), kSleepNsMax);
    sleep_ns_.store(sleep_ns, kRelaxed);
    sleep_until_ns_.store(now_ns + sleep_ns, kRelaxed);
  }
  // By so little that a kernel which takes long, among a hundred that do not, does not count.
  void OnSuccess() {
    const int64_t sleep_ns = sleep_ns_.load(kRelaxed);
    sleep_ns_.store(std::max(sleep_ns - sleep_ns / 128, kSleepNsMin), kRelaxed);
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr int64_t kLongYieldNs = 1'000'000;
  static constexpr int64_t kSleepNsMin = 200'000;
  static constexpr int64_t kSleepNsMax = 32'000'000;
  std::atomic<int64_t> sleep_until_ns_{0};
  std::atomic<int64_t> sleep_ns_{kSleepNsMin};
};
constinit Contention contention;

long Futex(Condition& condition, int operation, uint32_t value, const timespec* deadline) {
  if (!condition.shared) operation |= FUTEX_PRIVATE_FLAG;
  return syscall(SYS_futex, &condition.sequence, operation, value, deadline, nullptr,
                 FUTEX_BITSET_MATCH_ANY);
}

// Whether there was a signal after `sequence` in that time, while nobody took what it lent for less
// than `lone_ns` of it.
bool Spin(const Condition& condition, uint32_t sequence, int64_t ns, int64_t lone_ns) {
  int64_t now = Now(CLOCK_MONOTONIC);
  const int64_t end = now + ns;
  while (now < end && lone_ns > 0 && contention.MaySpin(now)) {
    for (int i = 0; i < kLooksPerYield; ++i) {
      if (condition.sequence.load() != sequence) {
        contention.OnSuccess();
        return true;
      }
      Pause();
    }
    const int64_t before = now;
    sched_yield();
    now = Now(CLOCK_MONOTONIC);
    const int64_t away_ns = now - before;
    contention.OnYield(now, away_ns);
    if (away_ns < kTakenNs) lone_ns -= away_ns;
  }
  return condition.sequence.load() != sequence;
}

// How long to spin, at most until the deadline: seconds are compared first, which may be as far
// away as their type allows.
int64_t FindSpinNs(clockid_t clock, const timespec* deadline) {
  if (deadline == nullptr) return kSpinNs;
  const int64_t now = Now(clock);
  if (deadline->tv_sec > now / kNsPerSecond + 1) return kSpinNs;
  if (deadline->tv_sec < now / kNsPerSecond - 1) return 0;
  return std::clamp<int64_t>(Nanoseconds(*deadline) - now, 0, kSpinNs);
}

// 0 once there was a signal after `sequence`, or ETIMEDOUT.
int Sleep(Condition& condition, uint32_t sequence, clockid_t clock, const timespec* deadline) {
  const int operation = FUTEX_WAIT_BITSET | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
  bool late = false;
  condition.sleeping.fetch_add(1);
  while (condition.sequence.load() == sequence && !late) {
    // Other errors than these two: the deadline has passed, or lies before all time.
    late =
        Futex(condition, operation, sequence, deadline) == -1 && errno != EAGAIN && errno != EINTR;
  }
  condition.sleeping.fetch_sub(1);
  return condition.sequence.load() == sequence ? ETIMEDOUT : 0;
}

// How long the calling thread waited the last time that it did so in this place of its program (or
// in another one of few).
int64_t& LastWaitNs(const void* site) {
  constexpr size_t kPlaces = 16;
  static thread_local int64_t last_ns[kPlaces] = {};
  const auto address = reinterpret_cast<uintptr_t>(site);
  return last_ns[(address ^ address >> 4 ^ address >> 8) % kPlaces];
}

// As Sleep, but spins first.
int SpinAndSleep(Condition& condition, uint32_t sequence, clockid_t clock, const timespec* deadline,
                 const void* site) {
  int64_t& last_ns = LastWaitNs(site);
  const int64_t lone_ns = last_ns < kShortWaitNs ? kShortWaitNs : kLoneSpinNs;
  const int64_t begin = Now(CLOCK_MONOTONIC);
  const bool signalled = Spin(condition, sequence, FindSpinNs(clock, deadline),
                              condition.is_of_many ? kSpinNs : lone_ns);
  const int result = signalled ? 0 : Sleep(condition, sequence, clock, deadline);
  last_ns = Now(CLOCK_MONOTONIC) - begin;
  return result;
}

// Those who wake together find it locked for a moment, which is no reason to sleep.
int Lock(pthread_mutex_t* mutex) {
  for (int i = 0; i < kLockAttempts; ++i) {
    const int result = pthread_mutex_trylock(mutex);
    if (result != EBUSY) return result;
    Pause();
  }
  return pthread_mutex_lock(mutex);
}

// For who was called from a condition with these turns, if it has any.
int LockInTurn(PoolTurns* turns, pthread_mutex_t* mutex) {
  if (turns == nullptr) return Lock(mutex);
  const int processor = sched_getcpu();
  int64_t now = Now(CLOCK_MONOTONIC);
  for (; turns->MustWait(processor, now); now = Now(CLOCK_MONOTONIC)) {
    for (int i = 0; i < kLooksPerYield; ++i) Pause();
  }
  const int result = Lock(mutex);
  turns->Take(processor, now);
  return result;
}

// `site` is where the caller goes on.
int Wait(pthread_cond_t* waited_for, pthread_mutex_t* mutex, clockid_t clock,
         const timespec* deadline, const void* site) {
  if (deadline != nullptr && (deadline->tv_nsec < 0 || deadline->tv_nsec >= kNsPerSecond)) {
    return EINVAL;
  }
  Condition& condition = Of(waited_for);
  const int old_errno = errno;
  const uint32_t sequence = condition.sequence.load();
  const bool spins = kSpinEverywhere || condition.spins;
  if (condition.waiting.fetch_add(1) > 0 && !condition.is_of_many.exchange(true) &&
      condition.spins) {
    dl_find_object found;
    if (FindLavapipe(site, found)) stand_ins::FoundPool(condition.sequence, mutex);
    if (condition.wakes_one) stand_ins::ClosePool(condition.sequence);
  }
  // Those of a pool whose part of the work is done.
  PoolTurns* turns = condition.is_of_many ? stand_ins::TurnsOf(condition.sequence) : nullptr;
  if (turns != nullptr) turns->Finish(Now(CLOCK_MONOTONIC));
  const bool may_stand_in = condition.spins && deadline == nullptr;
  if (may_stand_in && condition.is_of_many && stand_ins::Leave(condition.sequence, mutex)) {
    // Nothing of the thread's own here, as errno is: it may be another one's.
    condition.waiting.fetch_sub(1);
    return LockInTurn(turns, mutex);
  }
  if (const int failure = pthread_mutex_unlock(mutex); failure != 0) {
    condition.waiting.fetch_sub(1);
    return failure;
  }
  if (may_stand_in) stand_ins::StandIn(condition.sequence, sequence, mutex);
  const int result = spins ? SpinAndSleep(condition, sequence, clock, deadline, site)
                           : Sleep(condition, sequence, clock, deadline);
  // The last touch: it may be destroyed as soon as nobody waits.
  condition.waiting.fetch_sub(1);
  errno = old_errno;
  const int locked = LockInTurn(turns, mutex);
  return locked != 0 ? locked : result;
}

int Wake(pthread_cond_t* waited_for, uint32_t count) {
  Condition& condition = Of(waited_for);
  const int old_errno = errno;
  if (condition.is_of_many) stand_ins::CallPool(condition.sequence, Now(CLOCK_MONOTONIC));
  condition.sequence.fetch_add(1);
  if (condition.sleeping.load() != 0) Futex(condition, FUTEX_WAKE, count, nullptr);
  errno = old_errno;
  return 0;
}

}  // namespace
}  // namespace webnnd

#pragma GCC visibility push(default)
extern "C" {

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes != nullptr) {
    pthread_condattr_getclock(attributes, &clock);
    pthread_condattr_getpshared(attributes, &shared);
  }
  webnnd::Condition& made = webnnd::Of(condition);
  made.sequence = 0;
  made.sleeping = 0;
  made.waiting = 0;
  made.is_of_many = false;
  made.wakes_one = false;
  made.monotonic = clock == CLOCK_MONOTONIC;
  made.shared = shared == PTHREAD_PROCESS_SHARED;
  made.spins = webnnd::IsLavapipes(__builtin_return_address(0));
  return 0;
}

// Whoever was woken before may not have left yet.
int pthread_cond_destroy(pthread_cond_t* condition) {
  webnnd::Condition& destroyed = webnnd::Of(condition);
  while (destroyed.waiting.load() != 0) sched_yield();
  if (destroyed.is_of_many) webnnd::stand_ins::ForgetPool(destroyed.sequence);
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return webnnd::Wait(condition, mutex, CLOCK_MONOTONIC, nullptr, __builtin_return_address(0));
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  const bool monotonic = webnnd::Of(condition).monotonic;
  return webnnd::Wait(condition, mutex, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, deadline,
                      __builtin_return_address(0));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return EINVAL;
  return webnnd::Wait(condition, mutex, clock, deadline, __builtin_return_address(0));
}

int pthread_cond_signal(pthread_cond_t* condition) {
  webnnd::Condition& signalled = webnnd::Of(condition);
  if (signalled.spins && !signalled.wakes_one.exchange(true) && signalled.is_of_many) {
    webnnd::stand_ins::ClosePool(signalled.sequence);
  }
  return webnnd::Wake(condition, 1);
}

int pthread_cond_broadcast(pthread_cond_t* condition) { return webnnd::Wake(condition, INT_MAX); }

// A thread that somebody stands in for would not end.
int pthread_join(pthread_t thread, void** result) {
  static const auto join =
      reinterpret_cast<int (*)(pthread_t, void**)>(dlsym(RTLD_NEXT, "pthread_join"));
  if (webnnd::IsLavapipes(__builtin_return_address(0))) webnnd::stand_ins::BringBack();
  return join(thread, result);
}

}  // extern "C"
#pragma GCC visibility pop

// longjmp goes from stack to stack here, which its check takes for a mistake.
#undef _FORTIFY_SOURCE

#include "base/stand_ins.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace webnnd::stand_ins {
namespace {

// At a time, in one program; those of further ones wait as ever. Any condition of lavapipe's for
// which two threads wait takes one.
constexpr size_t kPools = 8;
constexpr size_t kStackBytes = 16 << 10;

// The place of the thread that may leave.
enum Place : uint32_t {
  kPresent,  // None has left.
  kTaken,    // It is leaving, or somebody stands in for it.
  kAbsent,   // Its context may be taken.
  kCalled,   // It goes on with its context itself.
};

// Where a thread was, to go on there: what a function has to leave as it was. That is not the mask
// of signals, which ucontext_t has as well: two system calls for each kernel call that nobody
// needs.
struct Context {
  jmp_buf registers;
  uint32_t floating_point;  // How it rounds, and what it does with subnormal numbers.
};

struct Pool {
  std::atomic<const Sequence*> work{nullptr};
  std::atomic<pthread_mutex_t*> mutex{nullptr};
  std::atomic<bool> is_waited_for{false};
  std::atomic<bool> is_closed{false};  // Nobody leaves any more.
  // Since the thread left, perhaps. Another one does what is missed here.
  std::atomic<bool> has_work{false};
  PoolTurns turns;
  std::atomic<uint32_t> place{kPresent};
  Context absent;    // Of the thread that left.
  Context stand_in;  // Of who goes on with it.
  // Where the thread sleeps meanwhile, its own stack being in use.
  ucontext_t sleeper;
  alignas(16) std::byte stack[kStackBytes];
};
Pool pools[kPools];

// The pool in which the calling thread of the kernel stands in.
thread_local Pool* stands_in_for = nullptr;

Pool* Find(const Sequence& work) {
  for (Pool& pool : pools) {
    if (pool.work.load() == &work) return &pool;
  }
  return nullptr;
}

Pool* Find(const pthread_mutex_t* mutex) {
  for (Pool& pool : pools) {
    if (pool.mutex.load() == mutex) return &pool;
  }
  return nullptr;
}

#if defined(__x86_64__)
uint32_t FloatingPoint() { return _mm_getcsr(); }
void SetFloatingPoint(uint32_t control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
uint32_t FloatingPoint() {
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return static_cast<uint32_t>(control);
}
void SetFloatingPoint(uint32_t control) { asm volatile("msr fpcr, %0" ::"r"(uint64_t{control})); }
#else
uint32_t FloatingPoint() { return 0; }
void SetFloatingPoint(uint32_t) {}
#endif

[[noreturn]] void GoOn(Context& context) {
  SetFloatingPoint(context.floating_point);
  _longjmp(context.registers, 1);
}

// Goes on elsewhere with `leave()`; comes back when somebody goes on in `context`.
template <typename Leave>
[[gnu::noinline]] void Switch(Context& context, Leave leave) {
  context.floating_point = FloatingPoint();
  if (_setjmp(context.registers) == 0) leave();
}

void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void BringBack(Pool& pool) {
  uint32_t expected = kAbsent;
  if (pool.place.compare_exchange_strong(expected, kCalled)) Futex(pool.place, FUTEX_WAKE, 1);
}

void SleepUntilCalled(int index) {
  Pool& pool = pools[index];
  // Before the mutex is unlocked: who says that the thread shall end, and then waits for that,
  // finds it gone.
  pthread_mutex_t* mutex = pool.mutex.load();
  pool.place = kAbsent;
  pthread_mutex_unlock(mutex);
  if (pool.is_closed) BringBack(pool);
  for (uint32_t place = pool.place; place != kCalled; place = pool.place) {
    Futex(pool.place, FUTEX_WAIT, place);
  }
  GoOn(pool.absent);
}

}  // namespace

void FoundPool(const Sequence& work, pthread_mutex_t* mutex) {
  if (Find(work) != nullptr) return;
  for (Pool& pool : pools) {
    const Sequence* none = nullptr;
    if (!pool.work.compare_exchange_strong(none, &work)) continue;
    pool.turns.Reset();
    pool.mutex = mutex;
    return;
  }
}

void ClosePool(const Sequence& work) {
  Pool* pool = Find(work);
  if (pool == nullptr) return;
  pool->is_closed = true;
  BringBack(*pool);
}

void ForgetPool(const Sequence& work) {
  Pool* pool = Find(work);
  if (pool == nullptr) return;
  pool->mutex = nullptr;
  pool->is_waited_for = false;
  pool->is_closed = false;
  pool->work = nullptr;
}

void CallPool(const Sequence& work, int64_t now_ns) {
  Pool* pool = Find(work);
  if (pool == nullptr) return;
  pool->turns.Begin(now_ns);
  pool->has_work = true;
}

PoolTurns* TurnsOf(const Sequence& work) {
  Pool* pool = Find(work);
  return pool != nullptr ? &pool->turns : nullptr;
}

bool Leave(const Sequence& work, pthread_mutex_t* mutex) {
  Pool* pool = Find(work);
  if (pool == nullptr || pool->mutex.load() != mutex) return false;
  if (stands_in_for != nullptr) {
    if (stands_in_for != pool) return false;  // One at a time.
    pool->has_work = false;
    pthread_mutex_unlock(mutex);
    Switch(pool->absent, [pool] { GoOn(pool->stand_in); });
  } else {
    uint32_t expected = kPresent;
    if (!pool->is_waited_for.load() || pool->is_closed.load() ||
        !pool->place.compare_exchange_strong(expected, kTaken)) {
      return false;
    }
    pool->has_work = false;
    getcontext(&pool->sleeper);
    pool->sleeper.uc_stack.ss_sp = pool->stack;
    pool->sleeper.uc_stack.ss_size = kStackBytes;
    pool->sleeper.uc_link = nullptr;
    makecontext(&pool->sleeper, reinterpret_cast<void (*)()>(SleepUntilCalled), 1,
                static_cast<int>(pool - pools));
    Switch(pool->absent, [pool] {
      setcontext(&pool->sleeper);
      abort();  // It does not come back.
    });
  }
  if (pool->place.load() == kCalled) pool->place = kPresent;
  return true;
}

void StandIn(const Sequence& awaited, uint32_t sequence, pthread_mutex_t* mutex) {
  Pool* pool = Find(mutex);
  if (pool == nullptr || pool->work.load() == &awaited) return;
  pool->is_waited_for = true;
  if (stands_in_for != nullptr) return;
  while (awaited.load() == sequence && pool->has_work.load() && !pool->is_closed.load()) {
    uint32_t expected = kAbsent;
    if (!pool->place.compare_exchange_strong(expected, kTaken)) return;
    stands_in_for = pool;
    Switch(pool->stand_in, [pool] { GoOn(pool->absent); });
    stands_in_for = nullptr;
    pool->place = kAbsent;
    if (pool->is_closed) BringBack(*pool);
  }
}

void BringBack() {
  for (Pool& pool : pools) BringBack(pool);
}

}  // namespace webnnd::stand_ins

// Threads that wait for a pool of threads, and stand in for one of them meanwhile.
//
// lavapipe's queue hands each kernel call to a pool of as many threads as there are processors, and
// waits for them: one thread too many. Either it sleeps, and comes back 10 to 50 us after they are
// done, or it keeps a processor that one of them could have. So one thread of the pool leaves what
// it is doing - its context: stack and registers - whenever it waits for work, and sleeps. Who
// waits for the pool then goes on in that context itself, until it waits for work again. The pool
// notices nothing: its code runs as before, on another thread of the kernel.
//
// A pool is known by what it does: several threads wait for one condition at once, that for work,
// and another one waits for another condition with the same mutex, that for what they do. Work is
// for any of them, so that the condition is only ever broadcast: who signals it may mean to give
// each thread a task, as Mesa does when it waits for those that write its cache.
//
// The other threads of a pool wait as ever, and any of them does the work that nobody stands in
// for. Only who waits for a thread to end needs that very thread: it is brought back before. Nobody
// ends a pool while somebody waits for what it does.
#ifndef WEBNND_BASE_STAND_INS_H_
#define WEBNND_BASE_STAND_INS_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/pool_turns.h"

namespace webnnd::stand_ins {

// Counts the signals to a condition, and stands for it here.
using Sequence = std::atomic<uint32_t>;

// Several threads wait for `work` at once. `mutex` is locked.
void FoundPool(const Sequence& work, pthread_mutex_t* mutex);

// `work` was signalled to one thread: nobody leaves any more, and who has left is brought back.
void ClosePool(const Sequence& work);

// `work` is no more; nobody waits for it.
void ForgetPool(const Sequence& work);

// There may be work: `work` was signalled, in whatever way. `now_ns` is for PoolTurns.
void CallPool(const Sequence& work, int64_t now_ns);

// Of those who are called; null where nothing is known of a pool. It may be used for ever.
PoolTurns* TurnsOf(const Sequence& work);

// For who is about to wait for `work`, with `mutex` locked. Whether the wait is over: somebody
// stood in, or the thread was called back. Then `mutex` is not locked any more, and the caller may
// be on another thread of the kernel than before; else nothing has happened.
bool Leave(const Sequence& work, pthread_mutex_t* mutex);

// For who waits until `awaited` is no longer `sequence`, with `mutex`, which is not locked now:
// does a thread's part of the work of the pool that waits with the same mutex, if there is one.
void StandIn(const Sequence& awaited, uint32_t sequence, pthread_mutex_t* mutex);

// Has all threads that left, and for which nobody stands in just now, go on by themselves, as after
// a wait that ended for no reason.
void BringBack();

}  // namespace webnnd::stand_ins

#endif  // WEBNND_BASE_STAND_INS_H_

// A library of lavapipe's name: conditions that it makes are taken for lavapipe's.
#include <pthread.h>

#include "tests/base/fake_pool.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int MakeCondition(pthread_cond_t* condition) {
  const int result = pthread_cond_init(condition, nullptr);
  // No tail call: who asks is whom it returns to.
  asm volatile("");
  return result;
}

EXPORTED webnnd::FakePool* MakePool(int threads, webnnd::FakePool::Hooks hooks) {
  return new webnnd::FakePool(threads, hooks);
}

EXPORTED void RunInPool(webnnd::FakePool* pool, void (*work)(void* data, int i), void* data,
                        int count, const timespec* deadline) {
  pool->Run(work, data, count, deadline);
}

EXPORTED void SignalPool(webnnd::FakePool* pool) { pool->Signal(); }

EXPORTED void DestroyPool(webnnd::FakePool* pool) { delete pool; }

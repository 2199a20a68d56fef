// A library of lavapipe's name: conditions that it makes are taken for lavapipe's.
#include <pthread.h>

extern "C" __attribute__((visibility("default"))) int MakeCondition(pthread_cond_t* condition) {
  const int result = pthread_cond_init(condition, nullptr);
  // No tail call: who asks is whom it returns to.
  asm volatile("");
  return result;
}

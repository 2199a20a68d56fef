// What lavapipe is told before it is loaded: it reads its settings from the environment, once.
#ifndef WEBNND_SERVICE_VULKAN_LAVAPIPE_H_
#define WEBNND_SERVICE_VULKAN_LAVAPIPE_H_

namespace webnnd::service {

// What the choice of instructions depends on.
struct HostProcessor {
  static HostProcessor Detect();

  bool intel = false;
  bool avx512 = false;
};

// Holds llvmpipe to AVX2 on processors of Intel's that have AVX-512. Its code stores what the lanes
// of a subgroup hold one by one, from a vector on the stack: LLVM writes eight elements of 64 bits
// there as one vector of 512, and a load of an element waits for all of it, where two vectors of
// 256 bits are forwarded (docs/benchmarks.md). A value that the user has set stands.
void ChooseLavapipesInstructions(const HostProcessor& processor);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_LAVAPIPE_H_

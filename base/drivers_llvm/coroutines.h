// Coroutines that never wait are functions.
#ifndef WEBNND_BASE_DRIVERS_LLVM_COROUTINES_H_
#define WEBNND_BASE_DRIVERS_LLVM_COROUTINES_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe makes a coroutine of what a subgroup does, for it may wait at barriers, and goes around
// all of a workgroup until each is done. Most kernels have no barrier: theirs are done when they
// were called. LLVM still splits them, and copies each whole to find out that nothing is left to be
// resumed: a sixth of the time that a kernel takes to compile. Here these are made functions
// before, which destroy themselves at their end.
class Coroutines {
 public:
  Coroutines(const Llvm& llvm, LLVMModuleRef module);

  // To be called before LLVM splits them (default<O0>). All of a module, or none: whether it was
  // all.
  bool MakeFunctions();

 private:
  // What is called of LLVM's coroutines, and at which places.
  enum class Step { kId, kSize, kBegin, kSuspend, kEnd, kDone, kDestroy, kResume, kNone, kOther };
  Step StepOf(LLVMValueRef instruction) const;
  // Whether all that there is of coroutines is understood, and none of them waits.
  bool NeverWait() const;
  void Replace(LLVMValueRef call);

  template <class Visit>
  void ForEachInstruction(Visit visit) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  unsigned presplit_;  // The attribute of coroutines; 0: this LLVM has another one.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_COROUTINES_H_

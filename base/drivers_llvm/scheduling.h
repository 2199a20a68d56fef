// In which order LLVM puts the instructions of a module.
#ifndef WEBNND_BASE_DRIVERS_LLVM_SCHEDULING_H_
#define WEBNND_BASE_DRIVERS_LLVM_SCHEDULING_H_

#include <mutex>
#include <shared_mutex>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// LLVM's scheduler goes from the bottom of a block to its top. Of a turn of a matrix product,
// hundreds of multiply-adds of 16 lanes, it so comes to all sums before the first of their factors:
// they do not fit into the registers, and each is spilled at each step. From the top down it keeps
// to the program's order, and the product takes half of the time. Other modules lose by that, up to
// a fifth, and so do products of 8 lanes, more of whose sums fit (docs/benchmarks-zen4.md).
//
// Before that, it sinks what only another block needs to that block: of a sum that is stored under
// a condition all terms, one behind the other, each waiting for the one before. There the terms of
// many sums stay side by side. Of other modules some take a quarter less by that as well, others
// half as much again.
//
// The order is an option of all that LLVM compiles in a process. So while a module of that kind is
// compiled, no other one is; others are compiled beside each other.
class Scheduling {
 public:
  // Until it is destroyed, what is compiled of the module of `function` has the order that suits
  // it.
  Scheduling(const void* caller, const Llvm& llvm, LLVMValueRef function);
  ~Scheduling();
  Scheduling(const Scheduling&) = delete;
  Scheduling& operator=(const Scheduling&) = delete;

 private:
  using ParseOptions = void(int count, const char* const* options, const char* overview);

  // Null: as ever.
  ParseOptions* parse_options_ = nullptr;
  std::shared_lock<std::shared_mutex> beside_others_;
  std::unique_lock<std::shared_mutex> alone_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_SCHEDULING_H_

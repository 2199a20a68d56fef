// What all lanes load from one address is loaded once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_UNIFORM_LANES_H_
#define WEBNND_BASE_DRIVERS_LLVM_UNIFORM_LANES_H_

#include "base/drivers_llvm/lane_steps.h"
#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe takes the index of a load from a buffer lane by lane, though it be a constant, as those
// of parameters are: eight loads of one word, and a vector put together of them. Here every lane
// takes its index from the first one where all have the same; LLVM's passes then see that they are
// one load.
class UniformLanes {
 public:
  UniformLanes(const Llvm& llvm, LLVMModuleRef module)
      : llvm_(llvm), module_(module), steps_(llvm) {}

  // To be called before passes that fold what is the same.
  void TakeFirst();

 private:
  const Llvm& llvm_;
  LLVMModuleRef module_;
  LaneSteps steps_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_UNIFORM_LANES_H_

// Kernels whose workgroups llvmpipe's threads share: who is done with its own takes others'
// (base/shared_grid.h).
#ifndef WEBNND_BASE_DRIVERS_LLVM_SHARED_KERNELS_H_
#define WEBNND_BASE_DRIVERS_LLVM_SHARED_KERNELS_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// What llvmpipe is to call in place of a function's `code`, which stays where it is until llvmpipe
// is done with it: `code` itself where it is no kernel of the form that this knows, or too many
// have come before.
void* Shared(const Llvm& llvm, LLVMValueRef function, void* code);

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_SHARED_KERNELS_H_

// A loop ends where no lane goes on, not a turn later.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LOOP_EXITS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LOOP_EXITS_H_

#include <unordered_set>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// A `break` of llvmpipe's takes lanes out of a mask, and the rest of the loop's body is run with
// that; whether any are left is asked only at its end. So every loop runs its body once more for
// nobody, and one that no lane enters runs it once. Here a loop whose header computes such a mask
// leaves from there where it is empty: what would follow writes nothing.
class LoopExits {
 public:
  LoopExits(const Llvm& llvm, LLVMModuleRef module);
  ~LoopExits() { llvm_.dispose_builder(builder_); }
  LoopExits(const LoopExits&) = delete;
  LoopExits& operator=(const LoopExits&) = delete;

  // To be called before passes that promote variables, for then blocks have no phis yet, and
  // nothing that a turn computes is used outside of its loop but through memory. Loops of which
  // either is not so stay as they are.
  void Add();

 private:
  using Blocks = std::unordered_set<LLVMBasicBlockRef>;

  void AddTo(LLVMBasicBlockRef latch);
  // The mask that `latch` goes back to `header` by while it is not empty, nor the limit of turns
  // reached. Null where it is no such latch.
  LLVMValueRef MaskAtEnd(LLVMBasicBlockRef latch) const;
  // That after the first `break`, in `header`, which `mask` has a part in: where that is empty, so
  // is `mask`. Null where there is none.
  LLVMValueRef MaskAfterBreak(LLVMValueRef mask, LLVMBasicBlockRef header, int depth) const;
  // The blocks of a turn besides `header`.
  Blocks BlocksOfTurn(LLVMBasicBlockRef header, LLVMBasicBlockRef exit) const;
  bool IsUsedOnlyIn(LLVMValueRef value, LLVMBasicBlockRef header, const Blocks& turn) const;
  bool CanLeave(LLVMValueRef mask, LLVMBasicBlockRef header, LLVMBasicBlockRef exit) const;
  void LeaveBehind(LLVMValueRef mask, LLVMBasicBlockRef header, LLVMBasicBlockRef exit);

  bool Is(LLVMValueRef value, int opcode) const;
  bool BeginsWithPhi(LLVMBasicBlockRef block) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LOOP_EXITS_H_

// Which accesses of a function follow each other with nothing between them that writes to buffers.
#ifndef WEBNND_BASE_DRIVERS_LLVM_ACCESS_ORDER_H_
#define WEBNND_BASE_DRIVERS_LLVM_ACCESS_ORDER_H_

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

class AccessOrder {
 public:
  // Of loops over lanes that only load: what is behind each, by what goes to it.
  using Loads = std::unordered_map<LLVMBasicBlockRef, LLVMBasicBlockRef>;

  // To be called where no block has a phi.
  AccessOrder(const Llvm& llvm, LLVMValueRef function, const Loads& loads);

  // What is of one run runs in the order of its numbers, all that come before something each time
  // that it does, and finds buffers as they were for the first.
  struct Place {
    unsigned run;
    unsigned number;
  };
  // Of calls, and of what ends a block. None where nothing is known.
  std::optional<Place> PlaceOf(LLVMValueRef instruction) const;

 private:
  // What runs behind `block`, and behind nothing else. Null: nothing.
  LLVMBasicBlockRef Next(LLVMBasicBlockRef block, const Loads& loads) const;
  bool IsDetour(LLVMBasicBlockRef block, LLVMBasicBlockRef back) const;
  bool MayWrite(LLVMValueRef instruction, int depth) const;
  bool MayCallWrite(LLVMValueRef call, int depth) const;
  bool IsOfStack(LLVMValueRef address) const;

  const Llvm& llvm_;
  std::unordered_map<LLVMBasicBlockRef, int> ways_in_;
  std::unordered_map<LLVMValueRef, Place> places_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_ACCESS_ORDER_H_

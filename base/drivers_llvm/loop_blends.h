// What a loop carries from turn to turn is blended once behind it, where its lanes leave together.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LOOP_BLENDS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LOOP_BLENDS_H_

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe assigns to a variable by blending what it was with what it becomes, by the mask of lanes
// that are active: of a matrix product 128 sums in each turn. Mostly all lanes count alike, so that
// those that enter a loop leave it in the same turn; then the mask of every turn is that of the
// first. Here such a loop's variables become what they become in all lanes, and those lanes that
// never entered have what they had back behind the loop. What other lanes compute meanwhile is
// nobody's: loads and stores go by the mask, as they did.
//
// Of 16 lanes, which llvmpipe blends by and, or: those of 8 it blends by an instruction of AVX's.
class LoopBlends {
 public:
  LoopBlends(const Llvm& llvm, LLVMModuleRef module);
  ~LoopBlends() { llvm_.dispose_builder(builder_); }
  LoopBlends(const LoopBlends&) = delete;
  LoopBlends& operator=(const LoopBlends&) = delete;

  // To be called behind passes that promote variables, and behind LoopExits.
  void MoveOut();

 private:
  using Blocks = std::unordered_set<LLVMBasicBlockRef>;
  using Values = std::unordered_set<LLVMValueRef>;
  using Predecessors = std::unordered_map<LLVMBasicBlockRef, std::vector<LLVMBasicBlockRef>>;

  // A loop that is left to one block, from its header as soon as `mask` is empty.
  struct Loop {
    LLVMBasicBlockRef header = nullptr;
    LLVMBasicBlockRef before = nullptr;
    LLVMBasicBlockRef latch = nullptr;
    LLVMBasicBlockRef exit = nullptr;
    Blocks blocks;
    LLVMValueRef mask = nullptr;
    std::vector<LLVMValueRef> entering;  // Lanes that all of these masks have enter.
    Values full;                         // Masks that all lanes have that entered, in any turn.
    Values carried;                      // Phis among them.
    std::vector<LLVMValueRef> stays;     // Masks of those that stay, for parts of `mask`.
    Values uniform;                      // Alike in all lanes that entered.
  };
  // A phi of a loop, with what its latch brings.
  struct Variable {
    LLVMValueRef phi;
    LLVMValueRef blend;
    LLVMValueRef next;  // What it is blended with.
    LLVMValueRef initial;
    std::vector<LLVMValueRef> exit_phis;
  };

  static Predecessors FindPredecessors(const Llvm& llvm, LLVMValueRef function);
  void MoveOutOf(LLVMValueRef function);
  bool FindLoop(LLVMBasicBlockRef header, LLVMBasicBlockRef entry, const Predecessors& predecessors,
                Loop& loop) const;
  bool FindExit(const Predecessors& predecessors, Loop& loop) const;
  bool FindMask(Loop& loop) const;
  // Divides a mask into those that a turn begins with and those of lanes that stay.
  bool Divide(LLVMValueRef mask, Loop& loop) const;
  // Whether `mask` is made of such parts alone.
  bool IsMadeOfParts(LLVMValueRef mask, const Loop& loop) const;
  // Whether no lane is in `mask`, made of such parts, that is not in `whole`, one of them.
  bool IsPartOf(LLVMValueRef mask, LLVMValueRef whole, const Loop& loop) const;
  // Whether a lane's element is all ones or all zeros.
  bool IsMask(LLVMValueRef value, const Loop& loop, int depth) const;
  // Whether lanes that entered have the same element; phis of which that is asked have it where all
  // answers come to that.
  bool IsUniform(LLVMValueRef value, Loop& loop, int depth) const;
  // Whether lanes that entered have 0.
  bool IsEmpty(LLVMValueRef value, const Loop& loop) const;
  bool LeaveTogether(Loop& loop) const;

  bool FindVariable(LLVMValueRef phi, const Loop& loop, Variable& variable) const;
  bool FindNext(const Loop& loop, Variable& variable) const;
  bool FindUses(LLVMValueRef value, const Loop& loop, Variable& variable) const;
  void BlendBehind(const Loop& loop, const std::vector<Variable>& variables);

  bool Is(LLVMValueRef value, int opcode) const;
  bool IsNot(LLVMValueRef value, LLVMValueRef mask) const;
  bool IsElementwise(LLVMValueRef call) const;
  bool IsIn(LLVMValueRef value, const Loop& loop) const;
  LLVMValueRef Incoming(LLVMValueRef phi, LLVMBasicBlockRef from) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMBuilderRef builder_;
  std::unordered_set<unsigned> elementwise_;  // Intrinsics.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LOOP_BLENDS_H_

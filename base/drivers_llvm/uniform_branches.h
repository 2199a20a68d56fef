// Where all lanes have the same, one is asked, and what all of them passed holds for all.
#ifndef WEBNND_BASE_DRIVERS_LLVM_UNIFORM_BRANCHES_H_
#define WEBNND_BASE_DRIVERS_LLVM_UNIFORM_BRANCHES_H_

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe keeps everything for each lane, what never differs between them as well: a loop ends
// where a mask of lanes is empty, of which each compares its own counter, stores and assignments go
// by that mask, and a division is one for each lane. Here such a mask, which is all ones or all
// zeros, is all ones where a branch was taken because it is not empty, and one that a loop's lanes
// leave together is that of those that entered; conditions and divisions of what all lanes have the
// same are those of one; and what is taken from a lane of such a vector is computed by itself.
class UniformBranches {
 public:
  UniformBranches(const Llvm& llvm, LLVMModuleRef module);
  ~UniformBranches() { llvm_.dispose_builder(builder_); }
  UniformBranches(const UniformBranches&) = delete;
  UniformBranches& operator=(const UniformBranches&) = delete;

  // To be called behind passes that promote variables, and behind LoopBlends. Leaves instructions
  // that nobody uses, phis that only use each other among them.
  void Simplify();

 private:
  using Blocks = std::unordered_set<LLVMBasicBlockRef>;
  using Values = std::unordered_set<LLVMValueRef>;

  void SimplifyIn(LLVMValueRef function);

  // What lanes may have different, of the function's vectors.
  void FindVarying(LLVMValueRef function);
  bool IsVarying(LLVMValueRef value) const;
  // Whether elements of an instruction's result are of those of its operands at the same place.
  bool IsByElement(LLVMValueRef instruction) const;
  bool IsElementwise(LLVMValueRef call) const;
  // Whether it is a shuffle of which all lanes take theirs from one.
  bool HasOneSource(LLVMValueRef value) const;

  // Of a comparison that says whether any bit of a vector is set: that vector. Else null.
  LLVMValueRef AnyOf(LLVMValueRef comparison) const;
  // Whether each element is all ones or all zeros; `asked` are taken for such.
  bool IsMask(LLVMValueRef value, Values& asked) const;
  // A mask that is one of lanes, or empty, by a condition that is the same for all of them.
  struct Choice {
    LLVMValueRef condition = nullptr;
    LLVMValueRef lanes = nullptr;
    bool is_where = true;  // The condition holds; else where it does not.
  };
  Choice ReadChoice(LLVMValueRef mask) const;
  // What a mask is where it is not empty, or null.
  LLVMValueRef WhereNotEmpty(LLVMValueRef mask) const;
  // What holds behind a block's branch by whether a mask is empty.
  void AssumeMask(LLVMBasicBlockRef block);
  // Blocks that are reached from `first` without those, nor the way between two of them.
  Blocks Reach(LLVMBasicBlockRef first, LLVMBasicBlockRef from, LLVMBasicBlockRef to,
               const Blocks& without) const;
  void FoldAll();
  // What an instruction comes to by what is known of its operands; null where that is nothing new.
  LLVMValueRef Fold(LLVMValueRef instruction) const;
  void Replace(LLVMValueRef instruction, LLVMValueRef value);

  // An instruction that can be simpler because all lanes have the same.
  void AskOne(LLVMValueRef instruction);
  // The same of a comparison of such a mask.
  void AskOneOfChoice(LLVMValueRef comparison, const Choice& choice);
  // Whether ScalarOf does more than to take an element.
  bool HasScalar(LLVMValueRef value) const;
  // What all lanes of a vector have.
  LLVMValueRef ScalarOf(LLVMValueRef value);
  LLVMValueRef NewScalar(LLVMValueRef instruction);
  LLVMValueRef ElementOf(LLVMValueRef vector, int lane);
  LLVMValueRef SplatOf(LLVMValueRef scalar, LLVMTypeRef type);

  bool Is(LLVMValueRef value, int opcode) const;
  bool IsVector(LLVMTypeRef type) const { return llvm_.get_type_kind(type) == kVectorType; }
  bool IsIntegerVector(LLVMTypeRef type) const;
  bool AreAllOnes(LLVMValueRef value) const;
  bool IsZero(LLVMValueRef value) const;
  LLVMValueRef FirstBehindPhis(LLVMBasicBlockRef block) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  std::unordered_set<unsigned> elementwise_;  // Intrinsics.

  // Of one function.
  LLVMBasicBlockRef entry_ = nullptr;
  Values varying_;
  std::vector<LLVMValueRef> changed_;  // By the operands that they have now.
  std::unordered_map<LLVMValueRef, LLVMValueRef> scalars_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_UNIFORM_BRANCHES_H_

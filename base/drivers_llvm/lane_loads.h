// What lanes load beside each other is loaded at once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_

#include "base/drivers_llvm/lane_loops.h"

namespace webnnd {

// In place of a loop over the lanes (LaneLoops), a whole vector is loaded where elements follow
// each other and the buffer has all of them, and one element where all lanes ask for the same;
// otherwise those of lanes that are active, and inside, are gathered. Where it is known beforehand
// which of these it is (LaneSteps), only the first lane's place is looked at.
class LaneLoads : public LaneLoops {
 public:
  using LaneLoops::LaneLoops;

 private:
  LLVMBasicBlockRef ReadAccess(LLVMBasicBlockRef block, LLVMValueRef bound,
                               Loop& loop) const override;
  // What sets the lane's element, and the block behind.
  struct Result {
    LLVMValueRef variable = nullptr;
    LLVMBasicBlockRef next = nullptr;
  };
  // From `first` to the end of its block, which sets it to `element` and does nothing else.
  Result ReadResult(LLVMValueRef first, LLVMValueRef element, const Loop& loop) const;
  bool CanReplace(const Loop& loop) const override;
  void Replace(const Loop& loop) override;

  // As many elements as there are lanes, from `first` on.
  LLVMValueRef LoadRun(const Loop& loop, LLVMValueRef address, LLVMValueRef first) const;
  // One element for all lanes.
  void LoadOne(const Loop& loop, LLVMValueRef place, LLVMValueRef is_inside);
  // Of each lane.
  LLVMValueRef CanLoad(const Loop& loop, LLVMValueRef size) const;
  LLVMValueRef AddressOf(const Loop& loop, LLVMValueRef address, LLVMValueRef offset) const;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_

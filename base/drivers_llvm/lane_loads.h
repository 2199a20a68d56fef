// What lanes load beside each other is loaded at once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/drivers_llvm/access_order.h"
#include "base/drivers_llvm/lane_loops.h"

namespace webnnd {

// In place of a loop over the lanes (LaneLoops), a whole vector is loaded where elements follow
// each other and the buffer has all of them, and one element where all lanes ask for the same;
// otherwise those of lanes that are active, and inside, are gathered. Where it is known beforehand
// which of these it is (LaneSteps), only the first lane's place is looked at.
//
// Loops that follow each other (AccessOrder), and whose elements differ by constants, look at them
// together, as a run: where the buffer has all of it they load from there, otherwise from a copy
// that has what is beyond the buffer as 0. So what is between them, which may be all of a turn of a
// product, is one block, and its instructions load as they compute.
//
// Where shaders ask for lines of a cache, and for nothing else (ASK_WORD of shaders/stream.glsl),
// processors are asked for them, which no instruction waits for.
class LaneLoads : public LaneLoops {
 public:
  using LaneLoops::LaneLoops;

  // How many of the loops that Combine() replaced ask for lines.
  int asked() const { return asked_; }

  AccessOrder::Loads LoadsOf(LLVMValueRef function) const;

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
  void ReplaceAll(LLVMValueRef function, const std::vector<Loop>& loops) override;

  // Lane l of a loop loads where `root`, of the first lane, + `constant` bytes + l * `step`
  // elements is, modulo 2^32 bytes.
  struct Member {
    const Loop* loop;
    LLVMValueRef root;
    uint32_t constant;
    uint32_t step;
    AccessOrder::Place order;
  };
  using Run = std::vector<Member>;
  std::vector<Run> FindRuns(LLVMValueRef function, const std::vector<Loop>& loops) const;
  // None where it is not known, or the loop is for itself.
  std::optional<Member> MemberOf(const Loop& loop, const AccessOrder& order) const;
  // Whether the last member belongs to those before it.
  bool IsRun(const Run& run) const;
  bool IsSame(LLVMValueRef a, const Loop& loop_a, LLVMValueRef b, const Loop& loop_b) const;
  void ReplaceRun(const Run& run);
  // Of bytes to elements.
  unsigned ShiftOf(const Loop& loop) const {
    return static_cast<unsigned>(std::countr_zero(BytesPerElement(loop)));
  }
  // How many elements it has.
  uint32_t CountOfRun(const Run& run) const;
  // From where in the run a member loads, lanes' elements one behind the other.
  std::vector<uint32_t> PiecesOf(const Run& run, const Member& member) const;
  // Copies them there, as they are for a buffer that has not all of them.
  void CopyRun(const Run& run, LLVMValueRef root, LLVMValueRef address, LLVMValueRef size,
               LLVMValueRef copies);

  // What lanes load that are `step` apart, from `first` on: 1 or 2.
  LLVMValueRef LoadApart(const Loop& loop, LLVMValueRef address, LLVMValueRef first, uint32_t step);
  // As many elements as there are lanes, from `first` on.
  LLVMValueRef LoadRun(const Loop& loop, LLVMValueRef address, LLVMValueRef first) const;
  // The elements at `offsets`, or 0 where a lane can load none.
  LLVMValueRef Gather(const Loop& loop, LLVMValueRef address, LLVMValueRef offsets,
                      LLVMValueRef can_load);
  // Whether all that becomes of what lanes load is the mark that it is asked for alone.
  bool IsAsked(const Loop& loop) const;
  void Ask(const Loop& loop, LLVMValueRef address);
  // One element, for all lanes.
  LLVMValueRef LoadElement(const Loop& loop, LLVMValueRef place);
  // The same, where it is inside.
  void LoadOne(const Loop& loop, LLVMValueRef place, LLVMValueRef is_inside);
  // Of each lane.
  LLVMValueRef CanLoad(const Loop& loop, LLVMValueRef size) const;
  LLVMValueRef AddressOf(const Loop& loop, LLVMValueRef address, LLVMValueRef offset) const;

  int asked_ = 0;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_LOADS_H_

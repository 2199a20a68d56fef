// Maxima and minima of 16 lanes that llvmpipe takes of eight at a time become one.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_EXTREMES_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_EXTREMES_H_

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// For max() and min() of float32 llvmpipe calls AVX's intrinsics, on either half of 16 lanes, and
// puts the results together: four instructions for one of AVX-512. Here they are a comparison and a
// choice of all lanes, which LLVM knows as that: like the intrinsic's, the second operand where
// either is NaN, or both are 0.
class LaneExtremes {
 public:
  LaneExtremes(const Llvm& llvm, LLVMModuleRef module);
  ~LaneExtremes() { llvm_.dispose_builder(builder_); }
  LaneExtremes(const LaneExtremes&) = delete;
  LaneExtremes& operator=(const LaneExtremes&) = delete;

  void Join();

 private:
  // If `whole` has the lanes of two extremes, one behind the other.
  void JoinHalves(LLVMValueRef whole);
  // The comparison that holds where it is the first operand. 0: `value` is no extreme.
  int ComparisonOf(LLVMValueRef value) const;
  // The vector of which those are the halves. Null: of none.
  LLVMValueRef WholeOf(LLVMValueRef low, LLVMValueRef high) const;
  bool TakesLanes(LLVMValueRef value, int first) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMBuilderRef builder_;
  unsigned max_;  // The intrinsics' numbers.
  unsigned min_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_EXTREMES_H_

// What lanes store beside each other is stored at once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_

#include <map>
#include <vector>

#include "base/drivers_llvm/lane_loops.h"

namespace webnnd {

// In place of a loop over the lanes (LaneLoops), whole vectors are stored where all lanes are
// active, their elements follow each other, and the buffer has room for all of them. With AVX-512
// that holds where some are active, too, by a masked store, and words that lie apart are one
// instruction. Loads wait for earlier masked stores whose places look like theirs: whether all
// lanes are active is asked even where it is known that elements follow each other. Else a function
// of the module stores for each lane what the loop would: quads whole where the buffer has room for
// each, or element by element.
//
// Of vectors that are lines of a cache, where shaders ask for it (STREAM_WORD of
// shaders/stream.glsl), they are stored past the caches, which need not read the lines first.
class LaneStores : public LaneLoops {
 public:
  // Of a function of ours, what LLVMAddFunction sets of those of the driver.
  using SetAttributes = void(const void* caller, LLVMValueRef function);

  LaneStores(const Llvm& llvm, LLVMModuleRef module, const void* caller, SetAttributes* set);

  // How many of the loops that Combine() replaced store past the caches.
  int streamed() const { return streamed_; }

 private:
  LLVMBasicBlockRef ReadAccess(LLVMBasicBlockRef block, LLVMValueRef bound,
                               Loop& loop) const override;
  bool CanReplace(const Loop& loop) const override;
  void Replace(const Loop& loop) override;
  void ReplaceAll(LLVMValueRef function, const std::vector<Loop>& loops) override;

  // What a lane stores but for the mark that it is to go past the caches. Null: there is none.
  LLVMValueRef StreamedOf(LLVMValueRef value) const;
  // Whether a vector there is a line of a cache.
  LLVMValueRef IsLine(LLVMValueRef address, LLVMValueRef first, LLVMTypeRef element_type) const;
  void StoreLine(LLVMValueRef address, LLVMValueRef first, LLVMValueRef vector,
                 LLVMTypeRef element_type);
  // What went past the caches comes before all that a function's caller stores.
  void AddFences(LLVMValueRef function) const;

  // Elements that follow each other in runs of lanes, in the order of memory; `mask`: of which
  // lanes, null: of all.
  void StoreRuns(LLVMValueRef address, const Loop& loop, const std::vector<LLVMValueRef>& vectors,
                 LLVMValueRef mask);
  // What stores lane by lane: a function (address, size, active lanes as <lanes x i32>, offsets,
  // values).
  struct Function {
    LLVMValueRef value = nullptr;
    LLVMTypeRef type;
  };
  const Function& StoreFunction(const Loop& loop);
  Function NewFunction(const Loop& loop);
  // Whether what lies apart is stored by Scatter, rather than by a function.
  bool Scatters(const Loop& loop) const;
  void StoreApart(const Loop& loop, const Function* function, LLVMValueRef address,
                  LLVMValueRef size, const std::vector<LLVMValueRef>& values);
  void Scatter(const Loop& loop, LLVMValueRef address, LLVMValueRef size, LLVMValueRef value);
  void CallFor(const Loop& loop, const Function& function, LLVMValueRef address, LLVMValueRef size,
               const std::vector<LLVMValueRef>& values);
  void Call(const Function& function, std::vector<LLVMValueRef> arguments);
  void MakeElementFunction(LLVMValueRef function, LLVMTypeRef element_type);
  void MakeQuadFunction(LLVMValueRef function);
  // Calls `store` once, in a block for where the condition holds.
  template <class Store>
  void StoreWhere(LLVMValueRef function, LLVMValueRef condition, Store store);
  // guard(lane, store): calls `store` once, where the lane's quad may be stored.
  template <class Guard>
  void StoreQuads(LLVMValueRef address, LLVMValueRef offsets,
                  const std::vector<LLVMValueRef>& values, Guard guard);

  void StoreMasked(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                   LLVMValueRef mask, LLVMTypeRef element_type);
  LLVMValueRef StoreTo(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                       LLVMTypeRef element_type);

  const void* caller_;
  SetAttributes* set_attributes_;
  std::map<LLVMTypeRef, Function> element_functions_;  // By ValueType.
  Function quad_function_;
  int streamed_ = 0;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_

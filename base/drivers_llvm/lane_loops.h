// Loops over the lanes of a subgroup, by which llvmpipe accesses buffers: what reads them.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_LOOPS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_LOOPS_H_

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/drivers_llvm/lane_builder.h"
#include "base/drivers_llvm/lane_steps.h"
#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe stores to a buffer, and loads from it, by a loop over the lanes: each asks whether the
// lane is active, loads the buffer's size and address, and compares them for each element. Those
// who derive from this replace such loops by what does the same for all lanes.
class LaneLoops {
 public:
  LaneLoops(const Llvm& llvm, LLVMModuleRef module)
      : llvm_(llvm),
        module_(module),
        context_(llvm.get_context(module)),
        build_(llvm, module),
        steps_(llvm) {}
  virtual ~LaneLoops() = default;
  LaneLoops(const LaneLoops&) = delete;
  LaneLoops& operator=(const LaneLoops&) = delete;

  // To be called before passes that promote variables: the loops' counters are in memory, and no
  // block has a phi. How many there were of its kind.
  int Combine();

 protected:
  // A loop as llvmpipe makes them (emit_load_mem and emit_store_mem of lp_bld_nir_soa.c).
  struct Loop {
    LLVMBasicBlockRef before;  // Goes to `header`, and nowhere else.
    LLVMBasicBlockRef header;
    LLVMBasicBlockRef exit;
    std::unordered_set<LLVMBasicBlockRef> blocks;
    LLVMValueRef lane;     // Which the turn is for, of `counter`.
    LLVMValueRef counter;  // Its variable.
    LLVMValueRef active;   // <lanes x i1>
    LLVMValueRef offsets;  // <lanes x i32>, in elements.
    LLVMValueRef bytes;    // Of which they are made, shifted right. Null: of none.
    LLVMValueRef offset;   // Of `lane`.
    LLVMTypeRef element_type;
    // Of each element of a lane, which follow each other. Of stores: <lanes x element_type>, or
    // another type as wide; of loads: the variable of the loaded ones.
    std::vector<LLVMValueRef> values;
    LLVMValueRef address;  // Of the buffer.
    LLVMValueRef size;     // In elements.
  };

  // What `block` does with an element, of which `bound` is the condition: reads it into `loop`, and
  // gives the block behind. Null where it is something else.
  virtual LLVMBasicBlockRef ReadAccess(LLVMBasicBlockRef block, LLVMValueRef bound,
                                       Loop& loop) const = 0;
  // Whether a loop that was read, of elements of integers, is one that Replace can replace.
  virtual bool CanReplace(const Loop& loop) const = 0;
  virtual void Replace(const Loop& loop) = 0;
  // Of a function, in the order of its blocks.
  virtual void ReplaceAll(LLVMValueRef function, const std::vector<Loop>& loops);
  std::vector<Loop> FindLoops(LLVMValueRef function) const;

  // getelementptr address, offset + number of the element. Reads the address, and `bound`.
  bool ReadPlace(LLVMValueRef place, LLVMValueRef bound, Loop& loop) const;
  // Where a block goes that does nothing behind `last`. Null where there is more.
  LLVMBasicBlockRef NextBehind(LLVMValueRef last) const;

  // For each lane, whether the buffer has room for its `count` elements.
  LLVMValueRef HaveRoom(LLVMValueRef offsets, unsigned count, LLVMValueRef size) const;
  // The first lane's offset, at the end of the block where the builder is.
  LLVMValueRef FirstOf(LLVMValueRef offsets) const;
  // What the loop computes for lane 0, computed where the builder is.
  LLVMValueRef CopyOf(LLVMValueRef value, const Loop& loop) const;
  // Goes on as the loop would.
  void LeaveFor(const Loop& loop) const;
  LLVMValueRef CallIntrinsic(std::string_view name, std::vector<LLVMTypeRef> types,
                             std::vector<LLVMValueRef> arguments) const;

  bool Is(LLVMValueRef value, int opcode) const {
    return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
  }
  bool IsComparison(LLVMValueRef value, int predicate) const {
    return Is(value, kICmp) && llvm_.get_predicate(value) == predicate;
  }
  bool IsNumber(LLVMValueRef value, unsigned long long number) const {
    return llvm_.is_constant_int(value) != nullptr && llvm_.get_int_value(value) == number;
  }
  LLVMValueRef Operand(LLVMValueRef value, unsigned index) const {
    return llvm_.get_operand(value, index);
  }
  unsigned LanesOf(LLVMValueRef vector) const {
    return llvm_.get_vector_size(llvm_.type_of(vector));
  }
  unsigned Lanes(const Loop& loop) const { return LanesOf(loop.active); }
  // Elements of a lane.
  static unsigned CountOf(const Loop& loop) { return static_cast<unsigned>(loop.values.size()); }
  unsigned BytesPerElement(const Loop& loop) const {
    return llvm_.get_int_width(loop.element_type) / 8;
  }
  LLVMTypeRef ValueType(const Loop& loop) const {
    return llvm_.vector_type(loop.element_type, Lanes(loop));
  }
  // Whether processors access some elements of such vectors as fast as all of them, which those
  // with AVX-512 do; with AVX2 alone to store some takes dozens of cycles.
  bool HasMasks(const Loop& loop) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LaneBuilder build_;
  LaneSteps steps_;

 private:
  // None where `latch` ends no such loop.
  std::optional<Loop> LoopOf(LLVMBasicBlockRef latch) const;
  LLVMValueRef BytesOf(const Loop& loop) const;
  LLVMValueRef Unshifted(const Loop& loop) const;
  bool ReadLatch(LLVMBasicBlockRef latch, Loop& loop) const;
  bool ReadHeader(LLVMBasicBlockRef latch, Loop& loop) const;
  LLVMBasicBlockRef ReadElement(LLVMBasicBlockRef block, Loop& loop) const;
  bool ReadBound(LLVMValueRef condition, LLVMValueRef index, Loop& loop) const;
  bool IsOffset(LLVMValueRef index, const Loop& loop) const;
  bool IsForAllLanes(LLVMValueRef value, const Loop& loop) const;
  bool HasOnlyItsOwnUses(const Loop& loop) const;
  bool HasKnownType(const Loop& loop) const;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_LOOPS_H_

// What lanes store beside each other is stored at once.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_

#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/drivers_llvm/lane_builder.h"
#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe stores to a buffer by a loop over the lanes: each asks whether the lane is active, loads
// the buffer's size and address, and compares them for each element. Here, in place of such a loop,
// whole vectors are stored where all lanes are active, their elements follow each other, and the
// buffer has room for all of them. With AVX-512 that holds where some are active, too. Else a
// function of the module stores for each lane what the loop would: quads whole where the buffer has
// room for each, or element by element.
class LaneStores {
 public:
  // Of a function of ours, what LLVMAddFunction sets of those of the driver.
  using SetAttributes = void(const void* caller, LLVMValueRef function);

  LaneStores(const Llvm& llvm, LLVMModuleRef module, const void* caller, SetAttributes* set);

  // To be called before passes that promote variables: the loops' counters are in memory, and no
  // block has a phi.
  void Combine();

 private:
  // A loop as llvmpipe makes them (emit_store_mem of lp_bld_nir_soa.c).
  struct Loop {
    LLVMBasicBlockRef before;  // Goes to `header`, and nowhere else.
    LLVMBasicBlockRef header;
    LLVMBasicBlockRef exit;
    std::unordered_set<LLVMBasicBlockRef> blocks;
    LLVMValueRef lane;     // Which the turn is for, of `counter`.
    LLVMValueRef counter;  // Its variable.
    LLVMValueRef active;   // <lanes x i1>
    LLVMValueRef offsets;  // <lanes x i32>, in elements.
    LLVMValueRef offset;   // Of `lane`.
    LLVMTypeRef element_type;
    // Elements of a lane follow each other; <lanes x element_type>, or another type as wide.
    std::vector<LLVMValueRef> values;
    LLVMValueRef address;  // Of the buffer.
    LLVMValueRef size;     // In elements.
  };

  void CombineIn(LLVMValueRef function);
  // None where `latch` ends no such loop.
  std::optional<Loop> LoopOf(LLVMBasicBlockRef latch) const;
  bool ReadLatch(LLVMBasicBlockRef latch, Loop& loop) const;
  bool ReadHeader(LLVMBasicBlockRef latch, Loop& loop) const;
  // The condition of an element in `block`, its store behind it, and the block after both.
  LLVMBasicBlockRef ReadElement(LLVMBasicBlockRef block, Loop& loop) const;
  bool ReadBound(LLVMValueRef condition, LLVMValueRef index, Loop& loop) const;
  bool IsOffset(LLVMValueRef index, const Loop& loop) const;
  bool IsForAllLanes(LLVMValueRef value, const Loop& loop) const;
  bool HasOnlyItsOwnUses(const Loop& loop) const;
  bool HasKnownType(const Loop& loop) const;

  void Replace(const Loop& loop);
  bool HasMaskedStores(const Loop& loop) const;
  // Elements that follow each other in runs of lanes, in the order of memory; `mask`: of which
  // lanes, null: of all.
  void StoreRuns(LLVMValueRef address, const Loop& loop, const std::vector<LLVMValueRef>& vectors,
                 LLVMValueRef mask);
  // Goes on as the loop would.
  void LeaveFor(const Loop& loop);

  // What stores lane by lane: a function (address, size, active lanes as <lanes x i32>, offsets,
  // values).
  struct Function {
    LLVMValueRef value = nullptr;
    LLVMTypeRef type;
  };
  const Function& StoreFunction(const Loop& loop);
  Function NewFunction(const Loop& loop);
  void Call(const Function& function, std::vector<LLVMValueRef> arguments);
  void MakeElementFunction(LLVMValueRef function, LLVMTypeRef element_type);
  void MakeQuadFunction(LLVMValueRef function);
  // Calls `store` once, in a block for where the condition holds.
  template <class Store>
  void StoreWhere(LLVMValueRef function, LLVMValueRef condition, Store store);
  // For each lane, whether the buffer has room for its `count` elements.
  LLVMValueRef HaveRoom(LLVMValueRef offsets, unsigned count, LLVMValueRef size);
  // guard(lane, store): calls `store` once, where the lane's quad may be stored.
  template <class Guard>
  void StoreQuads(LLVMValueRef address, LLVMValueRef offsets,
                  const std::vector<LLVMValueRef>& values, Guard guard);

  // What the loop computes for lane 0, computed where the builder is.
  LLVMValueRef CopyOf(LLVMValueRef value, const Loop& loop);
  void StoreMasked(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
                   LLVMValueRef mask, LLVMTypeRef element_type);
  void StoreTo(LLVMValueRef address, LLVMValueRef offset, LLVMValueRef vector,
               LLVMTypeRef element_type);

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
  LLVMTypeRef ValueType(const Loop& loop) const {
    return llvm_.vector_type(loop.element_type, Lanes(loop));
  }

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LaneBuilder build_;
  const void* caller_;
  SetAttributes* set_attributes_;
  std::map<LLVMTypeRef, Function> element_functions_;  // By ValueType.
  Function quad_function_;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_STORES_H_

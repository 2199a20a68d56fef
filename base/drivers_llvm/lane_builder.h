// What builds code of values that have an element for each lane.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_BUILDER_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_BUILDER_H_

#include <cstdint>
#include <vector>

#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

class LaneBuilder {
 public:
  LaneBuilder(const Llvm& llvm, LLVMModuleRef module)
      : llvm_(llvm),
        module_(module),
        context_(llvm.get_context(module)),
        builder_(llvm.create_builder(context_)),
        int32_(llvm.int_type(context_, 32)),
        int64_(llvm.int_type(context_, 64)) {}
  ~LaneBuilder() { llvm_.dispose_builder(builder_); }
  LaneBuilder(const LaneBuilder&) = delete;
  LaneBuilder& operator=(const LaneBuilder&) = delete;

  LLVMBuilderRef get() const { return builder_; }
  LLVMTypeRef int32() const { return int32_; }
  LLVMTypeRef int64() const { return int64_; }
  LLVMValueRef Number(uint32_t value) const { return llvm_.const_int(int32_, value, 0); }
  LLVMValueRef WideNumber(uint64_t value) const { return llvm_.const_int(int64_, value, 0); }

  LLVMValueRef Element(LLVMValueRef vector, unsigned lane) const {
    return llvm_.build_extract(builder_, vector, Number(lane), "");
  }
  // What `vector` has for `lane`, for who uses it before the instruction `user`, where the builder
  // is then. What makes up those of all lanes is computed for that lane alone, each where it was,
  // which may be outside of a loop: processors have other units for that than for vectors.
  LLVMValueRef Scalar(LLVMValueRef vector, unsigned lane, LLVMValueRef user) const;
  LLVMValueRef Shuffle(LLVMValueRef a, LLVMValueRef b, const std::vector<unsigned>& elements) const;
  LLVMValueRef Splat(LLVMValueRef scalar, unsigned lanes) const;
  // `count` elements from `first` on.
  LLVMValueRef Part(LLVMValueRef vector, unsigned first, unsigned count) const;
  // A pointer to 16 bytes that are 0, to load from in the place of what is beyond a buffer: a
  // branch around a load keeps LLVM from ordering what is before and behind it.
  LLVMValueRef Zeros(LLVMTypeRef pointed_to);
  // Whether a buffer of `size` elements has `count` of them from `first` on, which has 64 bits.
  LLVMValueRef IsRunInside(LLVMValueRef first, unsigned count, LLVMValueRef size) const;
  // Of a function: `count` of them, on its stack. The builder is elsewhere then.
  LLVMValueRef NewVariables(LLVMValueRef function, LLVMTypeRef type, unsigned count) const;
  // Of <n x i1>: whether all are set.
  LLVMValueRef AreAll(LLVMValueRef bits) const;
  // Lanes come in runs, whose elements follow each other, and what the next run is about may lie
  // elsewhere: as many as fill a vector of 512 bits with quads; of single words as many as fill one
  // of 256, for which kernels are made. Or in one of all lanes where they are fewer.
  static unsigned LanesOfRun(unsigned lanes, unsigned count) {
    const unsigned run = count == 1 ? 8 : 4;
    return lanes < run ? lanes : run;
  }
  // Of <n x i32>, in runs of `run` lanes: for each lane, whether it is that of the first of its
  // run, and `step` more for each lane between them.
  LLVMValueRef Follow(LLVMValueRef numbers, unsigned run, unsigned step) const;

  // Of four vectors that have an element for each of 4, 8 or 16 lanes: the quads of the lanes, one
  // behind the other, in four vectors of the same size.
  std::vector<LLVMValueRef> QuadsOf(const std::vector<LLVMValueRef>& elements) const;
  // The elements of such quads.
  std::vector<LLVMValueRef> ElementsOf(const std::vector<LLVMValueRef>& quads) const;
  // Of such quads: that of a lane.
  LLVMValueRef QuadOf(const std::vector<LLVMValueRef>& quads, unsigned lane) const;

  // What `value` is computed by, once more: replace(v) is what stands for v, null where v is to be
  // computed anew, which must be by an instruction.
  template <class Replace>
  LLVMValueRef Copy(LLVMValueRef value, Replace replace) const {
    if (LLVMValueRef replaced = replace(value)) return replaced;
    std::vector<LLVMValueRef> operands(static_cast<size_t>(llvm_.get_num_operands(value)));
    for (unsigned i = 0; i < operands.size(); ++i) {
      operands[i] = Copy(llvm_.get_operand(value, i), replace);
    }
    LLVMValueRef copy = llvm_.clone(value);
    for (unsigned i = 0; i < operands.size(); ++i) llvm_.set_operand(copy, i, operands[i]);
    llvm_.insert(builder_, copy);
    return copy;
  }

  LLVMBasicBlockRef NewBlock(LLVMValueRef function, const char* name) const {
    return llvm_.append_block(context_, function, name);
  }
  // Where `likely` is taken so many times as often as `otherwise`: LLVM keeps values in registers
  // there.
  void BranchLikely(LLVMValueRef condition, LLVMBasicBlockRef likely, LLVMBasicBlockRef otherwise,
                    unsigned times) const;

 private:
  LLVMValueRef Scalar(LLVMValueRef vector, unsigned lane, LLVMValueRef user, int depth) const;
  // Behind the instruction `value`; before `user` where it is none, or one of those that come
  // first.
  void PositionBehind(LLVMValueRef value, LLVMValueRef user) const;
  // Of four vectors of 8 elements: those of lanes 0 and 4, of 1 and 5, of 2 and 6, and of 3 and 7,
  // four of each lane. The same of these gives the four vectors back.
  std::vector<LLVMValueRef> TransposeHalves(const std::vector<LLVMValueRef>& fours) const;

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  LLVMTypeRef int32_;
  LLVMTypeRef int64_;
  LLVMValueRef zeros_ = nullptr;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_BUILDER_H_

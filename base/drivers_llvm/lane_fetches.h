// What lanes fetch of a texel buffer beside each other is loaded as it lies.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LANE_FETCHES_H_
#define WEBNND_BASE_DRIVERS_LLVM_LANE_FETCHES_H_

#include <map>
#include <optional>
#include <vector>

#include "base/drivers_llvm/access_order.h"
#include "base/drivers_llvm/lane_builder.h"
#include "base/drivers_llvm/lane_steps.h"
#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// llvmpipe fetches from each texel buffer by a function of its own, which takes lanes' addresses
// one by one from a vector and masks what is beyond the buffer. One whose texels are four words of
// 32 bits here first looks whether it is asked for texels behind each other in each run of lanes
// (LaneBuilder), all of them inside, and then loads them as vectors. It asks to be inlined: with
// two ways through it, LLVM would not think it worth while. Where all lanes ask for one texel, it
// is loaded once, without a call. Such calls that follow each other, and whose texels differ by
// constants, are a run, as loops that load are one (lane_loads.h).
class LaneFetches {
 public:
  LaneFetches(const Llvm& llvm, LLVMModuleRef module)
      : llvm_(llvm),
        module_(module),
        context_(llvm.get_context(module)),
        build_(llvm, module),
        steps_(llvm) {}

  // To be called before passes that change llvmpipe's code.
  void Shorten();

 private:
  // A function of llvmpipe's (lp_bld_format_soa.c, lp_build_fetch_rgba_soa), in one block.
  struct Fetch {
    LLVMBasicBlockRef block;
    LLVMValueRef index = nullptr;   // <lanes x i32>, the texel of each lane.
    LLVMValueRef texels = nullptr;  // Of the buffer, i32.
    LLVMValueRef base = nullptr;    // i8*
    LLVMValueRef mask = nullptr;    // <lanes x i32>, of those beyond the buffer.
  };

  // A word of 32 bits of a vector.
  struct Word {
    LLVMValueRef vector = nullptr;
    unsigned place;
  };

  bool Read(LLVMValueRef function, Fetch& fetch) const;
  // Each of these notes in `fetch` what it finds, which must be the same for all.
  bool IsChannel(LLVMValueRef value, unsigned channel, Fetch& fetch) const;
  bool IsTexel(LLVMValueRef value, unsigned lane, Fetch& fetch) const;
  bool IsOffset(LLVMValueRef value, unsigned lane, Fetch& fetch) const;
  bool IsOffsets(LLVMValueRef value, Fetch& fetch) const;
  bool IsMask(LLVMValueRef value, Fetch& fetch) const;
  bool IsNot(LLVMValueRef value, LLVMValueRef mask) const;
  // Where shuffles and casts take a word of `value` from; no vector where they make it up.
  Word SourceOf(LLVMValueRef value, unsigned place) const;
  unsigned WordsOfElement(LLVMTypeRef vector) const;

  void Shorten(LLVMValueRef function, const Fetch& fetch);
  // The calls whose lanes ask for one texel.
  std::vector<LLVMValueRef> FindUniformCalls(LLVMValueRef function, const Fetch& fetch) const;
  // Of them, what asks for texel `root` + `constant`.
  struct Member {
    LLVMValueRef call;
    LLVMValueRef root;
    uint32_t constant;
    std::optional<AccessOrder::Place> order;
  };
  using Run = std::vector<Member>;
  std::vector<Run> FindRuns(LLVMValueRef function, const Fetch& fetch);
  const AccessOrder& OrderIn(LLVMValueRef function);
  // Whether the last member belongs to those before it. `index`: the parameter that says which
  // texel.
  bool IsRun(const Run& run, unsigned index) const;
  // Which of the function's parameters it is, as many as there are where it is none.
  unsigned IndexOf(LLVMValueRef parameter, LLVMValueRef function) const;
  // In the place of such a call.
  void LoadOne(LLVMValueRef call, LLVMValueRef function, const Fetch& fetch);
  void LoadRun(const Run& run, LLVMValueRef function, const Fetch& fetch);
  // Where texel `index` is, which has 64 bits, as i32*.
  LLVMValueRef AddressOf(LLVMValueRef base, LLVMValueRef index);
  // The same, or where zeros are if the buffer has no such texel.
  LLVMValueRef AddressInside(LLVMValueRef base, LLVMValueRef texels, LLVMValueRef index);
  // In the place of a call: the texel that lies there.
  void ReplaceByTexel(LLVMValueRef call, LLVMValueRef address, const Fetch& fetch);
  // What the function computes from its parameters, for a call, where the builder is.
  LLVMValueRef CopyFor(LLVMValueRef call, LLVMValueRef value, LLVMValueRef function);
  // Moves what is from `instruction` on to a block of its own, to which nothing goes yet.
  LLVMBasicBlockRef SplitBefore(LLVMValueRef instruction);
  // What a fetch gives of these, of <lanes x i32> each.
  LLVMValueRef ResultOf(const std::vector<LLVMValueRef>& channels, LLVMTypeRef type);
  // Of texels that follow each other in runs of lanes.
  std::vector<LLVMValueRef> LoadChannels(LLVMValueRef base, LLVMValueRef index);
  LLVMValueRef CopyOf(LLVMValueRef value, const Fetch& fetch);

  bool Is(LLVMValueRef value, int opcode) const {
    return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == opcode;
  }
  LLVMValueRef Operand(LLVMValueRef value, unsigned index) const {
    return llvm_.get_operand(value, index);
  }
  unsigned LanesOf(LLVMValueRef vector) const {
    return llvm_.get_vector_size(llvm_.type_of(vector));
  }
  // What is cast to other elements of the same bits.
  LLVMValueRef Uncast(LLVMValueRef value) const {
    while (Is(value, kBitCast)) value = Operand(value, 0);
    return value;
  }
  // Whether `note` is `value`, which it becomes where there is none.
  static bool IsSame(LLVMValueRef& note, LLVMValueRef value) {
    if (note == nullptr) note = value;
    return note == value;
  }

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LaneBuilder build_;
  LaneSteps steps_;
  std::map<LLVMValueRef, AccessOrder> orders_;  // Of functions.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LANE_FETCHES_H_

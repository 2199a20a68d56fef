// float32 that shaders round to float16 bit by bit is rounded by one instruction.
#ifndef WEBNND_BASE_DRIVERS_LLVM_HALF_ROUNDINGS_H_
#define WEBNND_BASE_DRIVERS_LLVM_HALF_ROUNDINGS_H_

#include <cstdint>
#include <optional>

#include "base/drivers_llvm/lane_steps.h"
#include "base/drivers_llvm/llvm_functions.h"

namespace webnnd {

// Vulkan lets packHalf2x16 round either way, and llvmpipe's truncates: so FloatToHalf
// (shaders/tensor.glsl) computes a float16's bits from those of a float32, in some 20 operations.
// Here they become LLVM's fptrunc, which rounds to nearest even, as they do, but keeps more bits of
// NaN. Only the whole of it is taken, with all of its numbers: what is written in another way, or
// has been simplified, stays.
class HalfRoundings {
 public:
  HalfRoundings(const Llvm& llvm, LLVMModuleRef module);
  ~HalfRoundings() { llvm_.dispose_builder(builder_); }
  HalfRoundings(const HalfRoundings&) = delete;
  HalfRoundings& operator=(const HalfRoundings&) = delete;

  // To be called before passes that simplify.
  void Replace();

 private:
  struct Choice {
    LLVMValueRef condition = nullptr;  // Null: it is none.
    LLVMValueRef then = nullptr;
    LLVMValueRef otherwise = nullptr;
  };

  // The float32 of which `half` is the float16, as a vector of either's bits. Null: of none.
  LLVMValueRef SourceOf(LLVMValueRef half) const;
  // The same without signs.
  LLVMValueRef MagnitudeOf(LLVMValueRef half) const;
  // Whether `half` is what FloatToHalf has for such magnitudes.
  bool IsOfLarge(LLVMValueRef half, LLVMValueRef magnitude) const;
  bool IsOfSubnormal(LLVMValueRef half, LLVMValueRef magnitude) const;
  bool IsOfNormal(LLVMValueRef half, LLVMValueRef magnitude) const;

  // The operand beside that number, in all lanes, of an operation; null where it is another one.
  // Numbers come second, as NIR puts them.
  LLVMValueRef Beside(uint32_t number, LLVMValueRef value, int opcode) const;
  Choice ChoiceOf(LLVMValueRef value) const;
  // The comparison of a condition of that many lanes, which llvmpipe widens to masks and narrows
  // again.
  LLVMValueRef ComparisonOf(LLVMValueRef condition, unsigned lanes) const;
  // Of a vector with one number of 32 bits in all lanes.
  std::optional<uint32_t> NumberOf(LLVMValueRef vector) const;
  bool IsOfWords(LLVMValueRef vector) const;
  // Of what is loaded, llvmpipe takes each part as often as it is used.
  bool AreSame(LLVMValueRef a, LLVMValueRef b) const;
  // Without casts.
  LLVMValueRef BitsOf(LLVMValueRef value) const;
  bool IsOf(LLVMValueRef value, int opcode) const;

  void RoundInPlaceOf(LLVMValueRef half, LLVMValueRef source);

  const Llvm& llvm_;
  LLVMModuleRef module_;
  LLVMContextRef context_;
  LLVMBuilderRef builder_;
  LaneSteps steps_;
  unsigned blend_;  // The number of the intrinsic by which llvmpipe chooses among 8 lanes.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_HALF_ROUNDINGS_H_

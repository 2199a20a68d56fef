#define SPV_ENABLE_UTILITY_CODE
#include "service/spirv/instruction.h"

namespace webnnd::service::spirv {

Instruction::Instruction(std::span<const uint32_t> words) : words_(words) {
  spv::HasResultAndType(op(), &has_result_, &has_type_);
  CHECK(words_.size() >= first_operand());
}

std::vector<Instruction> InstructionsOf(std::span<const uint32_t> code) {
  CHECK(code.size() > kHeaderWords && code[0] == spv::MagicNumber);
  std::vector<Instruction> instructions;
  size_t words = 0;
  for (size_t at = kHeaderWords; at < code.size(); at += words) {
    words = code[at] >> 16;
    CHECK(words > 0 && words <= code.size() - at);
    instructions.emplace_back(code.subspan(at, words));
  }
  return instructions;
}

size_t StringWords(std::span<const uint32_t> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (int shift = 0; shift < 32; shift += 8) {
      if ((words[i] >> shift & 0xff) == 0) return i + 1;
    }
  }
  UNREACHABLE();
}

const char* OperandKinds(spv::Op op) {
  using spv::Op;
  switch (op) {
    // Of the module.
    case Op::OpCapability:
      return "l";
    case Op::OpExtension:
    case Op::OpExtInstImport:
      return "s";
    case Op::OpMemoryModel:
      return "ll";
    case Op::OpEntryPoint:
      return "lisI";
    case Op::OpExecutionMode:
    case Op::OpDecorate:
      return "ilL";
    case Op::OpMemberDecorate:
      return "illL";
    // Types and constants.
    case Op::OpTypeInt:
      return "ll";
    case Op::OpTypeFloat:
      return "l";
    case Op::OpTypeVector:
    case Op::OpTypeMatrix:
      return "il";
    case Op::OpTypeImage:
      return "iL";
    case Op::OpTypePointer:
      return "li";
    case Op::OpConstant:
    case Op::OpSpecConstant:
      return "L";
    case Op::OpSpecConstantOp:
      return "O";
    // Functions and memory.
    case Op::OpFunction:
      return "li";
    case Op::OpVariable:
      return "lI";
    case Op::OpLoad:
      return "iL";
    case Op::OpArrayLength:
      return "il";
    case Op::OpStore:
      return "iiL";
    // Values.
    case Op::OpCompositeExtract:
      return "iL";
    case Op::OpCompositeInsert:
    case Op::OpVectorShuffle:
      return "iiL";
    case Op::OpExtInst:
      return "ilI";
    case Op::OpImageFetch:
      return "iilI";
    case Op::OpGroupNonUniformBallotBitCount:
    case Op::OpGroupNonUniformIAdd:
    case Op::OpGroupNonUniformFAdd:
    case Op::OpGroupNonUniformFMax:
    case Op::OpGroupNonUniformFMin:
    case Op::OpGroupNonUniformUMax:
    case Op::OpGroupNonUniformUMin:
      return "ilI";
    // Control flow.
    case Op::OpSelectionMerge:
      return "il";
    case Op::OpLoopMerge:
      return "iiL";
    case Op::OpBranchConditional:
      return "iiiL";
    case Op::OpSwitch:
      return "iiP";
    // Those whose operands are all ids, if there are any.
    case Op::OpTypeVoid:
    case Op::OpTypeBool:
    case Op::OpTypeSampledImage:
    case Op::OpTypeArray:
    case Op::OpTypeRuntimeArray:
    case Op::OpTypeStruct:
    case Op::OpTypeFunction:
    case Op::OpConstantTrue:
    case Op::OpConstantFalse:
    case Op::OpConstantComposite:
    case Op::OpConstantNull:
    case Op::OpUndef:
    case Op::OpSpecConstantTrue:
    case Op::OpSpecConstantFalse:
    case Op::OpSpecConstantComposite:
    case Op::OpFunctionParameter:
    case Op::OpFunctionEnd:
    case Op::OpFunctionCall:
    case Op::OpAccessChain:
    case Op::OpLabel:
    case Op::OpPhi:
    case Op::OpBranch:
    case Op::OpReturn:
    case Op::OpReturnValue:
    case Op::OpUnreachable:
    case Op::OpControlBarrier:
    case Op::OpMemoryBarrier:
    case Op::OpImage:
    case Op::OpCompositeConstruct:
    case Op::OpVectorExtractDynamic:
    case Op::OpCopyObject:
    case Op::OpTranspose:
      return "I";
    default:
      break;
  }
  // Arithmetic, conversions and comparisons, atomics, and what subgroups share stand together.
  const bool is_of_ids =
      (op >= Op::OpConvertFToU && op <= Op::OpBitcast) ||
      (op >= Op::OpSNegate && op <= Op::OpFwidthCoarse) ||
      (op >= Op::OpAtomicLoad && op <= Op::OpAtomicXor) ||
      (op >= Op::OpGroupNonUniformElect && op <= Op::OpGroupNonUniformShuffleDown);
  CHECK(is_of_ids);
  return "I";
}

}  // namespace webnnd::service::spirv

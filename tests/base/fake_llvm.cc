// A library that has LLVM's functions, and notes what it is called with. Its modules are a function
// of some blocks without instructions. WEBNND_ANOTHER_LLVM: without those that walk through them.
#include <cstdint>
#include <string>

#define EXPORTED __attribute__((visibility("default")))

namespace {
std::string calls;
std::string taken;
int function;
int error;
[[maybe_unused]] intptr_t blocks;
}  // namespace

extern "C" {
EXPORTED void* LLVMAddFunction(void*, const char* name, void*) {
  calls += std::string("function ") + name + "\n";
  return &function;
}
EXPORTED void LLVMAddTargetDependentFunctionAttr(void* of, const char* attribute,
                                                 const char* value) {
  calls += std::string(attribute) + " " + value + (of == &function ? "\n" : " of another\n");
}
// An error, which is a pointer, for those that it does not know.
EXPORTED void* LLVMRunPasses(void*, const char* passes, void*, void*) {
  const std::string names = passes;
  calls += "passes " + names + "\n";
  const bool is_known = names != "unknown" && names.find("unroll") == std::string::npos;
  return is_known ? nullptr : &error;
}
EXPORTED const char* TakeCalls() {
  taken.swap(calls);
  calls.clear();
  return taken.c_str();
}

#ifndef WEBNND_ANOTHER_LLVM
EXPORTED void SetBlocks(int count) { blocks = count; }
EXPORTED void LLVMConsumeError(void* consumed) {
  calls += consumed == &error ? "error consumed\n" : "another error consumed\n";
}
EXPORTED void* LLVMGetFirstFunction(void*) { return &function; }
EXPORTED void* LLVMGetNextFunction(void*) { return nullptr; }
// A block is the number of those that are left.
EXPORTED void* LLVMGetFirstBasicBlock(void*) { return reinterpret_cast<void*>(blocks); }
EXPORTED void* LLVMGetNextBasicBlock(void* block) {
  return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(block) - 1);
}
EXPORTED void* LLVMGetFirstInstruction(void*) { return nullptr; }
// Nothing asks these of what has no instructions.
#define UNUSED(name) \
  EXPORTED void* name() { return nullptr; }
UNUSED(LLVMGetBasicBlockParent)
UNUSED(LLVMAppendBasicBlockInContext)
UNUSED(LLVMGetBasicBlockTerminator)
UNUSED(LLVMGetNumSuccessors)
UNUSED(LLVMGetSuccessor)
UNUSED(LLVMGetCondition)
UNUSED(LLVMGetNextInstruction)
UNUSED(LLVMGetInstructionParent)
UNUSED(LLVMIsAInstruction)
UNUSED(LLVMGetInstructionOpcode)
UNUSED(LLVMGetICmpPredicate)
UNUSED(LLVMGetNumOperands)
UNUSED(LLVMGetOperand)
UNUSED(LLVMSetOperand)
UNUSED(LLVMGetNumMaskElements)
UNUSED(LLVMGetMaskValue)
UNUSED(LLVMGetFirstUse)
UNUSED(LLVMGetNextUse)
UNUSED(LLVMGetUser)
UNUSED(LLVMIsNull)
UNUSED(LLVMIsAConstantInt)
UNUSED(LLVMIsAConstantDataVector)
UNUSED(LLVMGetElementAsConstant)
UNUSED(LLVMConstNull)
UNUSED(LLVMConstAllOnes)
UNUSED(LLVMTypeOf)
UNUSED(LLVMGetTypeKind)
UNUSED(LLVMGetElementType)
UNUSED(LLVMGetVectorSize)
UNUSED(LLVMGetIntTypeWidth)
UNUSED(LLVMIntTypeInContext)
UNUSED(LLVMGetModuleContext)
UNUSED(LLVMLookupIntrinsicID)
UNUSED(LLVMGetIntrinsicDeclaration)
UNUSED(LLVMIntrinsicGetType)
UNUSED(LLVMCreateBuilderInContext)
UNUSED(LLVMDisposeBuilder)
UNUSED(LLVMPositionBuilderBefore)
UNUSED(LLVMPositionBuilderAtEnd)
UNUSED(LLVMInsertIntoBuilder)
UNUSED(LLVMBuildFNeg)
UNUSED(LLVMBuildBitCast)
UNUSED(LLVMBuildICmp)
UNUSED(LLVMBuildCondBr)
UNUSED(LLVMBuildCall2)
UNUSED(LLVMConstIntGetZExtValue)
UNUSED(LLVMConstInt)
UNUSED(LLVMConstVector)
UNUSED(LLVMGetUndef)
UNUSED(LLVMVectorType)
UNUSED(LLVMPointerType)
UNUSED(LLVMInstructionClone)
UNUSED(LLVMSetAlignment)
UNUSED(LLVMBuildAdd)
UNUSED(LLVMBuildAnd)
UNUSED(LLVMBuildOr)
UNUSED(LLVMBuildNot)
UNUSED(LLVMBuildZExt)
UNUSED(LLVMBuildExtractElement)
UNUSED(LLVMBuildInsertElement)
UNUSED(LLVMBuildShuffleVector)
UNUSED(LLVMBuildGEP2)
UNUSED(LLVMBuildStore)
UNUSED(LLVMBuildBr)
UNUSED(LLVMBuildSExt)
UNUSED(LLVMBuildRetVoid)
UNUSED(LLVMVoidTypeInContext)
UNUSED(LLVMSetLinkage)
UNUSED(LLVMGetParam)
UNUSED(LLVMGetMDKindIDInContext)
UNUSED(LLVMMDStringInContext2)
UNUSED(LLVMValueAsMetadata)
UNUSED(LLVMMDNodeInContext2)
UNUSED(LLVMMetadataAsValue)
UNUSED(LLVMSetMetadata)
UNUSED(LLVMFunctionType)
UNUSED(LLVMBuildMul)
UNUSED(LLVMBuildLoad2)
UNUSED(LLVMBuildInsertValue)
UNUSED(LLVMBuildRet)
UNUSED(LLVMInsertBasicBlockInContext)
UNUSED(LLVMStructGetTypeAtIndex)
UNUSED(LLVMGetNumIndices)
UNUSED(LLVMGetIndices)
UNUSED(LLVMGetEnumAttributeKindForName)
UNUSED(LLVMCreateEnumAttribute)
UNUSED(LLVMAddAttributeAtIndex)
UNUSED(LLVMReplaceAllUsesWith)
UNUSED(LLVMInstructionRemoveFromParent)
UNUSED(LLVMInstructionEraseFromParent)
#endif
}

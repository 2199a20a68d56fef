// A library that has LLVM's functions, and notes what it is called with. Its modules are a function
// of some blocks, each of some multiply-adds. WEBNND_ANOTHER_LLVM: without those that walk through
// them.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#define EXPORTED __attribute__((visibility("default")))

namespace {
std::mutex mutex;
std::string calls;
std::string taken;
int function;
int error;
[[maybe_unused]] intptr_t blocks;
// Of the calling thread's modules.
[[maybe_unused]] thread_local intptr_t multiply_adds;
[[maybe_unused]] thread_local unsigned lanes;
std::atomic<int> compiling;
std::atomic<int> most;  // At once, of those that compile.
std::atomic<bool> is_another_to_come;

void Note(const std::string& call) {
  const std::scoped_lock lock(mutex);
  calls += call + "\n";
}
}  // namespace

extern "C" {
EXPORTED void* LLVMAddFunction(void*, const char* name, void*) {
  Note(std::string("function ") + name);
  return &function;
}
EXPORTED void LLVMAddTargetDependentFunctionAttr(void* of, const char* attribute,
                                                 const char* value) {
  Note(std::string(attribute) + " " + value + (of == &function ? "" : " of another"));
}
// Notes how many run at once. Waits for another one: long where one is to come, else for a while.
EXPORTED void* LLVMGetPointerToGlobal(void*, void* of) {
  const int now = ++compiling;
  for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
  }
  const int wait_ms = is_another_to_come ? 10000 : 10;
  for (int i = 0; i < wait_ms && most < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Note("compiled, at once " + std::to_string(most));
  --compiling;
  return of;
}
EXPORTED void ExpectAnother() { is_another_to_come = true; }

// An error, which is a pointer, for those that it does not know.
EXPORTED void* LLVMRunPasses(void*, const char* passes, void*, void*) {
  const std::string names = passes;
  Note("passes " + names);
  const bool is_known = names != "unknown" && names.find("unroll") == std::string::npos;
  return is_known ? nullptr : &error;
}
EXPORTED const char* TakeCalls() {
  const std::scoped_lock lock(mutex);
  taken.swap(calls);
  calls.clear();
  return taken.c_str();
}

#ifndef WEBNND_ANOTHER_LLVM
EXPORTED void SetBlocks(int count) { blocks = count; }
EXPORTED void LLVMConsumeError(void* consumed) {
  Note(consumed == &error ? "error consumed" : "another error consumed");
}
EXPORTED void SetMultiplyAdds(int count, int of_lanes) {
  multiply_adds = count;
  lanes = static_cast<unsigned>(of_lanes);
}
EXPORTED void LLVMParseCommandLineOptions(int count, const char* const* options, const char*) {
  for (int i = 1; i < count; ++i) Note(options[i]);
}
EXPORTED void* LLVMGetGlobalParent(void* of) { return of; }
EXPORTED void* LLVMGetFirstFunction(void*) { return &function; }
EXPORTED void* LLVMGetNextFunction(void*) { return nullptr; }
// A block is the number of those that are left.
EXPORTED void* LLVMGetFirstBasicBlock(void*) { return reinterpret_cast<void*>(blocks); }
EXPORTED void* LLVMGetNextBasicBlock(void* block) {
  return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(block) - 1);
}
// An instruction, too, is the number of those that are left.
EXPORTED void* LLVMGetFirstInstruction(void*) { return reinterpret_cast<void*>(multiply_adds); }
EXPORTED void* LLVMGetNextInstruction(void* instruction) {
  return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(instruction) - 1);
}
EXPORTED int LLVMGetInstructionOpcode(void*) { return 45; }  // A call, in llvm-c/Core.h.
EXPORTED void* LLVMTypeOf(void* value) { return value; }
EXPORTED int LLVMGetTypeKind(void*) { return 13; }  // A vector.
EXPORTED unsigned LLVMGetVectorSize(void*) { return lanes; }
EXPORTED void* LLVMGetCalledValue(void*) { return &function; }
EXPORTED void* LLVMIsAFunction(void* value) { return value; }
EXPORTED unsigned LLVMGetIntrinsicID(void*) { return 7; }
EXPORTED unsigned LLVMLookupIntrinsicID(const char* name, size_t) {
  return name == std::string("llvm.fmuladd") ? 7 : 8;
}
// Nothing asks these of what has no other instructions.
#define UNUSED(name) \
  EXPORTED void* name() { return nullptr; }
UNUSED(LLVMGetBasicBlockParent)
UNUSED(LLVMAppendBasicBlockInContext)
UNUSED(LLVMGetBasicBlockTerminator)
UNUSED(LLVMGetNumSuccessors)
UNUSED(LLVMGetSuccessor)
UNUSED(LLVMGetCondition)
UNUSED(LLVMGetInstructionParent)
UNUSED(LLVMIsAInstruction)
UNUSED(LLVMGetICmpPredicate)
UNUSED(LLVMGetFCmpPredicate)
UNUSED(LLVMGetNumOperands)
UNUSED(LLVMGetOperand)
UNUSED(LLVMSetOperand)
UNUSED(LLVMCountIncoming)
UNUSED(LLVMGetIncomingValue)
UNUSED(LLVMGetIncomingBlock)
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
UNUSED(LLVMGetElementType)
UNUSED(LLVMGetIntTypeWidth)
UNUSED(LLVMIntTypeInContext)
UNUSED(LLVMGetModuleContext)
UNUSED(LLVMGetIntrinsicDeclaration)
UNUSED(LLVMIntrinsicGetType)
UNUSED(LLVMCreateBuilderInContext)
UNUSED(LLVMDisposeBuilder)
UNUSED(LLVMPositionBuilderBefore)
UNUSED(LLVMPositionBuilderAtEnd)
UNUSED(LLVMInsertIntoBuilder)
UNUSED(LLVMGetInsertBlock)
UNUSED(LLVMBuildFNeg)
UNUSED(LLVMBuildCast)
UNUSED(LLVMDoubleTypeInContext)
UNUSED(LLVMBuildBitCast)
UNUSED(LLVMBuildPtrToInt)
UNUSED(LLVMBuildICmp)
UNUSED(LLVMBuildFCmp)
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
UNUSED(LLVMBuildTrunc)
UNUSED(LLVMBuildZExt)
UNUSED(LLVMBuildSelect)
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
UNUSED(LLVMGetFirstParam)
UNUSED(LLVMGetParam)
UNUSED(LLVMGetMDKindIDInContext)
UNUSED(LLVMMDStringInContext2)
UNUSED(LLVMValueAsMetadata)
UNUSED(LLVMMDNodeInContext2)
UNUSED(LLVMMetadataAsValue)
UNUSED(LLVMSetMetadata)
UNUSED(LLVMFunctionType)
UNUSED(LLVMBuildMul)
UNUSED(LLVMBuildArrayAlloca)
UNUSED(LLVMBuildLoad2)
UNUSED(LLVMBuildInsertValue)
UNUSED(LLVMBuildRet)
UNUSED(LLVMInsertBasicBlockInContext)
UNUSED(LLVMCountStructElementTypes)
UNUSED(LLVMGetGEPSourceElementType)
UNUSED(LLVMStructGetTypeAtIndex)
UNUSED(LLVMGetNumIndices)
UNUSED(LLVMGetIndices)
UNUSED(LLVMGetEnumAttributeKindForName)
UNUSED(LLVMCreateEnumAttribute)
UNUSED(LLVMAddAttributeAtIndex)
UNUSED(LLVMRemoveEnumAttributeAtIndex)
UNUSED(LLVMGetValueName2)
UNUSED(LLVMAddGlobal)
UNUSED(LLVMSetInitializer)
UNUSED(LLVMSetGlobalConstant)
UNUSED(LLVMCountParams)
UNUSED(LLVMBuildBinOp)
UNUSED(LLVMBuildFreeze)
UNUSED(LLVMBuildPhi)
UNUSED(LLVMAddIncoming)
UNUSED(LLVMConstRealGetDouble)
UNUSED(LLVMFloatTypeInContext)
UNUSED(LLVMHalfTypeInContext)
UNUSED(LLVMBuildFPTrunc)
UNUSED(LLVMBuildFPExt)
UNUSED(LLVMReplaceAllUsesWith)
UNUSED(LLVMInstructionRemoveFromParent)
UNUSED(LLVMInstructionEraseFromParent)
#endif
}

// Functions of LLVM's C interface (llvm-c/Core.h), found in the LLVM that a driver is linked to.
#ifndef WEBNND_BASE_DRIVERS_LLVM_LLVM_FUNCTIONS_H_
#define WEBNND_BASE_DRIVERS_LLVM_LLVM_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace webnnd {

// LLVM's names for them; all of them are pointers.
using LLVMModuleRef = void*;
using LLVMValueRef = void*;
using LLVMUseRef = void*;
using LLVMBasicBlockRef = void*;
using LLVMTypeRef = void*;
using LLVMContextRef = void*;
using LLVMBuilderRef = void*;
using LLVMMetadataRef = void*;
using LLVMAttributeRef = void*;

// LLVMOpcode, LLVMTypeKind and LLVMIntPredicate, whose values do not change.
enum LlvmOpcode : int {
  kRet = 1,
  kBr = 2,
  kAdd = 8,
  kFAdd = 9,
  kSub = 10,
  kFSub = 11,
  kMul = 12,
  kFMul = 13,
  kUDiv = 14,
  kSDiv = 15,
  kFDiv = 16,
  kURem = 17,
  kSRem = 18,
  kShl = 20,
  kLShr = 21,
  kAShr = 22,
  kAnd = 23,
  kOr = 24,
  kXor = 25,
  kAlloca = 26,
  kLoad = 27,
  kStore = 28,
  kGetElementPtr = 29,
  kTrunc = 30,
  kZExt = 31,
  kSExt = 32,
  kFPToUI = 33,
  kFPToSI = 34,
  kUIToFP = 35,
  kSIToFP = 36,
  kBitCast = 41,
  kICmp = 42,
  kFCmp = 43,
  kPhi = 44,
  kCall = 45,
  kSelect = 46,
  kExtractElement = 50,
  kInsertElement = 51,
  kShuffleVector = 52,
  kExtractValue = 53,
  kInsertValue = 54,
  kFence = 55,
  kAtomicCompareExchange = 56,
  kAtomicReadModifyWrite = 57,
  kFNeg = 66,
  kFreeze = 68,
};
constexpr int kVoidType = 0;
constexpr int kHalfType = 1;
constexpr int kFloatType = 2;
constexpr int kIntegerType = 8;
constexpr int kStructType = 10;
constexpr int kArrayType = 11;
constexpr int kPointerType = 12;
constexpr int kVectorType = 13;
constexpr int kInternalLinkage = 8;
constexpr int kEqual = 32;
constexpr int kNotEqual = 33;
constexpr int kUnsignedGreaterOrEqual = 35;
constexpr int kUnsignedLess = 36;
constexpr int kUnsignedLessOrEqual = 37;
constexpr int kSignedGreater = 38;
constexpr int kSignedGreaterOrEqual = 39;
constexpr int kSignedLess = 40;
constexpr int kSignedLessOrEqual = 41;
// LLVMRealPredicate.
constexpr int kOrderedGreater = 2;
constexpr int kOrderedLess = 4;

// MEMBER(name, LLVM's name, type). Functions that ask whether a value is of a kind give null where
// it is not.
#define WEBNND_LLVM_FUNCTIONS(MEMBER)                                                              \
  MEMBER(get_first_function, LLVMGetFirstFunction, LLVMValueRef(LLVMModuleRef))                    \
  MEMBER(get_next_function, LLVMGetNextFunction, LLVMValueRef(LLVMValueRef))                       \
  MEMBER(get_first_block, LLVMGetFirstBasicBlock, LLVMBasicBlockRef(LLVMValueRef function))        \
  MEMBER(get_next_block, LLVMGetNextBasicBlock, LLVMBasicBlockRef(LLVMBasicBlockRef))              \
  MEMBER(get_function, LLVMGetBasicBlockParent, LLVMValueRef(LLVMBasicBlockRef))                   \
  MEMBER(append_block, LLVMAppendBasicBlockInContext,                                              \
         LLVMBasicBlockRef(LLVMContextRef, LLVMValueRef function, const char* name))               \
  MEMBER(get_terminator, LLVMGetBasicBlockTerminator, LLVMValueRef(LLVMBasicBlockRef))             \
  MEMBER(get_num_successors, LLVMGetNumSuccessors, unsigned(LLVMValueRef terminator))              \
  MEMBER(get_successor, LLVMGetSuccessor,                                                          \
         LLVMBasicBlockRef(LLVMValueRef terminator, unsigned index))                               \
  MEMBER(get_condition, LLVMGetCondition, LLVMValueRef(LLVMValueRef branch))                       \
  MEMBER(get_first_instruction, LLVMGetFirstInstruction, LLVMValueRef(LLVMBasicBlockRef))          \
  MEMBER(get_next_instruction, LLVMGetNextInstruction, LLVMValueRef(LLVMValueRef))                 \
  MEMBER(get_block, LLVMGetInstructionParent, LLVMBasicBlockRef(LLVMValueRef instruction))         \
  MEMBER(is_instruction, LLVMIsAInstruction, LLVMValueRef(LLVMValueRef))                           \
  MEMBER(get_opcode, LLVMGetInstructionOpcode, int(LLVMValueRef instruction))                      \
  MEMBER(get_predicate, LLVMGetICmpPredicate, int(LLVMValueRef comparison))                        \
  MEMBER(get_real_predicate, LLVMGetFCmpPredicate, int(LLVMValueRef comparison))                   \
  MEMBER(get_num_operands, LLVMGetNumOperands, int(LLVMValueRef))                                  \
  MEMBER(get_operand, LLVMGetOperand, LLVMValueRef(LLVMValueRef, unsigned index))                  \
  MEMBER(set_operand, LLVMSetOperand, void(LLVMValueRef, unsigned index, LLVMValueRef operand))    \
  MEMBER(count_incoming, LLVMCountIncoming, unsigned(LLVMValueRef phi))                            \
  MEMBER(get_incoming_value, LLVMGetIncomingValue, LLVMValueRef(LLVMValueRef phi, unsigned index)) \
  MEMBER(get_incoming_block, LLVMGetIncomingBlock,                                                 \
         LLVMBasicBlockRef(LLVMValueRef phi, unsigned index))                                      \
  MEMBER(get_num_mask_elements, LLVMGetNumMaskElements, unsigned(LLVMValueRef shuffle))            \
  MEMBER(get_mask_value, LLVMGetMaskValue, int(LLVMValueRef shuffle, unsigned index))              \
  MEMBER(get_first_use, LLVMGetFirstUse, LLVMUseRef(LLVMValueRef))                                 \
  MEMBER(get_next_use, LLVMGetNextUse, LLVMUseRef(LLVMUseRef))                                     \
  MEMBER(get_user, LLVMGetUser, LLVMValueRef(LLVMUseRef))                                          \
  MEMBER(is_null, LLVMIsNull, int(LLVMValueRef))                                                   \
  MEMBER(is_constant_int, LLVMIsAConstantInt, LLVMValueRef(LLVMValueRef))                          \
  MEMBER(is_constant_data_vector, LLVMIsAConstantDataVector, LLVMValueRef(LLVMValueRef))           \
  MEMBER(get_element_as_constant, LLVMGetElementAsConstant,                                        \
         LLVMValueRef(LLVMValueRef, unsigned index))                                               \
  MEMBER(const_null, LLVMConstNull, LLVMValueRef(LLVMTypeRef))                                     \
  MEMBER(const_all_ones, LLVMConstAllOnes, LLVMValueRef(LLVMTypeRef))                              \
  MEMBER(type_of, LLVMTypeOf, LLVMTypeRef(LLVMValueRef))                                           \
  MEMBER(get_type_kind, LLVMGetTypeKind, int(LLVMTypeRef))                                         \
  MEMBER(get_element_type, LLVMGetElementType, LLVMTypeRef(LLVMTypeRef))                           \
  MEMBER(get_vector_size, LLVMGetVectorSize, unsigned(LLVMTypeRef))                                \
  MEMBER(get_int_width, LLVMGetIntTypeWidth, unsigned(LLVMTypeRef))                                \
  MEMBER(int_type, LLVMIntTypeInContext, LLVMTypeRef(LLVMContextRef, unsigned bits))               \
  MEMBER(get_context, LLVMGetModuleContext, LLVMContextRef(LLVMModuleRef))                         \
  MEMBER(get_module, LLVMGetGlobalParent, LLVMModuleRef(LLVMValueRef function))                    \
  MEMBER(is_function, LLVMIsAFunction, LLVMValueRef(LLVMValueRef))                                 \
  MEMBER(get_called, LLVMGetCalledValue, LLVMValueRef(LLVMValueRef call))                          \
  MEMBER(get_intrinsic_id, LLVMGetIntrinsicID, unsigned(LLVMValueRef function))                    \
  MEMBER(lookup_intrinsic, LLVMLookupIntrinsicID, unsigned(const char* name, size_t length))       \
  MEMBER(get_intrinsic, LLVMGetIntrinsicDeclaration,                                               \
         LLVMValueRef(LLVMModuleRef, unsigned id, LLVMTypeRef* types, size_t count))               \
  MEMBER(get_intrinsic_type, LLVMIntrinsicGetType,                                                 \
         LLVMTypeRef(LLVMContextRef, unsigned id, LLVMTypeRef* types, size_t count))               \
  MEMBER(create_builder, LLVMCreateBuilderInContext, LLVMBuilderRef(LLVMContextRef))               \
  MEMBER(dispose_builder, LLVMDisposeBuilder, void(LLVMBuilderRef))                                \
  MEMBER(position_before, LLVMPositionBuilderBefore,                                               \
         void(LLVMBuilderRef, LLVMValueRef instruction))                                           \
  MEMBER(position_at_end, LLVMPositionBuilderAtEnd, void(LLVMBuilderRef, LLVMBasicBlockRef))       \
  MEMBER(get_insert_block, LLVMGetInsertBlock, LLVMBasicBlockRef(LLVMBuilderRef))                  \
  MEMBER(insert, LLVMInsertIntoBuilder, void(LLVMBuilderRef, LLVMValueRef instruction))            \
  MEMBER(build_negation, LLVMBuildFNeg,                                                            \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, const char* name))                             \
  MEMBER(build_bitcast, LLVMBuildBitCast,                                                          \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(build_pointer_as_int, LLVMBuildPtrToInt,                                                  \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(build_comparison, LLVMBuildICmp,                                                          \
         LLVMValueRef(LLVMBuilderRef, int predicate, LLVMValueRef a, LLVMValueRef b,               \
                      const char* name))                                                           \
  MEMBER(build_real_comparison, LLVMBuildFCmp,                                                     \
         LLVMValueRef(LLVMBuilderRef, int predicate, LLVMValueRef a, LLVMValueRef b,               \
                      const char* name))                                                           \
  MEMBER(build_branch, LLVMBuildCondBr,                                                            \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef condition, LLVMBasicBlockRef then,              \
                      LLVMBasicBlockRef otherwise))                                                \
  MEMBER(build_call, LLVMBuildCall2,                                                               \
         LLVMValueRef(LLVMBuilderRef, LLVMTypeRef, LLVMValueRef function, LLVMValueRef* arguments, \
                      unsigned count, const char* name))                                           \
  MEMBER(replace_all_uses, LLVMReplaceAllUsesWith,                                                 \
         void(LLVMValueRef old_value, LLVMValueRef new_value))                                     \
  MEMBER(remove, LLVMInstructionRemoveFromParent, void(LLVMValueRef instruction))                  \
  MEMBER(erase, LLVMInstructionEraseFromParent, void(LLVMValueRef instruction))                    \
  MEMBER(get_int_value, LLVMConstIntGetZExtValue, unsigned long long(LLVMValueRef constant))       \
  MEMBER(const_int, LLVMConstInt,                                                                  \
         LLVMValueRef(LLVMTypeRef, unsigned long long value, int is_signed))                       \
  MEMBER(const_vector, LLVMConstVector, LLVMValueRef(LLVMValueRef* elements, unsigned count))      \
  MEMBER(get_undef, LLVMGetUndef, LLVMValueRef(LLVMTypeRef))                                       \
  MEMBER(vector_type, LLVMVectorType, LLVMTypeRef(LLVMTypeRef element, unsigned count))            \
  MEMBER(pointer_type, LLVMPointerType, LLVMTypeRef(LLVMTypeRef, unsigned address_space))          \
  MEMBER(clone, LLVMInstructionClone, LLVMValueRef(LLVMValueRef instruction))                      \
                                                                                                   \
  MEMBER(set_alignment, LLVMSetAlignment, void(LLVMValueRef access, unsigned bytes))               \
  MEMBER(build_add, LLVMBuildAdd,                                                                  \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char* name))               \
  MEMBER(build_and, LLVMBuildAnd,                                                                  \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char* name))               \
  MEMBER(build_or, LLVMBuildOr,                                                                    \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char* name))               \
  MEMBER(build_not, LLVMBuildNot, LLVMValueRef(LLVMBuilderRef, LLVMValueRef, const char* name))    \
  MEMBER(build_zext, LLVMBuildZExt,                                                                \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(build_trunc, LLVMBuildTrunc,                                                              \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(build_extract, LLVMBuildExtractElement,                                                   \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef index, const char* name))         \
  MEMBER(build_insert, LLVMBuildInsertElement,                                                     \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef element, LLVMValueRef index,      \
                      const char* name))                                                           \
  MEMBER(build_shuffle, LLVMBuildShuffleVector,                                                    \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, LLVMValueRef mask,               \
                      const char* name))                                                           \
  MEMBER(build_address, LLVMBuildGEP2,                                                             \
         LLVMValueRef(LLVMBuilderRef, LLVMTypeRef, LLVMValueRef pointer, LLVMValueRef* indices,    \
                      unsigned count, const char* name))                                           \
  MEMBER(build_store, LLVMBuildStore,                                                              \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef pointer))                         \
  MEMBER(build_select, LLVMBuildSelect,                                                            \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef condition, LLVMValueRef then,                   \
                      LLVMValueRef otherwise, const char* name))                                   \
  MEMBER(build_jump, LLVMBuildBr, LLVMValueRef(LLVMBuilderRef, LLVMBasicBlockRef))                 \
  MEMBER(build_sext, LLVMBuildSExt,                                                                \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(build_return, LLVMBuildRetVoid, LLVMValueRef(LLVMBuilderRef))                             \
  MEMBER(void_type, LLVMVoidTypeInContext, LLVMTypeRef(LLVMContextRef))                            \
  MEMBER(                                                                                          \
      function_type, LLVMFunctionType,                                                             \
      LLVMTypeRef(LLVMTypeRef result, LLVMTypeRef* parameters, unsigned count, int is_variadic))   \
  MEMBER(add_function, LLVMAddFunction,                                                            \
         LLVMValueRef(LLVMModuleRef, const char* name, LLVMTypeRef))                               \
  MEMBER(add_global, LLVMAddGlobal, LLVMValueRef(LLVMModuleRef, LLVMTypeRef, const char* name))    \
  MEMBER(set_initializer, LLVMSetInitializer, void(LLVMValueRef global, LLVMValueRef constant))    \
  MEMBER(set_constant, LLVMSetGlobalConstant, void(LLVMValueRef global, int is_constant))          \
  MEMBER(set_linkage, LLVMSetLinkage, void(LLVMValueRef, int linkage))                             \
  MEMBER(get_parameter, LLVMGetParam, LLVMValueRef(LLVMValueRef function, unsigned index))         \
  MEMBER(get_first_parameter, LLVMGetFirstParam, LLVMValueRef(LLVMValueRef function))              \
  MEMBER(count_parameters, LLVMCountParams, unsigned(LLVMValueRef function))                       \
  MEMBER(get_metadata_kind, LLVMGetMDKindIDInContext,                                              \
         unsigned(LLVMContextRef, const char* name, unsigned length))                              \
  MEMBER(metadata_string, LLVMMDStringInContext2,                                                  \
         LLVMMetadataRef(LLVMContextRef, const char* text, size_t length))                         \
  MEMBER(metadata_of, LLVMValueAsMetadata, LLVMMetadataRef(LLVMValueRef))                          \
  MEMBER(metadata_node, LLVMMDNodeInContext2,                                                      \
         LLVMMetadataRef(LLVMContextRef, LLVMMetadataRef* elements, size_t count))                 \
  MEMBER(metadata_as_value, LLVMMetadataAsValue, LLVMValueRef(LLVMContextRef, LLVMMetadataRef))    \
  MEMBER(set_metadata, LLVMSetMetadata,                                                            \
         void(LLVMValueRef instruction, unsigned kind, LLVMValueRef node))                         \
  MEMBER(build_mul, LLVMBuildMul,                                                                  \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char* name))               \
  MEMBER(build_variables, LLVMBuildArrayAlloca,                                                    \
         LLVMValueRef(LLVMBuilderRef, LLVMTypeRef, LLVMValueRef count, const char* name))          \
  MEMBER(build_load, LLVMBuildLoad2,                                                               \
         LLVMValueRef(LLVMBuilderRef, LLVMTypeRef, LLVMValueRef pointer, const char* name))        \
  MEMBER(build_binary, LLVMBuildBinOp,                                                             \
         LLVMValueRef(LLVMBuilderRef, int opcode, LLVMValueRef, LLVMValueRef, const char* name))   \
  MEMBER(build_phi, LLVMBuildPhi, LLVMValueRef(LLVMBuilderRef, LLVMTypeRef, const char* name))     \
  MEMBER(                                                                                          \
      add_incoming, LLVMAddIncoming,                                                               \
      void(LLVMValueRef phi, LLVMValueRef * values, LLVMBasicBlockRef * blocks, unsigned count))   \
  MEMBER(build_freeze, LLVMBuildFreeze,                                                            \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, const char* name))                             \
  MEMBER(build_insert_value, LLVMBuildInsertValue,                                                 \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef aggregate, LLVMValueRef, unsigned index,        \
                      const char* name))                                                           \
  MEMBER(build_value_return, LLVMBuildRet, LLVMValueRef(LLVMBuilderRef, LLVMValueRef))             \
  MEMBER(insert_block, LLVMInsertBasicBlockInContext,                                              \
         LLVMBasicBlockRef(LLVMContextRef, LLVMBasicBlockRef before, const char* name))            \
  MEMBER(get_struct_element, LLVMStructGetTypeAtIndex, LLVMTypeRef(LLVMTypeRef, unsigned index))   \
  MEMBER(count_struct_elements, LLVMCountStructElementTypes, unsigned(LLVMTypeRef))                \
  MEMBER(get_source_type, LLVMGetGEPSourceElementType, LLVMTypeRef(LLVMValueRef address))          \
  MEMBER(get_num_indices, LLVMGetNumIndices, unsigned(LLVMValueRef instruction))                   \
  MEMBER(get_indices, LLVMGetIndices, const unsigned*(LLVMValueRef instruction))                   \
  MEMBER(get_attribute_kind, LLVMGetEnumAttributeKindForName,                                      \
         unsigned(const char* name, size_t length))                                                \
  MEMBER(create_attribute, LLVMCreateEnumAttribute,                                                \
         LLVMAttributeRef(LLVMContextRef, unsigned kind, uint64_t value))                          \
  MEMBER(add_attribute, LLVMAddAttributeAtIndex,                                                   \
         void(LLVMValueRef function, unsigned index, LLVMAttributeRef))                            \
  MEMBER(remove_attribute, LLVMRemoveEnumAttributeAtIndex,                                         \
         void(LLVMValueRef function, unsigned index, unsigned kind))                               \
  MEMBER(get_name, LLVMGetValueName2, const char*(LLVMValueRef, size_t * length))                  \
  MEMBER(get_real, LLVMConstRealGetDouble, double(LLVMValueRef constant, int* loses_bits))         \
  MEMBER(float_type, LLVMFloatTypeInContext, LLVMTypeRef(LLVMContextRef))                          \
  MEMBER(half_type, LLVMHalfTypeInContext, LLVMTypeRef(LLVMContextRef))                            \
  MEMBER(build_float_truncation, LLVMBuildFPTrunc,                                                 \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(double_type, LLVMDoubleTypeInContext, LLVMTypeRef(LLVMContextRef))                        \
  MEMBER(build_cast, LLVMBuildCast,                                                                \
         LLVMValueRef(LLVMBuilderRef, int opcode, LLVMValueRef, LLVMTypeRef, const char* name))    \
  MEMBER(build_float_extension, LLVMBuildFPExt,                                                    \
         LLVMValueRef(LLVMBuilderRef, LLVMValueRef, LLVMTypeRef, const char* name))                \
  MEMBER(consume_error, LLVMConsumeError, void(void* error))

struct Llvm {
#define WEBNND_MEMBER(name, llvm_name, type) std::add_pointer_t<type> name;
  WEBNND_LLVM_FUNCTIONS(WEBNND_MEMBER)
#undef WEBNND_MEMBER
};

// LLVM's function of that name that the library of `caller` would call without this program;
// libraries come and go, so it is looked for each time. Null where there is none.
void* FindLlvmFunction(const void* caller, const char* name);

template <class Function>
Function* FindLlvm(const void* caller, const char* name) {
  return reinterpret_cast<Function*>(FindLlvmFunction(caller, name));
}

// False where one of them is missing.
bool FindLlvmFunctions(const void* caller, Llvm& llvm);

// Of a vector: whether it is a constant of which all elements are the same.
bool HasOneElement(const Llvm& llvm, LLVMValueRef vector);

// Of a shuffle: the element that all of its own are, counted through both operands; less than 0
// where there is none.
int SourceOfAll(const Llvm& llvm, LLVMValueRef shuffle);

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_LLVM_FUNCTIONS_H_

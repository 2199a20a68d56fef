#include "base/drivers_llvm/multiply_adds.h"

#include <cstring>
#include <initializer_list>

namespace webnnd {

MultiplyAddFuser::MultiplyAddFuser(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      context_(llvm.get_context(module)),
      builder_(llvm.create_builder(context_)),
      multiply_add_(llvm.lookup_intrinsic("llvm.fmuladd", std::strlen("llvm.fmuladd"))) {}

void MultiplyAddFuser::FuseAll() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      FuseBlock(b);
    }
  }
}

void MultiplyAddFuser::FuseBlock(LLVMBasicBlockRef block) {
  LLVMValueRef next;
  for (auto* i = llvm_.get_first_instruction(block); i != nullptr; i = next) {
    next = llvm_.get_next_instruction(i);
    const int opcode = llvm_.get_opcode(i);
    if ((opcode != kFAdd && opcode != kFSub) || !IsFloat32(llvm_.type_of(i))) continue;
    for (const unsigned operand : {1U, 0U}) {
      if (!IsOwnProduct(llvm_.get_operand(i, operand), block)) continue;
      Fuse(i, operand, opcode == kFSub);
      break;
    }
  }
}

bool MultiplyAddFuser::IsFloat32(LLVMTypeRef type) const {
  if (llvm_.get_type_kind(type) == kVectorType) type = llvm_.get_element_type(type);
  return llvm_.get_type_kind(type) == kFloatType;
}

bool MultiplyAddFuser::IsOwnProduct(LLVMValueRef value, LLVMBasicBlockRef block) const {
  return llvm_.is_instruction(value) != nullptr && llvm_.get_opcode(value) == kFMul &&
         llvm_.get_block(value) == block &&
         llvm_.get_next_use(llvm_.get_first_use(value)) == nullptr;
}

void MultiplyAddFuser::Fuse(LLVMValueRef sum, unsigned product_operand, bool is_difference) {
  LLVMValueRef product = llvm_.get_operand(sum, product_operand);
  LLVMValueRef factors[] = {llvm_.get_operand(product, 0), llvm_.get_operand(product, 1)};
  LLVMValueRef other = llvm_.get_operand(sum, 1 - product_operand);
  llvm_.position_before(builder_, sum);
  if (is_difference) {
    LLVMValueRef& subtracted = product_operand == 1 ? factors[0] : other;
    subtracted = llvm_.build_negation(builder_, subtracted, "");
  }
  LLVMTypeRef type = llvm_.type_of(sum);
  LLVMValueRef arguments[] = {factors[0], factors[1], other};
  LLVMValueRef fused =
      llvm_.build_call(builder_, llvm_.get_intrinsic_type(context_, multiply_add_, &type, 1),
                       llvm_.get_intrinsic(module_, multiply_add_, &type, 1), arguments, 3, "");
  llvm_.replace_all_uses(sum, fused);
  llvm_.erase(sum);
  llvm_.erase(product);
}

}  // namespace webnnd

#include "base/drivers_llvm/uniform_lanes.h"

namespace webnnd {

void UniformLanes::TakeFirst() {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        if (llvm_.get_opcode(i) != kExtractElement) continue;
        LLVMValueRef lane = llvm_.get_operand(i, 1);
        if (llvm_.is_constant_int(lane) == nullptr || llvm_.is_null(lane) != 0) continue;
        if (!steps_.IsUniform(llvm_.get_operand(i, 0))) continue;
        llvm_.set_operand(i, 1, llvm_.const_null(llvm_.type_of(lane)));
      }
    }
  }
}

}  // namespace webnnd

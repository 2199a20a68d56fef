#include "base/drivers_llvm/invariant_loads.h"

#include <string_view>

namespace webnnd {

void InvariantLoads::Mark() {
  constexpr std::string_view kName = "invariant.load";
  LLVMContextRef context = llvm_.get_context(module_);
  const unsigned kind = llvm_.get_metadata_kind(context, kName.data(), kName.size());
  LLVMValueRef mark = llvm_.metadata_as_value(context, llvm_.metadata_node(context, nullptr, 0));
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    LLVMValueRef parameter = llvm_.get_first_parameter(f);
    if (parameter == nullptr) continue;
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        if (Is(i, kLoad) && IsInContext(llvm_.get_operand(i, 0), parameter)) {
          llvm_.set_metadata(i, kind, mark);
        }
      }
    }
  }
}

bool InvariantLoads::IsInContext(LLVMValueRef address, LLVMValueRef parameter) const {
  LLVMTypeRef outermost = nullptr;
  while (Is(address, kGetElementPtr)) {
    for (int i = 1; i < llvm_.get_num_operands(address); ++i) {
      if (!IsFixed(llvm_.get_operand(address, static_cast<unsigned>(i)))) return false;
    }
    outermost = llvm_.get_source_type(address);
    address = llvm_.get_operand(address, 0);
  }
  return address == parameter && outermost != nullptr && IsContext(outermost);
}

bool InvariantLoads::IsFixed(LLVMValueRef number) const {
  if (llvm_.is_constant_int(number) != nullptr || HasOneElement(llvm_, number)) return true;
  if (!Is(number, kExtractElement) && !Is(number, kSelect) && !Is(number, kICmp)) return false;
  for (int i = 0; i < llvm_.get_num_operands(number); ++i) {
    if (!IsFixed(llvm_.get_operand(number, static_cast<unsigned>(i)))) return false;
  }
  return true;
}

bool InvariantLoads::IsContext(LLVMTypeRef type) const {
  return llvm_.get_type_kind(type) == kStructType && llvm_.count_struct_elements(type) > 0 &&
         llvm_.get_type_kind(llvm_.get_struct_element(type, 0)) == kArrayType;
}

}  // namespace webnnd

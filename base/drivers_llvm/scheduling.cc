#include "base/drivers_llvm/scheduling.h"

#include <cstring>

namespace webnnd {
namespace {

constexpr unsigned kLanes = 16;

// Of a block: fewer fit into the registers in any order. The largest block that loses has 144 (a
// depthwise convolution).
constexpr int kMultiplyAddsMin = 256;
// Of a module whose blocks are short, because each load is checked: those of products.
constexpr int kMultiplyAddsOfModuleMin = 512;

std::shared_mutex& Order() {
  static std::shared_mutex order;
  return order;
}

bool IsMultiplyAdd(const Llvm& llvm, LLVMValueRef instruction, unsigned intrinsic) {
  if (llvm.get_opcode(instruction) != kCall) return false;
  LLVMTypeRef type = llvm.type_of(instruction);
  if (llvm.get_type_kind(type) != kVectorType || llvm.get_vector_size(type) != kLanes) return false;
  LLVMValueRef called = llvm.is_function(llvm.get_called(instruction));
  return called != nullptr && llvm.get_intrinsic_id(called) == intrinsic;
}

bool HasManyMultiplyAdds(const Llvm& llvm, LLVMModuleRef module) {
  const unsigned intrinsic = llvm.lookup_intrinsic("llvm.fmuladd", std::strlen("llvm.fmuladd"));
  int of_module = 0;
  for (auto* f = llvm.get_first_function(module); f != nullptr; f = llvm.get_next_function(f)) {
    for (auto* b = llvm.get_first_block(f); b != nullptr; b = llvm.get_next_block(b)) {
      int count = 0;
      for (auto* i = llvm.get_first_instruction(b); i != nullptr;
           i = llvm.get_next_instruction(i)) {
        if (!IsMultiplyAdd(llvm, i, intrinsic)) continue;
        if (++count == kMultiplyAddsMin || ++of_module == kMultiplyAddsOfModuleMin) return true;
      }
    }
  }
  return false;
}

}  // namespace

Scheduling::Scheduling(const void* caller, const Llvm& llvm, LLVMValueRef function)
    : beside_others_(Order(), std::defer_lock), alone_(Order(), std::defer_lock) {
  if (HasManyMultiplyAdds(llvm, llvm.get_module(function))) {
    parse_options_ = FindLlvm<ParseOptions>(caller, "LLVMParseCommandLineOptions");
  }
  if (parse_options_ == nullptr) {
    beside_others_.lock();
    return;
  }
  alone_.lock();
  const char* options[] = {"webnnd", "-misched-topdown=true", "-disable-machine-sink=true"};
  // Where an LLVM does not know one of them, it ignores that.
  parse_options_(3, options, nullptr);
}

Scheduling::~Scheduling() {
  if (parse_options_ == nullptr) return;
  const char* options[] = {"webnnd", "-misched-topdown=false", "-disable-machine-sink=false"};
  parse_options_(3, options, nullptr);
}

}  // namespace webnnd

#include "base/drivers_llvm/llvm_functions.h"

#include <dlfcn.h>
#include <link.h>

namespace webnnd {

void* FindLlvmFunction(const void* caller, const char* name) {
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(caller), &found) != 0) return nullptr;
  void* library = dlopen(found.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  // It and what it depends on, which are there for as long as the caller is.
  void* function = dlsym(library, name);
  dlclose(library);
  return function;
}

bool FindLlvmFunctions(const void* caller, Llvm& llvm) {
#define WEBNND_FIND(name, llvm_name, type)        \
  llvm.name = FindLlvm<type>(caller, #llvm_name); \
  if (llvm.name == nullptr) return false;
  WEBNND_LLVM_FUNCTIONS(WEBNND_FIND)
#undef WEBNND_FIND
  return true;
}

bool HasOneElement(const Llvm& llvm, LLVMValueRef vector) {
  if (llvm.is_null(vector) != 0) return true;
  if (llvm.is_constant_data_vector(vector) == nullptr) return false;
  for (unsigned i = 1; i < llvm.get_vector_size(llvm.type_of(vector)); ++i) {
    if (llvm.get_element_as_constant(vector, i) != llvm.get_element_as_constant(vector, 0)) {
      return false;
    }
  }
  return true;
}

int SourceOfAll(const Llvm& llvm, LLVMValueRef shuffle) {
  const int source = llvm.get_mask_value(shuffle, 0);
  for (unsigned i = 1; i < llvm.get_num_mask_elements(shuffle); ++i) {
    if (llvm.get_mask_value(shuffle, i) != source) return -1;
  }
  return source;  // Negative: any.
}

}  // namespace webnnd

// LLVM's LLVMAddFunction (llvm-c/Core.h) for the drivers that a program loads. On processors of
// Intel's with AVX-512, what they compile uses vectors of 256 bits at most.
//
// llvmpipe stores what the lanes of a subgroup hold one by one, from a vector on the stack. Eight
// elements of 64 bits are written there as one vector of 512 bits, and a load of one of them waits
// until all of it is in the cache, where elements of two vectors of 256 bits are forwarded: stores
// take 1.6 to 2 times as long (docs/benchmarks.md). What else AVX-512 has, more registers and masks
// among it, they keep; GALLIUM_OVERRIDE_CPU_CAPS=avx would take that, too.
//
// A program that links this object has it: symbols of the program come before those of the
// libraries that it loads. Drivers with an LLVM of their own do not find it, and are as ever.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

namespace webnnd {
namespace {

#ifdef WEBNND_SHORT_VECTORS_EVERYWHERE  // For tests.
bool WantsShortVectors() { return true; }
#else
bool WantsShortVectors() {
  return __builtin_cpu_is("intel") != 0 && __builtin_cpu_supports("avx512f") != 0;
}
#endif

// The function of LLVM's that the library of `caller` would call without this program; libraries
// come and go, so it is looked for each time.
template <class Function>
Function* Find(const void* caller, const char* name) {
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(caller), &found) != 0) return nullptr;
  void* library = dlopen(found.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  // It and what it depends on, which are there for as long as the caller is.
  void* function = dlsym(library, name);
  dlclose(library);
  return reinterpret_cast<Function*>(function);
}

using AddFunction = void*(void* module, const char* name, void* type);
using AddAttribute = void(void* function, const char* attribute, const char* value);

}  // namespace
}  // namespace webnnd

// NOLINTBEGIN(readability-identifier-naming): LLVM's names. Values, modules and types are pointers.
extern "C" __attribute__((visibility("default"))) void* LLVMAddFunction(void* module,
                                                                        const char* name,
                                                                        void* type) {
  const void* caller = __builtin_return_address(0);
  auto* add = webnnd::Find<webnnd::AddFunction>(caller, "LLVMAddFunction");
  if (add == nullptr || add == &LLVMAddFunction) {
    // Of a library that others have made known to all.
    add = reinterpret_cast<webnnd::AddFunction*>(dlsym(RTLD_NEXT, "LLVMAddFunction"));
  }
  if (add == nullptr) std::abort();  // Who called it without having it?
  void* function = add(module, name, type);
  if (!webnnd::WantsShortVectors()) return function;
  // What clang says of functions that use no vectors beyond that, under -mprefer-vector-width=256.
  if (auto* attribute =
          webnnd::Find<webnnd::AddAttribute>(caller, "LLVMAddTargetDependentFunctionAttr")) {
    attribute(function, "min-legal-vector-width", "256");
    attribute(function, "prefer-vector-width", "256");
  }
  return function;
}
// NOLINTEND(readability-identifier-naming)

// A library that has LLVM's functions, and notes what it is called with.
#include <string>

namespace {
std::string calls;
int function;
int error;
}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* LLVMAddFunction(void*, const char* name, void*) {
  calls += std::string("function ") + name + "\n";
  return &function;
}
__attribute__((visibility("default"))) void LLVMAddTargetDependentFunctionAttr(
    void* of, const char* attribute, const char* value) {
  calls += std::string(attribute) + " " + value + (of == &function ? "\n" : " of another\n");
}
// An error, which is a pointer, for passes that are "unknown".
__attribute__((visibility("default"))) void* LLVMRunPasses(void*, const char* passes, void*,
                                                           void*) {
  calls += std::string("passes ") + passes + "\n";
  return std::string(passes) == "unknown" ? &error : nullptr;
}
__attribute__((visibility("default"))) const char* Calls() { return calls.c_str(); }
}

// A driver that compiles with the LLVM it is linked to.
extern "C" void* LLVMAddFunction(void* module, const char* name, void* type);
extern "C" void* LLVMGetPointerToGlobal(void* engine, void* function);
extern "C" void* LLVMRunPasses(void* module, const char* passes, void* machine, void* options);

extern "C" __attribute__((visibility("default"))) void* Compile(const char* name) {
  void* function = LLVMAddFunction(nullptr, name, nullptr);
  // No tail call: who asks is whom it returns to.
  asm volatile("");
  return function;
}

extern "C" __attribute__((visibility("default"))) void* Optimize(const char* passes) {
  void* error = LLVMRunPasses(nullptr, passes, nullptr, nullptr);
  asm volatile("");
  return error;
}

extern "C" __attribute__((visibility("default"))) void* Jit(void* function) {
  void* code = LLVMGetPointerToGlobal(nullptr, function);
  asm volatile("");
  return code;
}

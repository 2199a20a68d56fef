// The LLVM that lavapipe uses, for tests of what our program has it do (base/drivers_llvm).
#ifndef WEBNND_TESTS_BASE_DRIVER_LLVM_H_
#define WEBNND_TESTS_BASE_DRIVER_LLVM_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

extern "C" void* LLVMGetPointerToGlobal(void* engine, void* function);
extern "C" void* LLVMRunPasses(void* module, const char* passes, void* machine, void* options);

namespace webnnd {

// How often `part` stands in `text`.
inline int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class DriverLlvm {
 public:
  // Known to all, so that the program's LLVMRunPasses finds it behind itself.
  DriverLlvm() : lavapipe_(dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_GLOBAL)) {}

  bool Exists() const { return lavapipe_ != nullptr && Find<void*()>("LLVMContextCreate"); }

  // The module of `text` after `passes`; both must be right ones.
  std::string Optimize(const std::string& text, const char* passes) const {
    std::string result;
    WithModule(text, passes, [&](void* module) {
      result = Take(Find<char*(void*)>("LLVMPrintModuleToString")(module));
      Find<void(void*)>("LLVMDisposeModule")(module);
    });
    return result;
  }

  // Calls `body` with the address of function @f of the same module, compiled: by LLVM alone, or as
  // the driver has it compiled.
  void Run(const std::string& text, const char* passes, const std::function<void(void*)>& body,
           bool as_driver = false) const {
    WithEngine(text, passes, [&](void* engine, void* module) {
      body(as_driver ? LLVMGetPointerToGlobal(engine, FindFunction(module, "f"))
                     : reinterpret_cast<void*>(Find<size_t(void*, const char*)>(
                           "LLVMGetFunctionAddress")(engine, "f")));
    });
  }

  // The same with what the driver gets for each of these functions.
  void RunAsDriver(const std::string& text, const char* passes,
                   const std::vector<std::string>& names,
                   const std::function<void(const std::vector<void*>&)>& body) const {
    WithEngine(text, passes, [&](void* engine, void* module) {
      std::vector<void*> functions;
      for (const std::string& name : names) {
        functions.push_back(LLVMGetPointerToGlobal(engine, FindFunction(module, name.c_str())));
      }
      body(functions);
    });
  }

 private:
  void* FindFunction(void* module, const char* name) const {
    return Find<void*(void*, const char*)>("LLVMGetNamedFunction")(module, name);
  }

  template <class Body>
  void WithEngine(const std::string& text, const char* passes, Body body) const {
    for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
      Find<void()>((std::string("LLVMInitializeX86") + part).c_str())();
    }
    Find<void()>("LLVMLinkInMCJIT")();
    WithModule(text, passes, [&](void* module) {
      void* engine = nullptr;
      char* message = nullptr;
      if (Find<int(void**, void*, char**)>("LLVMCreateExecutionEngineForModule")(&engine, module,
                                                                                 &message) != 0) {
        ADD_FAILURE() << Take(message);
        return;
      }
      body(engine, module);
      Find<void(void*)>("LLVMDisposeExecutionEngine")(engine);
    });
  }

  template <class Body>
  void WithModule(const std::string& text, const char* passes, Body body) const {
    void* context = Find<void*()>("LLVMContextCreate")();
    void* buffer = Find<void*(const char*, size_t, const char*)>(
        "LLVMCreateMemoryBufferWithMemoryRangeCopy")(text.data(), text.size(), "test");
    void* module = nullptr;
    char* message = nullptr;
    if (Find<int(void*, void*, void**, char**)>("LLVMParseIRInContext")(context, buffer, &module,
                                                                        &message) != 0) {
      ADD_FAILURE() << Take(message);
      return;
    }
    Verify(module);
    void* options = Find<void*()>("LLVMCreatePassBuilderOptions")();
    EXPECT_EQ(LLVMRunPasses(module, passes, nullptr, options), nullptr);
    Find<void(void*)>("LLVMDisposePassBuilderOptions")(options);
    Verify(module);
    body(module);
    Find<void(void*)>("LLVMContextDispose")(context);
  }

  void Verify(void* module) const {
    char* message = nullptr;
    constexpr int kReturnStatus = 2;
    const bool is_wrong =
        Find<int(void*, int, char**)>("LLVMVerifyModule")(module, kReturnStatus, &message) != 0;
    const std::string complaint = Take(message);
    EXPECT_FALSE(is_wrong) << complaint;
  }

  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(lavapipe_, name));
  }
  std::string Take(char* message) const {
    std::string text = message;
    Find<void(char*)>("LLVMDisposeMessage")(message);
    return text;
  }

  // For as long as the program lives: others may have pointers into it.
  void* lavapipe_;
};

}  // namespace webnnd

#endif  // WEBNND_TESTS_BASE_DRIVER_LLVM_H_

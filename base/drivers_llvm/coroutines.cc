#include "base/drivers_llvm/coroutines.h"

#include <string_view>
#include <utility>
#include <vector>

namespace webnnd {
namespace {

constexpr std::string_view kPrefix = "llvm.coro.";
constexpr std::string_view kPresplit = "presplitcoroutine";
constexpr unsigned kOfTheFunction = ~0u;  // LLVMAttributeFunctionIndex.
constexpr uint64_t kFrameBytes = 16;      // Nobody writes there.
constexpr uint64_t kDestroyed = 1;        // Where it would be suspended.

}  // namespace

Coroutines::Coroutines(const Llvm& llvm, LLVMModuleRef module)
    : llvm_(llvm),
      module_(module),
      presplit_(llvm.get_attribute_kind(kPresplit.data(), kPresplit.size())) {}

bool Coroutines::MakeFunctions() {
  if (presplit_ == 0 || !NeverWait()) return false;
  std::vector<LLVMValueRef> calls;
  std::vector<LLVMValueRef> ids;  // Of a type that no other value has: when nothing uses them.
  ForEachInstruction([&](LLVMValueRef instruction) {
    const Step step = StepOf(instruction);
    if (step == Step::kNone) return;
    (step == Step::kId ? ids : calls).push_back(instruction);
  });
  for (LLVMValueRef call : calls) Replace(call);
  for (LLVMValueRef id : ids) llvm_.erase(id);
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    llvm_.remove_attribute(f, kOfTheFunction, presplit_);
  }
  return true;
}

bool Coroutines::NeverWait() const {
  bool has_any = false;
  bool never = true;
  ForEachInstruction([&](LLVMValueRef instruction) {
    const Step step = StepOf(instruction);
    has_any |= step != Step::kNone;
    if (step == Step::kOther) never = false;
    if (step != Step::kSuspend) return;
    // Whether it is the last time, after which it cannot be resumed.
    LLVMValueRef is_final = llvm_.get_operand(instruction, 1);
    if (llvm_.is_constant_int(is_final) == nullptr || llvm_.get_int_value(is_final) == 0) {
      never = false;
    }
  });
  return has_any && never;
}

Coroutines::Step Coroutines::StepOf(LLVMValueRef instruction) const {
  if (llvm_.get_opcode(instruction) != kCall) return Step::kNone;
  LLVMValueRef function = llvm_.is_function(llvm_.get_called(instruction));
  if (function == nullptr) return Step::kNone;
  size_t length = 0;
  const char* text = llvm_.get_name(function, &length);
  std::string_view name(text, length);
  if (!name.starts_with(kPrefix)) return Step::kNone;
  name.remove_prefix(kPrefix.size());
  constexpr std::pair<std::string_view, Step> kSteps[] = {
      {"id", Step::kId},       {"size.i32", Step::kSize},   {"size.i64", Step::kSize},
      {"begin", Step::kBegin}, {"suspend", Step::kSuspend}, {"end", Step::kEnd},
      {"done", Step::kDone},   {"destroy", Step::kDestroy}, {"resume", Step::kResume},
  };
  for (const auto& [step_name, step] : kSteps) {
    if (name == step_name) return step;
  }
  return Step::kOther;
}

void Coroutines::Replace(LLVMValueRef call) {
  const auto with = [&](LLVMValueRef value) { llvm_.replace_all_uses(call, value); };
  LLVMTypeRef type = llvm_.type_of(call);
  switch (StepOf(call)) {
    case Step::kSize:
      with(llvm_.const_int(type, kFrameBytes, 0));
      break;
    case Step::kBegin:
      with(llvm_.get_operand(call, 1));  // The memory that it was given.
      break;
    case Step::kSuspend:
      with(llvm_.const_int(type, kDestroyed, 0));
      break;
    case Step::kEnd:
      with(llvm_.const_int(type, 0, 0));  // Whether it has been resumed.
      break;
    case Step::kDone:
      with(llvm_.const_int(type, 1, 0));
      break;
    default:
      break;  // Without a result: it has been destroyed.
  }
  llvm_.erase(call);
}

template <class Visit>
void Coroutines::ForEachInstruction(Visit visit) const {
  for (auto* f = llvm_.get_first_function(module_); f != nullptr; f = llvm_.get_next_function(f)) {
    for (auto* b = llvm_.get_first_block(f); b != nullptr; b = llvm_.get_next_block(b)) {
      for (auto* i = llvm_.get_first_instruction(b); i != nullptr;
           i = llvm_.get_next_instruction(i)) {
        visit(i);
      }
    }
  }
}

}  // namespace webnnd

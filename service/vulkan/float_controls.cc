#include "service/vulkan/float_controls.h"

#include "service/spirv/instruction.h"

namespace webnnd::service {
namespace {

constexpr uint32_t kFloatBits = 32;

struct Control {
  spv::Capability capability;
  spv::ExecutionMode execution_mode;
};
constexpr Control kDenormPreserve = {spv::Capability::DenormPreserve,
                                     spv::ExecutionMode::DenormPreserve};
constexpr Control kSignedZeroInfNanPreserve = {spv::Capability::SignedZeroInfNanPreserve,
                                               spv::ExecutionMode::SignedZeroInfNanPreserve};

}  // namespace

std::vector<uint32_t> WithFloatControls(std::span<const uint32_t> code,
                                        const FloatControls& controls) {
  std::vector<Control> added;
  if (controls.keeps_subnormals) added.push_back(kDenormPreserve);
  if (controls.keeps_specials) added.push_back(kSignedZeroInfNanPreserve);

  std::vector<uint32_t> result(code.begin(), code.begin() + spirv::kHeaderWords);
  for (const Control& control : added) {
    result.insert(result.end(), {spirv::FirstWord(spv::Op::OpCapability, 2),
                                 static_cast<uint32_t>(control.capability)});
  }
  for (const spirv::Instruction& instruction : spirv::InstructionsOf(code)) {
    result.insert(result.end(), instruction.words().begin(), instruction.words().end());
    if (instruction.op() != spv::Op::OpEntryPoint) continue;
    const uint32_t entry_point = instruction.operands()[1];
    for (const Control& control : added) {
      result.insert(result.end(), {spirv::FirstWord(spv::Op::OpExecutionMode, 4), entry_point,
                                   static_cast<uint32_t>(control.execution_mode), kFloatBits});
    }
  }
  return result;
}

}  // namespace webnnd::service

#include "service/passes/epilogue.h"

#include "base/check.h"
#include "service/passes/elementwise_operation.h"

namespace webnnd::service {

std::optional<Activation> ActivationOf(const Node& node) {
  const auto* epilogue = std::get_if<Epilogue>(&node.macro);
  return epilogue != nullptr ? epilogue->activation : std::nullopt;
}

ValueId ResidualOf(const Node& node) {
  return std::holds_alternative<Epilogue>(node.macro) ? node.operands[3] : kNoValue;
}

uint32_t ActivationConstant(const std::optional<Activation>& activation) {
  constexpr uint32_t kNoActivation = 0xffffffff;
  if (!activation) return kNoActivation;
  if (activation->gates) {
    CHECK(activation->kind == webidl::OperatorKind::kSigmoid);
    return static_cast<uint32_t>(UnaryOperation::kSilu);
  }
  std::optional<UnaryOperation> operation = UnaryOperationOf(activation->kind);
  CHECK(operation.has_value());
  return static_cast<uint32_t>(*operation);
}

void AppendActivation(const std::optional<Activation>& activation,
                      std::vector<uint32_t>& parameters) {
  constexpr size_t kWord = 160;  // kEpilogueWord of shaders/epilogue.glsl.
  if (!activation) return;
  CHECK(parameters.size() <= kWord);
  parameters.resize(kWord);
  for (double value :
       {activation->alpha, activation->beta, activation->least, activation->greatest}) {
    parameters.push_back(FloatBits(value));
  }
}

}  // namespace webnnd::service

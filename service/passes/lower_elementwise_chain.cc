#include "base/check.h"
#include "service/passes/elementwise_operation.h"
#include "service/passes/lower_elementwise.h"
#include "service/passes/lower_macro.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using Step = ElementwiseChain::Step;

// Of shaders/elementwise.comp.
constexpr uint32_t kFirstBinary = 64;
constexpr uint32_t kWhere = 128;
constexpr uint32_t kCopy = 129;

uint32_t OperationConstant(OperatorKind kind) {
  if (kind == OperatorKind::kWhere) return kWhere;
  if (kind == OperatorKind::kCast) return kCopy;
  if (auto unary = UnaryOperationOf(kind)) return static_cast<uint32_t>(*unary);
  auto binary = BinaryOperationOf(kind);
  CHECK(binary.has_value());
  return kFirstBinary + static_cast<uint32_t>(*binary);
}

// Whether the operation gives one of its operands, or a float16 that needs no rounding.
bool IsExact(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kAbs:
    case OperatorKind::kNeg:
    case OperatorKind::kRelu:
    case OperatorKind::kSign:
    case OperatorKind::kCeil:
    case OperatorKind::kFloor:
    case OperatorKind::kRoundEven:
    case OperatorKind::kMax:
    case OperatorKind::kMin:
    case OperatorKind::kWhere:
      return true;
    default:
      return false;
  }
}

uint32_t StepConstant(const Step& step) {
  const bool rounds = step.type == OperandDataType::kFloat16 && !IsExact(step.operation.kind);
  return OperationConstant(step.operation.kind) | step.sources[0] << 8 | step.sources[1] << 12 |
         step.sources[2] << 16 | uint32_t{rounds} << 20;
}

// The four words of a step.
void AppendConstants(const Step& step, std::vector<uint32_t>& words) {
  const Activation& unary = step.operation;
  const bool is_unary = UnaryOperationOf(unary.kind).has_value();
  const double values[] = {is_unary ? unary.alpha : step.constants[0],
                           is_unary ? unary.beta : step.constants[1], unary.least, unary.greatest};
  for (double value : values) words.push_back(FloatBits(value));
}

}  // namespace

Status LowerElementwiseChain(const ElementwiseChain& chain, const Node& node,
                             LoweringBuilder& builder) {
  const webidl::OperandDescriptor& result = builder.descriptor(node.results[0]);
  const size_t operands = node.operands.size();
  CHECK(operands >= 1 && operands <= ElementwiseChain::kOperandsMax);
  CHECK(!chain.steps.empty() && chain.steps.size() <= ElementwiseChain::kStepsMax);
  LoweredCall call;
  call.shader = shaders::ShaderId::kElementwiseChain;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         static_cast<uint32_t>(operands)};
  // The module declares all slots, so something must be bound there.
  for (size_t i = 0; i < ElementwiseChain::kOperandsMax; ++i) {
    const ValueId operand = node.operands[i < operands ? i : 0];
    call.buffers.push_back({operand, false});
    call.specialization.push_back(static_cast<uint32_t>(builder.descriptor(operand).data_type()));
    if (i < operands) call.cost += builder.descriptor(operand).byte_length();
  }
  call.buffers.push_back({node.results[0], true});
  call.specialization.push_back(static_cast<uint32_t>(chain.steps.size()));
  std::vector<uint32_t> constants;
  for (const Step& step : chain.steps) {
    call.specialization.push_back(StepConstant(step));
    AppendConstants(step, constants);
  }
  call.specialization.resize(call.specialization.size() + ElementwiseChain::kStepsMax -
                             chain.steps.size());
  call.invocations = StoreQuads(result);
  // An iteration for each element.
  call.cost += result.byte_length() + result.element_count();
  AddBroadcastCall(std::move(call), builder, constants, TakesRows::kByWords);
  return {};
}

}  // namespace webnnd::service

#include "webidl/operators/row_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "webidl/checks.h"
#include "webidl/dynamic_inference.h"
#include "webidl/generated/signatures.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

// "inputs[3]" for the list of concat, else the slot's name.
std::string OperandName(const OperatorSignature& signature, size_t index) {
  if (signature.operand_list) return fmt::format("{}[{}]", signature.slots[0].name, index);
  return std::string(signature.slots[index].name);
}

// The member of the support limits that is about an output: "output", "outputs", "output1".
std::string_view OutputName(OperatorKind kind, size_t output) {
  for (const LimitMember& member : GetSignature(kind).limits) {
    if (member.role == LimitRole::kOutput && member.index == output) return member.name;
  }
  UNREACHABLE();
}

Status CheckPresence(const OperatorSignature& signature,
                     std::span<const OperandDescriptor* const> operands) {
  if (!signature.operand_list) {
    INVALID_CHECK(12, operands.size() != signature.slots.size(),
                  "the number of operand slots ({}) is not that of the signature ({})",
                  operands.size(), signature.slots.size());
  }
  const size_t required = signature.operand_list ? operands.size() : signature.required_slots;
  for (size_t i = 0; i < required; ++i) {
    INVALID_CHECK(CheckOf(13, SlotName(signature.kind, i)), operands[i] == nullptr,
                  "the required operand ({}) is absent", OperandName(signature, i));
  }
  return {};
}

bool HasAllowedRank(const OperandDescriptor& operand, const TensorConstraint& constraint) {
  return operand.rank() >= constraint.rank_min && operand.rank() <= constraint.rank_max;
}

std::string TypeRefusal(const OperandDescriptor& operand, const TensorConstraint& constraint,
                        std::string_view name) {
  return fmt::format("the data type of {} ({}) is not one of its allowed data types ({})", name,
                     ToString(operand.data_type()), constraint.types.ToString());
}

std::string RankRefusal(const OperandDescriptor& operand, const TensorConstraint& constraint,
                        std::string_view name) {
  if (constraint.rank_min == constraint.rank_max) {
    return fmt::format("the rank of {} ({}) is not its allowed rank ({})", name, operand.rank(),
                       constraint.rank_min);
  }
  return fmt::format("the rank of {} ({}) is not in its allowed range ({} to {})", name,
                     operand.rank(), constraint.rank_min, constraint.rank_max);
}

Status CheckOperands(const OperatorRow& row, std::span<const OperandDescriptor* const> operands,
                     LimitSet limits) {
  const OperatorSignature& signature = GetSignature(row.kind);
  CHECK(row.slots.size() == signature.slots.size());
  TRY(CheckPresence(signature, operands));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    const size_t slot = signature.operand_list ? 0 : i;
    const TensorConstraint constraint =
        limits == LimitSet::kRequired ? row.slots[slot].Required() : row.slots[slot];
    const std::string_view name = signature.slots[slot].name;
    INVALID_CHECK(CheckOf(14, name), !constraint.types.Contains(operands[i]->data_type()), "{}",
                  TypeRefusal(*operands[i], constraint, OperandName(signature, i)));
    INVALID_CHECK(CheckOf(15, name), !HasAllowedRank(*operands[i], constraint), "{}",
                  RankRefusal(*operands[i], constraint, OperandName(signature, i)));
  }
  return {};
}

// What infer gives is always allowed; it need not be required.
Status CheckResults(const OperatorRow& row, const std::vector<OperandDescriptor>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    // A sequence has one constraint for all, or one for each.
    const size_t output = row.outputs.size() == 1 ? 0 : i;
    const TensorConstraint required = row.outputs[output].Required();
    const std::string_view name = OutputName(row.kind, output);
    INVALID_CHECK(5, !required.types.Contains(results[i].data_type()), "{}",
                  TypeRefusal(results[i], required, name));
    INVALID_CHECK(6, !HasAllowedRank(results[i], required), "{}",
                  RankRefusal(results[i], required, name));
  }
  return {};
}

bool IsDynamic(std::span<const OperandDescriptor* const> operands,
               const OperatorAttributes& attributes) {
  return HasDynamicItems(attributes) ||
         std::any_of(operands.begin(), operands.end(), [](const OperandDescriptor* operand) {
           return operand != nullptr && operand->is_dynamic();
         });
}

Result<std::vector<OperandDescriptor>> CheckAndInfer(
    const OperatorRow& row, std::span<const OperandDescriptor* const> operands,
    const OperatorAttributes& attributes, LimitSet limits, const DimensionNames& names) {
  INVALID_CHECK(11, !AttributesMatch(row.kind, attributes),
                "the attributes (alternative {}) are those of another operator",
                attributes.index());
  TRY(CheckOperands(row, operands, limits));
  const InferAt infer = [&](std::span<const OperandDescriptor* const> known,
                            const OperatorAttributes& known_attributes) {
    return row.infer(OperatorArguments{row.kind, known, known_attributes});
  };
  auto results = IsDynamic(operands, attributes) ? InferDynamic(operands, attributes, names, infer)
                                                 : infer(operands, attributes);
  if (results.ok() && limits == LimitSet::kRequired) TRY(CheckResults(row, *results));
  return results;
}

}  // namespace

Result<std::vector<OperandDescriptor>> InferRow(const OperatorRow& row,
                                                std::span<const OperandDescriptor* const> operands,
                                                const OperatorAttributes& attributes,
                                                const std::string& label, LimitSet limits,
                                                const DimensionNames& names) {
  [[maybe_unused]] const CheckedOperator scope(row.kind);
  if (row.infer == nullptr) {
    return NotSupportedError("{} is not supported", OperatorPrefix(row.kind, label));
  }
  auto results = CheckAndInfer(row, operands, attributes, limits, names);
  if (results.ok()) return results;
  const Error& error = results.error();
  return Error(error.cause(),
               fmt::format("{}: {}", OperatorPrefix(row.kind, label), error.message()));
}

}  // namespace webnnd::webidl

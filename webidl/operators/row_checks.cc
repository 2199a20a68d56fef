#include "webidl/operators/row_checks.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "webidl/checks.h"
#include "webidl/generated/signatures.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

// "inputs[3]" for the list of concat, else the slot's name.
std::string OperandName(const OperatorSignature& signature, size_t index) {
  if (signature.operand_list) return fmt::format("{}[{}]", signature.slots[0].name, index);
  return std::string(signature.slots[index].name);
}

Status CheckPresence(const OperatorSignature& signature,
                     std::span<const OperandDescriptor* const> operands) {
  if (signature.operand_list) {
    INVALID_CHECK(12, operands.size() > limits::kOperandsPerOperatorMax,
                  "the number of operands ({}) exceeds the maximum ({})", operands.size(),
                  limits::kOperandsPerOperatorMax);
  } else {
    INVALID_CHECK(13, operands.size() != signature.slots.size(),
                  "the number of operand slots ({}) is not that of the signature ({})",
                  operands.size(), signature.slots.size());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool required = signature.operand_list || i < signature.required_slots;
    INVALID_CHECK(CheckOf(14, SlotName(signature.kind, i)), required && operands[i] == nullptr,
                  "the required operand ({}) is absent", OperandName(signature, i));
  }
  return {};
}

// `slot` is the operand's name in the signature; `name` may point into a list: "inputs[3]".
Status CheckConstraint(const OperandDescriptor& operand, const TensorConstraint& constraint,
                       std::string_view slot, std::string_view name) {
  INVALID_CHECK(CheckOf(15, slot), !constraint.types.Contains(operand.data_type()),
                "the data type of {} ({}) is not one of its allowed data types ({})", name,
                ToString(operand.data_type()), constraint.types.ToString());
  const uint32_t rank = operand.rank();
  if (constraint.rank_min == constraint.rank_max) {
    INVALID_CHECK(CheckOf(16, slot), rank != constraint.rank_min,
                  "the rank of {} ({}) is not its allowed rank ({})", name, rank,
                  constraint.rank_min);
    return {};
  }
  INVALID_CHECK(CheckOf(17, slot), rank < constraint.rank_min || rank > constraint.rank_max,
                "the rank of {} ({}) is not in its allowed range ({} to {})", name, rank,
                constraint.rank_min, constraint.rank_max);
  return {};
}

Status CheckOperands(const OperatorRow& row, std::span<const OperandDescriptor* const> operands) {
  const OperatorSignature& signature = GetSignature(row.kind);
  CHECK(row.slots.size() == signature.slots.size());
  TRY(CheckPresence(signature, operands));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    const size_t slot = signature.operand_list ? 0 : i;
    TRY(CheckConstraint(*operands[i], row.slots[slot], signature.slots[slot].name,
                        OperandName(signature, i)));
  }
  return {};
}

Result<std::vector<OperandDescriptor>> CheckAndInfer(
    const OperatorRow& row, std::span<const OperandDescriptor* const> operands,
    const OperatorAttributes& attributes) {
  INVALID_CHECK(11, !AttributesMatch(row.kind, attributes),
                "the attributes (alternative {}) are those of another operator",
                attributes.index());
  TRY(CheckOperands(row, operands));
  return row.infer(OperatorArguments{row.kind, operands, attributes});
}

// "[label] add", or "add" where there is no label.
std::string Prefix(OperatorKind kind, const std::string& label) {
  if (label.empty()) return std::string(OperatorName(kind));
  return fmt::format("[{}] {}", label, OperatorName(kind));
}

}  // namespace

Result<std::vector<OperandDescriptor>> InferRow(const OperatorRow& row,
                                                std::span<const OperandDescriptor* const> operands,
                                                const OperatorAttributes& attributes,
                                                const std::string& label) {
  [[maybe_unused]] const CheckedOperator scope(row.kind);
  if (row.infer == nullptr) {
    return NotSupportedError("{} is not supported", Prefix(row.kind, label));
  }
  auto results = CheckAndInfer(row, operands, attributes);
  if (results.ok()) return results;
  const Error& error = results.error();
  return Error(error.cause(), fmt::format("{}: {}", Prefix(row.kind, label), error.message()));
}

}  // namespace webnnd::webidl
